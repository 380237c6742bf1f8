#!/bin/sh
# run.sh BUILD_DIR [suite|op|epoch|transfer|loader|waits|checkpoint|learner|mlp|neighbour|onnx|cold|fused|torch|growth|curves|report] [options]: what ./dev bench runs; see README.md. Without a name the suite
# runs, and the options are its own.
set -eu
build=${1:?usage: run.sh BUILD_DIR [suite|op|epoch|transfer|loader|waits|checkpoint|learner|mlp|neighbour|onnx|cold|fused|torch|growth|curves|report] [options]}
shift
here=$(cd "$(dirname "$0")" && pwd)
results="$here/results.csv"
guide="$here/../../sdk/guide"

# The suite is a subcommand.
bench() { "$build/bin/burn" bench "$@"; }

usage() {
  cat <<'TEXT'
usage: ./dev bench [suite] [options]     every case beside PyTorch and beside the machine's limit (--help, --list)
       ./dev bench op [options]          cost of a call through each stack
       ./dev bench epoch [options]       an epoch of the guide's CNN, loader included, beside PyTorch
       ./dev bench transfer [options]    bandwidth of transfers, and waits of the host in a training step
       ./dev bench loader [options]      pictures per second from a folder, beside PyTorch's DataLoader where there is torchvision
       ./dev bench waits [options]       waits of the host in a training run
       ./dev bench checkpoint [options]  memory and time of a transformer's step with checkpoints
       ./dev bench learner [options]     what the learner costs over a loop by hand, in time
       ./dev bench learner --instructions [options]
                                         the same in instructions, counted by valgrind: whatever else runs
       ./dev bench mlp [options]         a network of 1,072 parameters beside plain C loops
       ./dev bench neighbour [options]   the suite alone, then beside processes that compute (--neighbours N): who slows down more
       ./dev bench onnx [options]        ONNX models beside ONNX Runtime, where a python has it: time, memory, load time
       ./dev bench cold [options]        the smallest program as a whole process: start, device, one layer, end
       ./dev bench fused [options]       fused bodies beside single ops and compiled loops
       ./dev bench torch [options]       calls on the torch backend beside calls of ATen
       ./dev bench growth --svg FILE     time against size, batch and depth, drawn
       ./dev bench curves [options]      are loss curves the same on two stacks?
       ./dev bench report [suite|growth] [options]
                                         suite and growth (or one) into tests/bench/results.csv and sdk/guide/performance.md;
                                         refused while other programs compute, unless --busy is there
       ./dev bench report gpu [options]  on a GPU: its sizes, calls and models beside three ways of PyTorch, into tests/bench/results_gpu.csv
                                         and the GPU section of the page; report gpu FILE.csv takes a file from another machine
       ./dev bench --setup-peer          a python with PyTorch for the comparison, in build/bench-venv
PyTorch comes from $BURN_BENCH_PYTHON, build/bench-venv, /usr/bin/python3 or python3: the first that has it.
TEXT
}

die() { printf '%s\n' "bench: $*" >&2; exit 1; }

# Sets $python to one that can import torch; empty if there is none.
find_python() {
  if [ -n "${BURN_BENCH_PYTHON:-}" ]; then
    "$BURN_BENCH_PYTHON" -c 'import torch' >/dev/null 2>&1 || die "BURN_BENCH_PYTHON: '$BURN_BENCH_PYTHON' cannot import torch"
    python=$BURN_BENCH_PYTHON
    return
  fi
  for python in "$build/bench-venv/bin/python" /usr/bin/python3 python3; do
    if "$python" -c 'import torch' >/dev/null 2>&1; then return; fi
  done
  python=""
}

setup_peer() {
  venv="$build/bench-venv"
  mkdir -p "$build"
  python3 -m venv "$venv" || die "python3 cannot make a virtual environment (Debian: python3-venv)"
  if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check torch numpy; then
    rm -rf "$venv"
    die "pip could not install torch: without a network, point BURN_BENCH_PYTHON to a python that has it"
  fi
  "$venv/bin/python" -c 'import torch; print("bench: torch", torch.__version__, "is ready")'
}

find_data() {
  for folder in "${BURN_DATA_DIR:+$BURN_DATA_DIR/mnist}" "$here/../../../shared/data/mnist"; do
    if [ -n "$folder" ] && ls "$folder"/train-images-idx3-ubyte* >/dev/null 2>&1; then
      (cd "$folder" && pwd)
      return
    fi
  done
}

about_machine() {
  cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
  commit=$(git -C "$here" describe --always --dirty 2>/dev/null || echo unknown)
  printf '%s' "$(date +%Y-%m-%d), commit $commit, ${cpu:-unknown CPU}, $(nproc 2>/dev/null || echo '?') CPUs"
}

# The value of option $1 among the other arguments; empty if it is not there.
option_value() {
  wanted=$1
  shift
  while [ $# -gt 0 ]; do
    case "$1" in
      "$wanted") printf '%s' "${2:-}"; return ;;
      "$wanted"=*) printf '%s' "${1#*=}"; return ;;
    esac
    shift
  done
}

# has_flag FLAG ARGUMENTS...
has_flag() {
  wanted=$1
  shift
  for argument in "$@"; do [ "$argument" != "$wanted" ] || return 0; done
  return 1
}

# run_bench COMMAND OPTIONS...: with the peer, if there is one and it is wanted.
run_bench() {
  command=$1
  shift
  peer=$(option_value --peer "$@")
  about=$(about_machine)
  [ -n "$(option_value --stacks "$@")" ] || set -- --stacks ndarray "$@"
  if has_flag --help "$@" || has_flag --list "$@" || [ "$peer" = none ]; then
    bench "$command" "$@" --about "$about"
    return
  fi
  find_python
  if [ -n "$python" ]; then
    [ -n "$peer" ] || set -- --peer torch "$@"
    set -- --python "$python" "$@"
  elif [ -n "$peer" ]; then
    die "no python with torch: ./dev bench --setup-peer makes one, or set BURN_BENCH_PYTHON"
  else
    printf '%s\n' "bench: no python with torch, so only ours is measured; ./dev bench --setup-peer makes one" >&2
  fi
  has_flag --json "$@" || printf '%s\n' "$about"
  bench "$command" "$@" --about "$about"
}

# write_tables FILE MARK: puts the tables of a file between the marks of the guide page.
write_tables() {
  page="$guide/performance.md"
  for mark in "$2" "end of $2"; do
    grep -q "^<!-- $mark -->\$" "$page" || die "$page has lost its marks"
  done
  bench tables "$1" >"$build/bench-tables.md"
  awk -v tables="$build/bench-tables.md" -v mark="$2" '
    $0 == "<!-- end of " mark " -->" { hidden = 0 }
    !hidden { print }
    $0 == "<!-- " mark " -->" { hidden = 1; print ""; while ((getline line < tables) > 0) print line; print "" }' \
    "$page" >"$build/bench-page.md"
  cp "$build/bench-page.md" "$page"
}

# report_gpu [FILE.csv | options]
report_gpu() {
  gpu_results="$here/results_gpu.csv"
  case "${1:-}" in
    '' | -*)
      [ -n "$(option_value --stacks "$@")" ] || set -- --stacks 'fusion<cuda>' "$@"
      [ -n "$(option_value --peer "$@")" ] || set -- --peer torch,torch.compile,torch.cudagraph "$@"
      taken="$build/bench-results-gpu.csv"
      rm -f "$taken"
      for group in gpu overhead model; do
        run_bench suite --group "$group" --csv "$taken" "$@" || die "results_gpu.csv stays as it was; what was taken is in $taken"
      done
      cp "$taken" "$gpu_results"
      ;;
    *) cp "$1" "$gpu_results" || die "'$1' cannot be taken" ;;
  esac
  write_tables "$gpu_results" 'GPU results'
}

# A whole run leaves nothing of older ones; a part is put among their lines. Nothing is replaced before all figures are there.
report_suite() {
  taken="$build/bench-results.csv"
  rm -f "$taken"
  if [ -n "$(option_value --only "$@")$(option_value --group "$@")" ] && [ -e "$results" ]; then cp "$results" "$taken"; fi
  [ -n "$(option_value --peer "$@")" ] || set -- --peer torch,onednn,onnxruntime "$@"
  run_bench suite --peer-malloc both --csv "$taken" "$@" || die "results.csv stays as it was; what was taken is in $taken"
  cp "$taken" "$results"
}

report() {
  part=both
  case "${1:-}" in
    suite | growth) part=$1; shift ;;
    gpu) shift; report_gpu "$@"; return ;;
  esac
  [ -n "$(option_value --stacks "$@")" ] || set -- --stacks 'ndarray,fusion<ndarray>' "$@"
  if [ "$part" != growth ]; then report_suite "$@"; fi
  write_tables "$results" results
  if [ "$part" != suite ]; then run_bench growth --peer torch --svg "$guide/growth.svg" "$@"; fi
}

overhead_of_torch() {
  [ -x "$build/tests/torch_overhead" ] || die "the torch backend is not built: no libtorch was found (Debian: libtorch-dev)"
  exec "$build/tests/torch_overhead" "$@"
}

loader() {
  [ -x "$build/tests/loader_bench" ] || die "burn_datasets is not built: ./dev setup datasets"
  find_python
  if [ -n "$python" ] && "$python" -c 'import torchvision' >/dev/null 2>&1; then
    set -- --python "$python" --script "$here/loader_torch.py" "$@"
  fi
  exec "$build/tests/loader_bench" "$@"
}

# The first python with onnxruntime is the peer.
onnx() {
  [ -x "$build/tests/onnx_bench" ] || die "there is no ONNX in this build: it wants protobuf-c (Debian: libprotobuf-c-dev protobuf-c-compiler)"
  command -v python3 >/dev/null 2>&1 || die "python3 is missing: it tells the two sides whose turn it is"
  models="${BURN_DATA_DIR:-$here/../../../shared/data}/models/onnx"
  if [ -z "$(option_value --peer "$@")" ]; then
    for peer in "${BURN_BENCH_PYTHON:-}" "${BURN_TEST_PYTHON:-}" "$build/bench-venv/bin/python" python3; do
      if [ -n "$peer" ] && "$peer" -c 'import onnxruntime, numpy' >/dev/null 2>&1; then
        set -- --peer "$peer" "$@"
        break
      fi
    done
  fi
  [ -n "$(option_value --peer "$@")" ] || printf '%s\n' "bench: no python with onnxruntime, so only ours is measured: name one in BURN_BENCH_PYTHON" >&2
  has_flag --json "$@" || printf '%s\n\n' "$(about_machine)"
  exec python3 "$here/onnx_bench.py" "$build/tests/onnx_bench" "$models" "$@"
}

neighbour() {
  command -v python3 >/dev/null 2>&1 || die "python3 is missing: it starts the neighbours"
  if [ "$(option_value --peer "$@")" != none ]; then
    find_python
    [ -z "$python" ] || set -- --peer torch --python "$python" "$@"
  fi
  [ -n "$(option_value --stacks "$@")" ] || set -- --stacks ndarray "$@"
  exec python3 "$here/neighbour.py" "$build/bin/burn" "$@"
}

# instructions SIDE STEPS [options]: of a whole process with one thread, where no time decides which kernel runs.
instructions() {
  side=$1 steps=$2
  shift 2
  BURN_THREADS=1 BURN_AUTOTUNE=off valgrind --tool=callgrind --callgrind-out-file=/dev/null "$build/tests/learner_bench" "$@" --side "$side" \
    --steps "$steps" 2>&1 | sed -n 's/^==[0-9]*== Collected : \([0-9]*\)$/\1/p'
}

# Two lengths of an epoch tell what a step costs, without start and end of the process. All run at once, since no time is
# taken. Fails above --limit percent.
learner_instructions() {
  command -v valgrind >/dev/null 2>&1 || die "valgrind is missing: it counts the instructions (Debian: valgrind)"
  limit=$(option_value --limit "$@")
  counts=$(mktemp -d)
  for side in bare loss usual; do
    for steps in 2 4; do instructions $side $steps "$@" >"$counts/$side-$steps" & done
  done
  wait
  for side in bare loss usual; do echo "$side $(cat "$counts/$side-2") $(cat "$counts/$side-4")"; done >"$counts/all"
  awk -v limit="${limit:-0}" '
    NF != 3 { print "bench: learner_bench --side " $1 " has not run under valgrind" > "/dev/stderr"; failed = 1; exit }
    { step = ($3 - $2) / 2; if (NR == 1) bare = step; cost = 100 * (step / bare - 1) }
    { printf "%-6s %12.0f instructions a step  %+6.2f %%\n", $1, step, cost }
    END { exit failed || (limit > 0 && cost > limit) }' "$counts/all" || status=1
  rm -rf "$counts"
  return "${status:-0}"
}

learner() {
  [ "${1:-}" = --instructions ] || exec "$build/tests/learner_bench" "$@"
  shift
  learner_instructions "$@"
}

# The time of 20 processes, one after the other.
cold() {
  "$build/tests/cold_start" --phases "$@"
  begin=$(date +%s%N)
  i=0
  while [ $i -lt 20 ]; do
    "$build/tests/cold_start" "$@"
    i=$((i + 1))
  done
  echo "$((($(date +%s%N) - begin) / 20000)) us per process, from start to end"
}

epoch() {
  find_python
  data=$(find_data)
  [ -z "$data" ] || set -- --data "$data" "$@"
  [ -z "$python" ] || set -- --python "$python" --script "$here/mnist_torch.py" "$@"
  has_flag --json "$@" || printf '%s\n\n%s\n' "$(about_machine)" \
    "one epoch of the guide's CNN over 60,000 images of ${data:-generated digits}, batch 64, Adam 1e-4"
  exec "$build/tests/epoch_bench" "$@"
}

case "${1:-}" in
  op) shift; exec "$build/tests/op_bench" "$@" ;;
  epoch) shift; epoch "$@" ;;
  checkpoint) shift; exec "$build/tests/checkpoint_bench" "$@" ;;
  learner) shift; learner "$@" ;;
  mlp) shift; exec "$build/tests/small_mlp_bench" "$@" ;;
  neighbour) shift; neighbour "$@" ;;
  onnx) shift; onnx "$@" ;;
  transfer) shift; "$build/tests/transfer_bench" "$@" ;;
  loader) shift; loader "$@" ;;
  waits) shift; "$build/tests/training_waits" "$@" ;;
  cold) shift; cold "$@" ;;
  fused) shift; exec "$build/tests/fused_bench" "$@" ;;
  torch) shift; overhead_of_torch "$@" ;;
  suite | growth) run_bench "$@" ;;
  curves) bench "$@" ;;
  report) shift; report "$@" ;;
  --setup-peer) setup_peer ;;
  -h | --help) usage; echo; bench --help ;;
  -* | "") run_bench suite "$@" ;;
  *) usage >&2; die "'$1' is unknown" ;;
esac
