#!/bin/sh
# stacks_test.sh CTEST STACK_TESTS PLUGINS - a backend joins the suites by BURN_TEST_STACKS: which tests ctest then has, that they pass on an
# outsider's stack, fail where there is no such plugin, and are skipped with a reason where it finds no device. Runs ctest in a folder of its own.
set -eu
ctest=$1 stack_tests=$2 plugins=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf 'include([==[%s]==])\n' "$stack_tests" >"$folder/CTestTestfile.cmake"
cd "$folder"

die() { printf 'stacks_test: %s\n' "$*" >&2; cat out >&2; exit 1; }
expect() { grep -qF -- "$1" out || die "'$1' is not in the output"; }
expect_no() { ! grep -qF -- "$1" out || die "'$1' is in the output"; }

"$ctest" -N >out
expect "ops_reduce_test on ndarray:isa=baseline,gemm=builtin"
expect "ops_reduce_test on autodiff<ndarray> tracked"
BURN_TEST_STACKS="" "$ctest" -N -L '^on reference$' >out
expect "ops_reduce_test on reference plain"
expect_no "on ndarray"

export BURN_PLUGIN_PATH="$plugins"
export BURN_TEST_STACKS='outsider plain; ndarray:isa=baseline,gemm=builtin,fusion<outsider> plain'
"$ctest" -N >out
for test in ops_reduce_test shape_rules_test autodiff_gradient_test nn_layers_test optimizer_test; do
  expect "$test on outsider plain"
  expect "$test on ndarray:isa=baseline,gemm=builtin"
  expect "$test on fusion<outsider> plain"
done
expect_no "ops_reduce_test on ndarray:primitives=true"
suites='^(ops_reduce|ops_quantized|ops_number|autodiff_gradient|nn_layers|optimizer)_test '
"$ctest" -R "$suites" -L 'outsider' --output-on-failure >out || die "a suite failed"
expect "on fusion<outsider>"
[ "$(grep -c 'Passed' out)" = 12 ] || die "12 tests should have passed"

"$ctest" -R '^shape_rules_test on outsider' --output-on-failure >out || die "the shape rules failed"

BURN_TEST_STACKS='nonesuch' "$ctest" -R '^ops_reduce_test' --output-on-failure >out && die "a plugin that is missing passes"
expect "there is no backend 'nonesuch'"
BURN_TEST_STACKS='outsider fast' "$ctest" -R '^ops_reduce_test' --output-on-failure >out && die "an unknown word passes"
expect "is not a stack text with the words plain and tracked"
BURN_TEST_STACKS='no_device' "$ctest" -R "$suites" -V >out || die "a backend without a device fails"
expect "skipped: no_device: open 'no_device': no device is here"
[ "$(grep -c 'Skipped' out)" -ge 6 ] || die "all should have been skipped"
