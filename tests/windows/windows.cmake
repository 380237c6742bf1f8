# windows.cmake - what is added to the tests for Windows (./dev test-windows); included by tests/CMakeLists.txt.
# Left out of unit/: what the CMakeLists.txt there say, each with its reason (NOT_ON_WINDOWS). Left out, too, as tests/CMakeLists.txt adds
# these folders for other systems only:
#   fuzz/     the replay reads and empties folders as on POSIX; what it feeds is the same code
#   faults/   kills by signals, a library between program and libc, descriptors, pipes and mounts of POSIX
#   onnx/, bench/, sdk/   programs and shell scripts of POSIX

# Before every test: what POSIX has and mingw-w64 lacks.
add_compile_options("$<$<COMPILE_LANGUAGE:C>:SHELL:-include ${CMAKE_CURRENT_SOURCE_DIR}/windows/posix.h>")

# Beside the programs of unit/: what DLLs export and need, plugins that lack a DLL, and programs run as users do.
function(burn_add_windows_tests)
  set(test_label windows)
  burn_add_unit_test(${CMAKE_CURRENT_SOURCE_DIR}/windows/windows_plugins_test.c)
  add_library(absent SHARED windows/absent.c)
  set_target_properties(absent PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/absent)
  target_link_libraries(absent PRIVATE burn_options)
  add_library(test_plugin_lacking MODULE plugins/mini_backend.c windows/lacking.c)
  set_target_properties(test_plugin_lacking PROPERTIES PREFIX "" OUTPUT_NAME burn_lacking
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/lacking_plugins)
  target_link_libraries(test_plugin_lacking PRIVATE absent burn_plugin_api burn_options m)
  target_compile_definitions(test_plugin_lacking PRIVATE PLUGIN_NAME="lacking")
  add_dependencies(windows_plugins_test test_plugin_lacking)
  add_test(NAME windows_dlls COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/windows/check_dlls.sh ${CMAKE_OBJDUMP} ${CMAKE_BINARY_DIR})
  foreach(command doctor backends ops version)
    add_test(NAME programs_burn_${command} COMMAND burn_command ${command})
  endforeach()
  set_tests_properties(programs_burn_backends PROPERTIES PASS_REGULAR_EXPRESSION "burn_ndarray.dll")
  if(TARGET burn_vulkan) # wine's loader is asked, which need not have a device
    add_test(NAME programs_burn_backends_vulkan COMMAND burn_command backends)
    set_tests_properties(programs_burn_backends_vulkan PROPERTIES PASS_REGULAR_EXPRESSION "burn_vulkan.dll[ \r\n]+score [0-9]")
  endif()
  add_test(NAME programs_xor COMMAND xor)
  add_test(NAME programs_mnist COMMAND mnist --epochs 1 --train-items 640 --test-items 100 --show 1 --artifact artifacts)
endfunction()
