# ops_page.cmake - fails unless PAGE is what `BURN ops --markdown` prints.
execute_process(COMMAND ${BURN} ops --markdown OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
file(READ ${PAGE} written)
if(NOT printed STREQUAL written)
  message(FATAL_ERROR "the table of ops has changed; run: ${BURN} ops --markdown > ${PAGE}")
endif()
