# windows.cmake - which tests run on Windows (./dev test-windows), and what is added for them; included by tests/CMakeLists.txt.
#
# Left out, with the reason:
set(BURN_TESTS_NOT_ON_WINDOWS
  allocation_failure_test # puts a malloc of its own in place of everybody's, which DLLs do not see; forks
  memory_growth_test      # as above
  conform_test            # burn conform runs its cases in children made by fork
  commands_test           # pipes and exit statuses of POSIX; the programs_.. tests below run the commands instead
  op_coverage_test        # reads the sources only, which are the same
  parallel_test           # memory shared with children made by fork
)
foreach(name ${BURN_TESTS_NOT_ON_WINDOWS})
  list(REMOVE_ITEM unit_tests ${CMAKE_CURRENT_SOURCE_DIR}/unit/${name}.c)
endforeach()
