# stacks.cmake - read by ctest, at the time when it runs: registers burn_stack_tests once per stack. support/unit_tests.cmake writes a file that
# sets these and includes this one:
#
#   burn_stack_tests           names of programs; of each, program_NAME is its command, label_NAME its folder, stacks_NAME those that it runs
#                              on, with semicolons between, where the environment variable BURN_TEST_STACKS names none; or it is empty:
#                              then the program's own stacks in one test
#   burn_test_environment
set(given "$ENV{BURN_TEST_STACKS}")
string(REGEX REPLACE ",([A-Za-z0-9_]+=)" "&\\1" given "${given}") # such a comma belongs to the options of a text
string(REPLACE "," ";" given "${given}")
string(REPLACE "&" "," given "${given}")

foreach(name ${burn_stack_tests})
  set(stacks "${given}")
  if(NOT given AND stacks_${name})
    set(stacks "${stacks_${name}}")
  elseif(NOT given)
    add_test(${name} ${program_${name}})
    set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS "${label_${name}}" SKIP_RETURN_CODE 77 ENVIRONMENT "${burn_test_environment}")
  endif()
  foreach(stack ${stacks})
    string(STRIP "${stack}" stack)
    if(NOT stack STREQUAL "")
      string(REGEX REPLACE " .*" "" text "${stack}") # without plain and tracked
      add_test("${name} on ${stack}" ${program_${name}})
      set_tests_properties("${name} on ${stack}" PROPERTIES TIMEOUT 600 LABELS "${label_${name}};on ${text}" SKIP_RETURN_CODE 77
        ENVIRONMENT "${burn_test_environment};BURN_TEST_STACKS=${stack}")
    endif()
  endforeach()
endforeach()
