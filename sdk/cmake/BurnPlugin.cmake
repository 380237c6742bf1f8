# burn_add_plugin(NAME source...): builds burn_NAME.so from the sources into the plugin directory. Only the entry symbol is
# visible; undefined symbols are errors at link time.
function(burn_add_plugin name)
  add_library(burn_${name} MODULE ${ARGN})
  set_target_properties(burn_${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${BURN_PLUGIN_OUTPUT_DIRECTORY})
  target_link_libraries(burn_${name} PRIVATE burn_plugin_api burn_options)
  target_link_options(burn_${name} PRIVATE -Wl,-z,now,-z,relro,-z,noexecstack)
  if(NOT BURN_SANITIZE)
    target_link_options(burn_${name} PRIVATE -Wl,-z,defs)
  endif()
  install(TARGETS burn_${name} LIBRARY DESTINATION lib/burn/plugins)
endfunction()
