#!/bin/sh
# build.sh PREFIX OUT - writes sys.zig, and builds the example with zig (ZIG, or the zig of the path) against an installed Burn.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=$1 out=$2
mkdir -p "$out"
cp "$here/burn.zig" "$here/mnist.zig" "$out"
python3 "$here/../make_zig.py" "$out/sys.zig"
python3 "$here/../make_inline.py" "$out/inline.c"
${CC:-cc} -std=c11 -O2 -fPIC -I"$prefix/include" -c "$out/inline.c" -o "$out/inline.o"
others= # libraries that an installation may lack
for name in burn_import burn_datasets burn_dashboard; do
  if [ -e "$prefix/lib/lib$name.so" ]; then others="$others -l$name"; fi
done
cd "$out"
# shellcheck disable=SC2086 # several words
ZIG_GLOBAL_CACHE_DIR=$out/cache ZIG_LOCAL_CACHE_DIR=$out/cache ${ZIG:-zig} build-exe mnist.zig inline.o -lc -L"$prefix/lib" $others -lburn_train -lburn_nn -lburn \
  -rpath "$prefix/lib" -O ReleaseSafe -femit-bin=mnist
