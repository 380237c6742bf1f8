# ops_page.cmake - fails unless PAGE is what `BURN COMMAND --markdown` prints. Sections of the page about plugins that are built only where what
# they need is (libtorch, Vulkan's headers) may be missing there.
execute_process(COMMAND ${BURN} ${COMMAND} --markdown OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
file(READ ${PAGE} written)
foreach(plugin torch vulkan)
  if(NOT printed MATCHES "\n## ${plugin}\n")
    string(REGEX REPLACE "\n## ${plugin}\n[^#]*\n(\n## )" "\n\\1" written "${written}")
    string(REGEX REPLACE "\n## ${plugin}\n[^#]*$" "" written "${written}") # the last one
    string(REPLACE "\n\n\n## " "\n\n## " written "${written}")
  endif()
endforeach()
if(NOT printed STREQUAL written)
  message(FATAL_ERROR "what the page is made from has changed; run: ${BURN} ${COMMAND} --markdown > ${PAGE}")
endif()
