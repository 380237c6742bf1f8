# windows.cmake - which tests run on Windows (./dev test-windows), and what is added for them; included by tests/CMakeLists.txt.
#
# Left out, with the reason:
set(BURN_TESTS_NOT_ON_WINDOWS
  allocation_failure_test # puts a malloc of its own in place of everybody's, which DLLs do not see; forks
  memory_growth_test      # as above
  autotune_test           # folders and files made as on POSIX
  conform_test            # burn conform runs its cases in children made by fork
  fuzz_test               # as above
  commands_test           # pipes and exit statuses of POSIX; the programs_.. tests below run the commands instead
  op_coverage_test        # reads the sources only, which are the same
  fork_test               # Windows has no fork
  parallel_test           # memory shared with children made by fork
)
# Not in unit/, and left out, too (CMakeLists.txt adds their folders for other systems only):
#   fuzz/     the replay reads and empties folders as on POSIX; what it feeds is the same code
#   faults/   kills by signals, a library between program and libc, descriptors, pipes and mounts of POSIX
#   onnx/, bench/, sdk/   programs and shell scripts of POSIX
foreach(name ${BURN_TESTS_NOT_ON_WINDOWS})
  list(REMOVE_ITEM unit_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/${name}.c)
endforeach()
list(APPEND unit_tests ${CMAKE_CURRENT_SOURCE_DIR}/windows/windows_plugins_test.c)

# Before every test: what POSIX has and mingw-w64 lacks.
add_compile_options("$<$<COMPILE_LANGUAGE:C>:SHELL:-include ${CMAKE_CURRENT_SOURCE_DIR}/windows/posix.h>")

# Beside the programs of unit/: what DLLs export and need, plugins that lack a DLL, and programs run as users do.
function(burn_add_windows_tests)
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
  add_test(NAME programs_xor COMMAND xor)
  add_test(NAME programs_mnist COMMAND mnist --epochs 1 --train-items 640 --test-items 100 --show 1 --artifact artifacts)
endfunction()
