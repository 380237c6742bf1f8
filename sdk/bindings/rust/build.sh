#!/bin/sh
# build.sh PREFIX OUT - writes sys.rs, and builds the crate and its example with rustc against an installed Burn. No crate is needed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=$1 out=$2
mkdir -p "$out/src"
cp "$here/src/lib.rs" "$out/src"
python3 "$here/../make_rust.py" "$out/src/sys.rs"
python3 "$here/../make_inline.py" "$out/inline.c"
${CC:-cc} -std=c11 -O2 -fPIC -I"$prefix/include" -c "$out/inline.c" -o "$out/inline.o"
ar rcs "$out/libburn_inline.a" "$out/inline.o"
others= # libraries that an installation may lack
for name in burn_import burn_datasets burn_dashboard; do
  if [ -e "$prefix/lib/lib$name.so" ]; then others="$others -l $name"; fi
done
# shellcheck disable=SC2086 # several words
rustc --edition 2021 -O --crate-type rlib --crate-name burn -L "$out" -L "$prefix/lib" \
  -l static=burn_inline $others -l burn_train -l burn_nn -l burn -o "$out/libburn.rlib" "$out/src/lib.rs"
rustc --edition 2021 -O --extern burn="$out/libburn.rlib" -L "$out" -L "$prefix/lib" -C link-arg=-Wl,-rpath,"$prefix/lib" \
  -o "$out/mnist" "$here/examples/mnist.rs"
