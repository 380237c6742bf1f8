# BurnPlugin.cmake - how a plugin is compiled and linked, in Burn's own tree and in yours (find_package(Burn) includes this).
#
#   burn_add_plugin(NAME [TARGET_MINOR minor] source...)
#
# makes the target burn_NAME, which builds burn_NAME.so (burn_NAME.dll on Windows): the file that the stack text NAME opens. Only the entry symbol is
# visible, undefined symbols are errors at link time, and nothing of Burn is linked. Add what you need to the target:
# target_link_libraries(burn_NAME PRIVATE m), target_compile_options(burn_NAME PRIVATE -Wall). TARGET_MINOR is the oldest host that it is to run
# on, by the minor of its plugin ABI (default: that of the headers): see burn/plugin/abi.h.
#
#   BURN_PLUGIN_OUTPUT_DIRECTORY  where the file goes (default: the top of your build folder, so that
#                                 BURN_PLUGIN_PATH=$PWD/build finds it)
#   BURN_PLUGIN_OPTIONS           targets with options that every plugin gets: warnings, sanitizers (default: none)
#
#   BURN_STATIC                   makes static libraries with the entry burn_static_query_NAME instead, for Burn's own static build
#
# `cmake --install` puts it into lib/burn/plugins, which is searched when the prefix is that of Burn. With -DCMAKE_INSTALL_LIBDIR=FOLDER it is
# FOLDER/burn/plugins, as in packages of Debian, whose libraries lie in lib/x86_64-linux-gnu or its like.
function(burn_add_plugin name)
  if(NOT name MATCHES "^[a-z][a-z0-9_]*$")
    message(FATAL_ERROR "burn_add_plugin: '${name}' is not a plugin name; it has a-z, 0-9 and _, and starts with a letter")
  endif()
  cmake_parse_arguments(plugin "" "TARGET_MINOR" "" ${ARGN})
  set(target_minor "")
  if(plugin_TARGET_MINOR)
    set(target_minor BURN_TARGET_MINOR=${plugin_TARGET_MINOR}u)
  endif()
  if(BURN_STATIC)
    add_library(burn_${name} STATIC ${plugin_UNPARSED_ARGUMENTS})
    target_compile_definitions(burn_${name} PRIVATE BURN_PLUGIN_STATIC=burn_static_query_${name} ${target_minor})
    target_link_libraries(burn_${name} PRIVATE Burn::plugin_common ${BURN_PLUGIN_OPTIONS})
    set_property(GLOBAL APPEND PROPERTY BURN_STATIC_PLUGINS ${name})
    return()
  endif()
  set(folder "${BURN_PLUGIN_OUTPUT_DIRECTORY}")
  if(NOT folder)
    set(folder "${CMAKE_BINARY_DIR}")
  endif()
  add_library(burn_${name} MODULE ${plugin_UNPARSED_ARGUMENTS})
  target_compile_definitions(burn_${name} PRIVATE ${target_minor})
  set_target_properties(burn_${name} PROPERTIES PREFIX "" SUFFIX ${CMAKE_SHARED_MODULE_SUFFIX}
    LIBRARY_OUTPUT_DIRECTORY "${folder}" C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON INSTALL_RPATH "")
  target_link_libraries(burn_${name} PRIVATE Burn::plugin_common ${BURN_PLUGIN_OPTIONS})
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    target_link_options(burn_${name} PRIVATE LINKER:-z,now LINKER:-z,relro LINKER:-z,noexecstack LINKER:-z,nodelete)
    # Sanitizers of clang leave symbols for the program that loads the plugin.
    if(NOT "${BURN_SANITIZE} ${CMAKE_C_FLAGS}" MATCHES "fsanitize|address|thread|undefined")
      target_link_options(burn_${name} PRIVATE LINKER:-z,defs)
    endif()
  endif()
  if(MINGW) # needs no DLL of the compiler; DLLs cannot have undefined symbols anyway
    target_link_options(burn_${name} PRIVATE -static)
  endif()
  set(libraries lib)
  if(CMAKE_INSTALL_LIBDIR)
    set(libraries "${CMAKE_INSTALL_LIBDIR}")
  endif()
  install(TARGETS burn_${name} LIBRARY DESTINATION "${libraries}/burn/plugins")
endfunction()
