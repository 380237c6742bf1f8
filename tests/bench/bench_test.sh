#!/bin/sh
# bench_test.sh BURN FOLDER PART: tests of `burn bench` that look at no time. Parts: json, lacks, peer, ways, absent, models, file, busy, neighbour, gpu, growth, errors.
set -eu
burn=$1
here=$2
build=$(dirname "$burn")/..
fail() { printf '%s\n' "bench_test: $*" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quick="--rounds 1 --seconds 0.0001"

# expect TEXT FILE
expect() { grep -qF -- "$1" "$2" || { cat "$2" >&2; fail "no '$1'"; }; }
refuse() { if grep -qF -- "$1" "$2"; then cat "$2" >&2; fail "'$1' is there"; fi; }
# fails STATUS ARGUMENTS...: the program ends with that status; what it says is in $work/said.
fails() {
  wanted=$1
  shift
  status=0
  "$burn" bench "$@" >"$work/said" 2>&1 || status=$?
  [ "$status" = "$wanted" ] || { cat "$work/said" >&2; fail "$*: status $status instead of $wanted"; }
}
with_fake() { fails "$1" --stacks ndarray --peer torch --python sh --script "$here/peer_fake.sh" $quick --only "$2"; }

# Every line is an object with the fields that scripts read; case, stack and figures are there.
test_json() {
  "$burn" bench --quick --json --only '^(add 1K|matmul 64|LeNet-5 inference batch 1|add of 2; new result)$' \
    --stacks 'ndarray,fusion+ndarray:gemm=builtin,isa=baseline' >"$work/json"
  [ "$(wc -l <"$work/json")" = 10 ] || { cat "$work/json" >&2; fail "not 10 lines"; }
  if command -v python3 >/dev/null 2>&1; then
    python3 - "$work/json" <<'PYTHON' || fail "not the JSON that was expected"
import json, sys
machine, *lines, load = [json.loads(line) for line in open(sys.argv[1])]
assert machine["machine"]["rounds"] == 3 and machine["machine"]["sample_seconds"] == 0.02
assert load["load"]["allowed"] == 0.03 and 0 <= (load["load"]["others"] or 0) <= 1, load
assert machine["machine"]["copy_GBps"] > 0 and machine["machine"]["fma_GFps"] > 0
assert [line["stack"] for line in lines] == ["ndarray", "fusion+ndarray:gemm=builtin,isa=baseline"] * 4
assert [line["group"] for line in lines] == ["op"] * 4 + ["overhead"] * 2 + ["model"] * 2
for first, second in zip(lines[::2], lines[1::2]):
    assert first["case"] == second["case"] and first["first_ratio"] == 1
    assert abs(second["first_ratio"] * second["ours"]["seconds"] / first["ours"]["seconds"] - 1) < 1e-4, second
for line in lines:
    assert 0 < line["ours"]["low"] <= line["ours"]["seconds"] <= line["ours"]["high"], line
    noise = (line["ours"]["high"] - line["ours"]["low"]) / 2 / line["ours"]["seconds"]
    assert abs(line["ours"]["noise"] - noise) < 1e-3 * (1 + noise), line
    assert (line["of_limit"] is None) == (line["case"].startswith("add")), line
    assert ("last_loss" in line["ours"]) == False, line
    parameters = 61706 * 4 if line["group"] == "model" else 0
    assert parameters < line["bytes_peak"] < 100 * (parameters + 10000), line
PYTHON
  else
    echo "skipped: no python3 to read the lines of burn bench --json"
  fi
}

# Every case alone and beside a neighbour, who is gone at the end; the peer's answers are in the rows.
test_neighbour() {
  command -v python3 >/dev/null 2>&1 || { echo "skipped: no python3 to start a neighbour"; exit 77; }
  python3 "$here/neighbour.py" "$burn" --json $quick --only '^add 1K$' --stacks ndarray --peer torch --python sh \
    --script "$here/peer_fake.sh" >"$work/said" || [ $? = 1 ] || fail "no status of a comparison"
  python3 - "$work/said" <<'PYTHON' || fail "not the rows that were expected"
import json, sys
(row,) = [json.loads(line) for line in open(sys.argv[1])]
assert (row["case"], row["stack"]) == ("add 1K", "ndarray"), row
for side in (row["ours"], row["torch"]):
    assert side["alone"] > 0 and abs(side["slowdown"] * side["alone"] / side["beside"] - 1) < 1e-9, row
PYTHON
  for words in '--neighbours 0' '--neighbours many' '--only nothing_of_this_name'; do
    # shellcheck disable=SC2086
    if python3 "$here/neighbour.py" "$burn" --stacks ndarray $quick $words >"$work/said" 2>&1; then fail "$words: no error"; fi
  done
}

# A backend of a third party that lacks the op, and a layer that fails: it is said, the others have their figures. Without --stacks every
# usable backend is measured.
test_lacks() {
  mkdir "$work/plugins"
  cp "$build/tests/broken_plugins/burn_mini.so" "$build/tests/broken_plugins/burn_faulty.so" "$work/plugins"
  export BURN_PLUGIN_PATH="$work/plugins"
  unset BURN_BACKEND
  fails 0 $quick --only '^add 1K$' --stacks ndarray,mini
  grep -Eq '^add 1K +[0-9.]+ [nu]s .* lacks it ' "$work/said" || { cat "$work/said" >&2; fail "no row"; }
  expect "mini: add on mini: random_normal: backend 'mini' has no kernel for it" "$work/said"
  fails 0 $quick --only '^add 1K$' --json
  grep -q '"stack":"mini","lacks":"add on mini: random_normal' "$work/said" || { cat "$work/said" >&2; fail "mini is not measured"; }
  grep -q '"stack":"ndarray","ours":{"seconds":' "$work/said" || { cat "$work/said" >&2; fail "ndarray is not measured"; }
  refuse '"stack":"reference"' "$work/said"
  fails 1 $quick --only '^(add|exp) 1K$' --stacks 'faulty:op=exp,fault=nan+ndarray,ndarray'
  grep -Eq '^exp 1K +failed +- +[0-9.]+ [nu]s +[0-9]+ % +- +-$' "$work/said" || { cat "$work/said" >&2; fail "exp did not fail"; }
  grep -Eq '^add 1K +[0-9.]+ [nu]s .* [0-9.]+ +-$' "$work/said" || { cat "$work/said" >&2; fail "no figures of add"; }
  expect "faulty: too many elements" "$work/said"
  expect "burn bench: a stack failed at 1 cases; see above" "$work/said"
}

test_peer() {
  with_fake 0 '^add 1K$'
  expect "PyTorch: fake 1.0 threads" "$work/said"
  expect "on cpu, default" "$work/said"
  expect "2.00 s" "$work/said"
  with_fake 0 '^mul 1K$' # the peer does not know it: no figure, no failure
  refuse "2.00 s" "$work/said"
  with_fake 0 '^tanh 16M$' # it cannot, and says why
  expect "    PyTorch: it is no eager peer for that" "$work/said"
  with_fake 1 '^exp 1K$'
  expect "PyTorch: exp is not for me" "$work/said"
  with_fake 1 '^max 16M$'
  expect "the peer PyTorch ended" "$work/said"
  with_fake 0 '^MLP 784-512-512-10 step'
  expect "PyTorch 3.500 -> 1.500" "$work/said"
  fails 1 --peer torch --python "$work/none" --script "$here/peer_fake.sh" $quick --only '^add 1K$'
  expect "'$work/none' cannot run PyTorch" "$work/said"
  fails 1 --peer torch --python false $quick --only '^add 1K$' # the script that is installed beside the command
  expect "'false' cannot run PyTorch" "$work/said"
  fails 1 --peer torch --python sh --script "$work/none.py" $quick --only '^add 1K$'
  expect "'$work/none.py', which cannot be read" "$work/said"
}

# Three peers, each a column; PyTorch compiled has figures of its own in JSON and in the file.
test_ways() {
  peers="--peer torch,torch.compile,torch.cudagraph --python sh --script $here/peer_fake.sh"
  fails 0 --stacks ndarray $peers $quick --only '^(add 1K|tanh 16M|where 16M)$' --json
  expect '"peer":"fake 1.0 threads' "$work/said"
  expect '"torch_compile":{"seconds":2,' "$work/said"
  expect '"torch_cudagraph_bytes_peak":3e+06,"ratio_cudagraph":' "$work/said"
  expect '"torch_cudagraph_lacks":"it is no cudagraph peer for that"' "$work/said"
  expect '"torch_lacks":"\u001b[31mnot\u0009here"' "$work/said" # control characters are escaped, as JSON wants them
  fails 0 --stacks ndarray $peers $quick --only '^(add 1K|tanh 16M)$' --csv "$work/ways.csv" --busy
  expect 'compiled' "$work/said"
  expect '    CUDA graph: it is no cudagraph peer for that' "$work/said"
  expect ',torch_compile_ms,torch_cudagraph_ms,torch_peak_MB,noise_percent,torch_noise_percent,torch_compile_noise_percent,' "$work/ways.csv"
  grep -Eq '^op,add 1K,ndarray,[0-9.e-]+,2e\+03,,[0-9.e-]+,,,2e\+03,2e\+03,3,0,0,0,0$' "$work/ways.csv" || { cat "$work/ways.csv" >&2; fail "add 1K"; }
  fails 0 --stacks ndarray $peers $quick --only '^add 1K$' --csv "$work/ways.csv" --busy # the file is read again
  [ "$(grep -c '^op,' "$work/ways.csv")" = 2 ] || { cat "$work/ways.csv" >&2; fail "lines were lost"; }
  fails 0 tables "$work/ways.csv"
  expect '| op | ours | PyTorch | compiled | CUDA graph | ratio | to compiled | to CUDA graph | of the limit |' "$work/said"
  expect '| 2.00 s  +- 0 % |' "$work/said"
  fails 0 --stacks ndarray --peer onednn --python sh --script "$here/peer_fake.sh" $quick --only '^(add 1K|tanh 16M)$' --csv "$work/onednn.csv" --busy
  expect '    oneDNN: it is no onednn peer for that' "$work/said"
  expect ',onednn_ms,noise_percent,onednn_noise_percent' "$work/onednn.csv"
  fails 2 --peer torch,jax
  expect "--peer 'jax' is unknown" "$work/said"
  fails 2 --peer torch --peer-precision f8
  fails 1 --stacks ndarray --peer torch,torch,torch,torch,torch,torch,torch --python sh --script "$here/peer_fake.sh" --only '^add 1K$'
  expect "at most 6 peers" "$work/said"
}

# A peer without its library is said and left out; the others measure.
test_absent() {
  printf 'echo "absent No module named onnxruntime"\n' >"$work/absent.sh"
  fails 0 --stacks ndarray --peer onnxruntime --python sh --script "$work/absent.sh" $quick --only '^add 1K$'
  expect "burn bench: ONNX Runtime is left out: No module named onnxruntime; --python or BURN_BENCH_PYTHON" "$work/said"
  grep -Eq '^add 1K +[0-9.]+ [nu]s ' "$work/said" || { cat "$work/said" >&2; fail "no figures of add"; }
  if ! command -v python3 >/dev/null 2>&1; then return; fi
  for script in peer_torch.py peer_onnx.py; do # as they are installed, in a python that has neither
    python3 -S -I "$build/share/burn/bench/$script" 1 cpu eager default "$work" </dev/null >"$work/said"
    expect "absent " "$work/said"
  done
}

# What goes to a peer that reads models: the model of a case that infers, its input and its output; nothing for other cases. They are gone
# when it ends.
test_models() {
  cat >"$work/reader.sh" <<'PEER'
echo "reader of models"
while read -r word kind _; do
  case "$word" in
    case) wc -c "$5/model.onnx" "$5/input.npy" "$5/output.npy" >&2 && echo "$5" >&2 && echo "ready nan" ;;
    run) echo "2 nan" ;;
    end) echo ended ;;
  esac
done
PEER
  fails 0 --stacks ndarray --peer onnxruntime --python sh --script "$work/reader.sh" $quick --only '^(add 1K|MLP 784-512-512-10 (inference batch 1|step.*))$' --json
  if grep -q 'this build has no ONNX' "$work/said"; then echo "skipped: this build has no ONNX" && return; fi
  [ "$(grep -c 'output.npy$' "$work/said")" = 1 ] || { cat "$work/said" >&2; fail "not one model"; }
  expect '"onnxruntime":{"seconds":2,' "$work/said"
  [ "$(grep -c '"ratio_onnxruntime":' "$work/said")" = 1 ] || { cat "$work/said" >&2; fail "not one ratio"; }
  size=$(sed -n 's/^ *\([0-9]*\) .*model.onnx$/\1/p' "$work/said")
  [ "$size" -gt 2678824 ] || fail "the model has $size bytes" # 669706 parameters of f32
  folder=$(sed -n 's/^ *[0-9]* \(.*\)\/model.onnx$/\1/p' "$work/said")
  [ -n "$folder" ] && [ ! -e "$folder" ] || fail "'$folder' is still there"
  python=${BURN_TEST_PYTHON:-python3}
  if ! "$python" -c 'import onnxruntime, numpy' >/dev/null 2>&1; then echo "skipped: no onnxruntime to compare outputs with" && return; fi
  # It compares outputs before it measures: another output is an error.
  models='^(guide CNN|LeNet-5|MLP 784-512-512-10|LSTM 256 T 64) inference batch 1$'
  fails 0 --stacks ndarray --peer onnxruntime --python "$python" $quick --only "$models" --json
  [ "$(grep -c '"onnxruntime":{"seconds":' "$work/said")" = 4 ] || { cat "$work/said" >&2; fail "not 4 models"; }
  cat >"$work/wrong.py" <<PEER
import sys
sys.path.insert(0, "$build/share/burn/bench")
import numpy, onnxruntime, peer_onnx
peer_onnx.numpy, peer_onnx.onnxruntime = numpy, onnxruntime
peer_onnx.numpy.load = lambda path, load=numpy.load: load(path) + path.endswith("output.npy")
peer_onnx.main()
PEER
  fails 1 --stacks ndarray --peer onnxruntime --python "$python" --script "$work/wrong.py" $quick --only '^LeNet-5 inference batch 1$'
  expect "ONNX Runtime: the output differs by 1, its largest element is" "$work/said"
}

# On a GPU, here a driver that runs nothing: samples of many repetitions, rates, memory; the sizes for GPUs only where they are asked for.
test_gpu() {
  export BURN_CUDA_DRIVER="$build/tests/libfake_cuda.so" XDG_CACHE_HOME="$work/cache"
  "$burn" bench --list >"$work/said"
  refuse "gpu " "$work/said"
  if ! "$burn" bench $quick --only '^add 1K$' --stacks cuda >"$work/said" 2>&1; then
    expect "libnvrtc.so" "$work/said"
    echo "skipped: no NVRTC, so the CUDA backend does not open" && return
  fi
  fails 0 --stacks 'cuda,fusion<cuda>' --peer torch --python sh --script "$here/peer_fake.sh" $quick --group gpu --only '^(matmul 4096 bf16|embedding 50304x768 at 32x1024)$' --csv "$work/gpu.csv" --busy
  expect "fake device 0, sm_90, CUDA 13.0; copy of 1 GiB: " "$work/said"
  expect "peak cuda 100.7 MB, fusion<cuda> 100.7 MB, PyTorch 3.0 MB" "$work/said"
  grep -Eq '^matmul 4096 bf16 .* TFLOP/s ' "$work/said" || { cat "$work/said" >&2; fail "no rate"; }
  grep -Eq '^embedding 50304x768 at 32x1024 .* GB/s ' "$work/said" || { cat "$work/said" >&2; fail "no rate"; }
  grep -Eq '^gpu,matmul 4096 bf16,cuda,[0-9.e-]+,2e\+03,,[0-9.e-]+,,,101,3,0,0$' "$work/gpu.csv" || { cat "$work/gpu.csv" >&2; fail "matmul"; }
  expect "on cuda:0, highest" "$work/said"
  fails 0 --stacks 'fusion<cuda:1:tf32=true>' --peer torch --python sh --script "$here/peer_fake.sh" $quick --only '^add 1K$'
  expect "on cuda:1, high" "$work/said"
  fails 0 --stacks 'autocast<cuda>,ndarray' --peer torch --python sh --script "$here/peer_fake.sh" $quick --only '^add 1K$'
  expect "on cuda:0, bf16" "$work/said"
  fails 0 --stacks cuda $quick --only '^(MLP 784-512-512-10 step|add of 2; time of the host)'
  expect "loss cuda 0.000 -> 0.000" "$work/said"
}

# Results go into their lines: others stay, cases that are no more leave, the order is that of the table.
test_file() {
  printf '# old\ngroup,case,stack,ours_ms,torch_ms,torch_tuned_ms,ratio,ratio_tuned,limit_percent\n%s\n%s\n%s\n' \
    'op,mul 1K,"ndarray:isa=avx2,gemm=builtin",3,6,,0.5,,' 'op,no such case,ndarray,1,1,,1,,' 'op,add 1K,ndarray,1,2,,0.5,,7' >"$work/r.csv"
  fails 0 --stacks ndarray --peer torch --python sh --script "$here/peer_fake.sh" $quick --only '^(add 1K|matmul 64)$' --csv "$work/r.csv" --about here --busy
  [ "$(grep -v '^#' "$work/r.csv" | cut -d, -f2 | tr '\n' ';')" = "case;add 1K;mul 1K;matmul 64;" ] ||
    { cat "$work/r.csv" >&2; fail "other lines"; }
  expect '# here' "$work/r.csv"
  expect '# fake 1.0 threads' "$work/r.csv"
  expect 'op,mul 1K,"ndarray:isa=avx2,gemm=builtin",3,6,,0.5,,,,' "$work/r.csv"
  grep -Eq '^op,add 1K,ndarray,[0-9.e-]+,2e\+03,,[0-9.e-]+,,,3,0,0$' "$work/r.csv" || { cat "$work/r.csv" >&2; fail "add 1K"; }
  grep -Eq '^op,matmul 64,ndarray,[0-9.e-]+,2e\+03,,[0-9.e-]+,,[0-9.e+-]+,3,0,0$' "$work/r.csv" || { cat "$work/r.csv" >&2; fail "matmul"; }
  fails 0 tables "$work/r.csv"
  expect '| mul 1K | `ndarray:isa=avx2,gemm=builtin` | 3.00 ms | 6.00 ms | 0.50 | - |' "$work/said"
  printf 'op,add 1K\n' >"$work/broken.csv"
  fails 1 tables "$work/broken.csv"
  expect "figures before the line with the names of the columns" "$work/said"
  printf 'group,case,stack,ours_ms,torch_ms\nop,add 1K,ndarray,1\n' >"$work/broken.csv"
  fails 1 tables "$work/broken.csv"
  expect "a line without 5 columns" "$work/said"
  printf 'group,case,stack,ours_ms,abacus_ms\n' >"$work/broken.csv"
  fails 1 tables "$work/broken.csv"
  expect "no column of this program is called 'abacus_ms'" "$work/said"
  fails 0 tables "$here/results.csv" # what is kept here, with the columns that it has
  fails 0 tables "$here/results_gpu.csv"
  expect '| CUDA graph | ratio | of the copy | rate | memory | PyTorch'"'"'s |' "$work/said"
}

# Figures are not kept while other programs compute: the values are said, and the way out.
test_busy() {
  if [ ! -r /proc/stat ]; then echo "skipped: nobody says here what other programs use" && return; fi
  loops=""
  for _ in $(seq "$(nproc)"); do
    sh -c 'while :; do :; done' &
    loops="$loops $!"
  done
  # shellcheck disable=SC2064,SC2086 # the list as it is now, a word each
  trap "kill $loops; rm -rf '$work'" EXIT
  fails 1 --stacks ndarray $quick --only '^add 1K$' --csv "$work/busy.csv"
  grep -Eq '^burn bench: other programs use [1-9][0-9]* % of the processors, and 3 % are allowed for figures that are kept; end them, or --busy takes the figures all the same$' "$work/said" ||
    { cat "$work/said" >&2; fail "the machine was in use"; }
  [ ! -e "$work/busy.csv" ] || fail "figures were kept"
  fails 1 growth --stacks ndarray $quick --largest 1000 --svg "$work/busy.svg"
  expect "other programs use" "$work/said"
  [ ! -e "$work/busy.svg" ] || fail "a drawing was kept"
  fails 0 --stacks ndarray $quick --only '^add 1K$' --csv "$work/busy.csv" --busy
  expect "op,add 1K,ndarray," "$work/busy.csv"
  fails 0 --stacks ndarray --rounds 3 --seconds 1 --only '^add 1K$' # it is said where nothing is kept
  grep -Eq '^burn bench: other programs used [1-9][0-9]* % of the machine meanwhile; these figures are not good$' "$work/said" ||
    { cat "$work/said" >&2; fail "no warning"; }
}

# Small sizes; a line for each of ours and of the peer's, which needs 2 s for everything.
test_growth() {
  fails 0 growth --stacks ndarray --peer torch --python sh --script "$here/peer_fake.sh" $quick --largest 1000 --svg "$work/g.svg" --about 'here' --busy
  expect "softmax" "$work/said"
  expect "2.00 s" "$work/said"
  [ "$(grep -c '<polyline' "$work/g.svg")" = 14 ] || fail "not 14 lines"
  [ "$(grep -c 'class="title"' "$work/g.svg")" = 4 ] || fail "not 4 charts"
  expect ">here</text>" "$work/g.svg"
  refuse "nan" "$work/g.svg"
  refuse "inf" "$work/g.svg"
  if ! command -v python3 >/dev/null 2>&1; then echo "skipped: no python3 to read $work/g.svg as XML" && return; fi
  python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$work/g.svg"
}

test_errors() {
  status=0
  BURN_BENCH_PYTHON=false sh "$here/run.sh" "$build" --only '^add 1K$' >"$work/said" 2>&1 || status=$?
  [ "$status" = 1 ] || fail "a python without torch: status $status"
  expect "BURN_BENCH_PYTHON: 'false' cannot import torch" "$work/said"
  fails 2 --no-such-option
  fails 2 --only 'no such case'
  expect "no case matches" "$work/said"
  fails 2 --only '('
  fails 2 --group trains
  expect "--group 'trains' is unknown" "$work/said"
  fails 2 --peer jax
  expect "--peer 'jax' is unknown" "$work/said"
  fails 2 --rounds 0
  fails 2 nothing
  expect "'nothing' is unknown" "$work/said"
  fails 2 growth
  expect "growth needs --svg FILE" "$work/said"
  fails 2 curves --only nothing --steps 1
  expect "'nothing' is not a model" "$work/said"
  fails 2 curves --stacks ndarray
  fails 1 curves --small --steps 2 --only mlp --tolerance -1 # no difference is as small as that
  expect "1 of 1 curves differ by more than -1" "$work/said"
  fails 1 $quick --only '^add 1K$' --stacks ndarray,nothing
  expect "the stack 'nothing' cannot be opened: there is no backend 'nothing'" "$work/said"
  fails 1 $quick --only '^add 1K$' --stacks ndarray,
  expect "a stack without a name" "$work/said"
  fails 1 $quick --only '^add 1K$' --stacks a,b,c,d,e,f,g,h,i
  expect "at most 8 stacks" "$work/said"
  fails 0 --help
  expect "usage: burn bench [options]" "$work/said"
  fails 0 --list
  expect "model       GPT d 256 4 layers T 256 step batch 8" "$work/said"
  expect "large       Llama block d 2048 cache 512 decoding batch 1" "$work/said"
  expect "convolution conv2d 16x3x224x224 to 64 7x7 stride 2" "$work/said"
  names=$(cut -c 13- "$work/said" | sort | uniq -d)
  [ -z "$names" ] || fail "twice: $names"
  fails 0 --list --quick # what takes long only where it is asked for
  refuse "large " "$work/said"
  refuse "convolution " "$work/said"
  fails 0 --list --quick --only 'ResNet-50'
  expect "large       ResNet-50 224x224 step batch 2" "$work/said"
  fails 0 --list --quick --group convolution
  expect "conv2d 16x1024x7x7 depthwise 3x3 backward" "$work/said"
}

case "$3" in
  json | lacks | peer | ways | absent | models | file | busy | neighbour | gpu | growth | errors) "test_$3" ;;
  *) fail "'$3' is not a part" ;;
esac
