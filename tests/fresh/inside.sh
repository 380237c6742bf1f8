#!/bin/sh
# inside.sh [clang] - what test-fresh does in the bare system, as anybody would after git clone; with clang, everything is compiled by that
# too. fresh.sh has made the system. Every step says how long it took.
set -eu
cd "$(dirname "$0")/../.."
log=$(mktemp)

# shellcheck disable=SC1091
say() { printf '%s\n' "fresh $(. /etc/os-release && echo "$VERSION_CODENAME"): $*" >&2; }

# step TEXT COMMAND...: a warning of the compiler fails, too.
step() {
  text=$1
  shift
  started=$(date +%s)
  status=0
  { "$@" || echo "step failed: $?"; } 2>&1 | tee "$log" || true
  ! grep -q '^step failed: ' "$log" || status=1
  if grep 'warning:' "$log" >&2; then status=1; fi
  [ $status = 0 ] || { say "FAILED: $text"; exit 1; }
  say "$text: $(($(date +%s) - started)) s"
}

# Installs, moves the folder, and builds the programs where nothing is left of the build.
programs() {
  export SDK_GENERATOR=Ninja SDK_SANITIZE=""
  sh tests/sdk/sdk_test.sh "$PWD" "$PWD/build" cmake cc install &&
    mkdir -p /elsewhere/tests && mv build/tests/sdk_work /elsewhere/tests/ && rm -rf build &&
    sh tests/sdk/sdk_test.sh "$PWD" /elsewhere cmake cc program
}

step "packages for ./dev demo" ./dev setup run
step "demo" ./dev demo --epochs 1 --train-items 6400 --test-items 1000 --show 2
step "packages for ./dev test" ./dev setup test
# Left out are those that build hosts of their own, and kernels for GPUs on the processor: both say nothing about this system.
step "tests" ./dev test -LE 'ageing|cuda_emulated|vulkan'
step "programs with the installed SDK" programs
if [ -n "${1:-}" ]; then
  step "packages for ./dev check" ./dev setup check
  step "no warning of $1, headers alone" ./dev check compilers "$1"
fi
rm -f "$log"
