#!/bin/sh
# run.sh BUILD_DIR [op|epoch] [options]: what ./dev bench runs. Without op or epoch both run, and the options may be --json
# and --full only; else they go to build/tests/op_bench or build/tests/epoch_bench (see their --help).
set -eu
build=${1:?usage: run.sh BUILD_DIR [op|epoch] [options]}
shift
here=$(dirname "$0")
which=both
case "${1:-}" in
  op | epoch) which=$1; shift ;;
esac

json=""
full=""
for argument in "$@"; do
  case "$argument" in
    --json) json=--json ;;
    --full) full=--full ;;
    *) [ "$which" != both ] || { echo "bench: '$argument': say op or epoch first" >&2; exit 2; } ;;
  esac
done

# A python that can import torch; empty if there is none.
find_python() {
  for python in "${BURN_BENCH_PYTHON:-}" /usr/bin/python3 python3; do
    [ -n "$python" ] || continue
    if "$python" -c 'import torch, numpy' >/dev/null 2>&1; then
      echo "$python"
      return
    fi
  done
}

find_data() {
  for folder in "${BURN_DATA_DIR:+$BURN_DATA_DIR/mnist}" "$here/../../../shared/data/mnist"; do
    if [ -n "$folder" ] && ls "$folder"/train-images-idx3-ubyte* >/dev/null 2>&1; then
      (cd "$folder" && pwd)
      return
    fi
  done
}

say() { [ -n "$json" ] || printf '%s\n' "$*"; }

cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
commit=$(git -C "$here" describe --always --dirty 2>/dev/null || echo unknown)
load=$(cut -d ' ' -f 1 /proc/loadavg 2>/dev/null || echo 0)
say "$(date +%Y-%m-%d), commit $commit, ${cpu:-unknown CPU}, $(nproc 2>/dev/null || echo '?') CPUs, load $load"
case "$load" in
  0.*) ;;
  *) echo "bench: the load of this machine is $load; figures are only good on a quiet one" >&2 ;;
esac

if [ "$which" != epoch ]; then
  say ""
  if [ "$which" = op ]; then "$build/tests/op_bench" "$@"; else "$build/tests/op_bench" $json; fi
fi
if [ "$which" != op ]; then
  say ""
  python=$(find_python)
  data=$(find_data)
  [ "$which" = epoch ] || set -- $json $full
  [ -z "$data" ] || set -- --data "$data" "$@"
  [ -z "$python" ] || set -- --python "$python" --script "$here/mnist_torch.py" "$@"
  say "one epoch of the guide's CNN over 60,000 images of ${data:-generated digits}, batch 64, Adam 1e-4"
  "$build/tests/epoch_bench" "$@"
fi
