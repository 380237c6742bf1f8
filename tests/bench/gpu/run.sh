#!/bin/sh
# Measures and tests what a GPU is needed for: the guide CNN's step, transfers and waits, waits in training, transfer_test, a kernel pack with CUDA code, burn conform, a profile of the host's time.
#   run.sh [BUILD]    BUILD: a build tree for the PyTorch of this machine; without one it is made in build-gpu
set -eu
root=$(cd "$(dirname "$0")/../../.." && pwd)
build=${1:-$root/build-gpu}
stack=${BURN_GPU_STACK:-torch:cuda}
if [ $# -eq 0 ]; then
  torch=$(python3 -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])')
  cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DTorch_DIR="$torch"
  cmake --build "$build" -j "$(nproc)"
fi
build=$(cd "$build" && pwd)
cc -O1 -g -shared -fPIC -o "$build/sampler.so" "$root/tests/bench/gpu/sampler.c" -ldl -lrt
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || echo 'there is no nvidia-smi'
"$build/bin/burn" bench --stacks "$stack" --only 'guide CNN step' --rounds 5 --seconds 0.3
"$build/tests/transfer_bench" --backend "$stack"
"$build/tests/transfer_bench" --backend "fusion<$stack>" --megabytes 0
"$build/tests/training_waits" --backend "$stack"
"$build/tests/training_waits" --backend "fusion<$stack>"
BURN_TEST_STACKS="$stack; autodiff<$stack>; autodiff<fusion<$stack>>" "$build/tests/transfer_test"
BURN_TEST_STACKS="$stack; fusion<$stack>" "$build/tests/learner_async_test"
cmake --install "$build" --prefix "$build/prefix" >"$build/install.log"
cmake -S "$root/sdk/examples/fused_matmul_add_relu" -B "$build/pack" -DCMAKE_PREFIX_PATH="$build/prefix"
cmake --build "$build/pack"
export BURN_PLUGIN_PATH="$build/pack"
"$build/bin/burn" ops --op fused_matmul_add_relu.forward --stack "fusion<$stack>"
for s in "$stack" "fusion<$stack>"; do "$build/pack/fused_matmul_add_relu_test" "$s"; done
unset BURN_PLUGIN_PATH
python3 "$root/tests/bench/gpu/dlpack_streams.py" "$build/lib/libburn.so" "$stack"
python3 "$root/sdk/examples/python/dlpack_torch.py" "$build/lib/libburn.so" "$stack"
SAMPLER_OUT=$build/profile.txt LD_PRELOAD="$build/sampler.so" "$build/tests/transfer_bench" --backend "$stack" --megabytes 0 --steps 3000
head -40 "$build/profile.txt"
"$build/bin/burn" conform "$stack" --level core
