# cross.cmake - what is added to the tests for another processor (./dev test-arm); included by tests/CMakeLists.txt.
#
# Left out, as tests/CMakeLists.txt adds these folders for this machine only: sdk/ and abi/, whose programs are built by others than CMake and
# would have to start by themselves. Single tests are left out by SKIP_EMULATED (support/emulated.h), with a reason.

# What ./dev test-arm quick runs.
set(quick burn_command burn_probe burn_ndarray burn_reference burn_autodiff burn_autocast burn_fusion burn_trace burn_validate test_plugins
  learner_test)
foreach(name int8_products tensor stack math_accuracy ops_half ops_sort_range ops_quantized)
  list(APPEND quick ${name}_test)
endforeach()
get_property(names GLOBAL PROPERTY BURN_STACK_TESTS)
list(FILTER names INCLUDE REGEX "^ops_")
add_custom_target(arm_quick DEPENDS ${quick} ${names})
