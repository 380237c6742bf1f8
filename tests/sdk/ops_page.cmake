# ops_page.cmake - fails unless PAGE is what `BURN COMMAND --markdown` prints. A section of the page about the torch plugin may be missing
# there: it is built only where libtorch is.
execute_process(COMMAND ${BURN} ${COMMAND} --markdown OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
file(READ ${PAGE} written)
if(NOT printed MATCHES "\n## torch\n")
  string(REGEX REPLACE "\n## torch\n[^#]*\n(\n## )" "\n\\1" written "${written}")
  string(REPLACE "\n\n\n## " "\n\n## " written "${written}")
endif()
if(NOT printed STREQUAL written)
  message(FATAL_ERROR "what the page is made from has changed; run: ${BURN} ${COMMAND} --markdown > ${PAGE}")
endif()
