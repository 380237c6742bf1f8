#!/bin/sh
# build.sh PREFIX OUT - writes methods.go, and builds the package and its example with go against an installed Burn. Uses no network.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=$1 out=$2
mkdir -p "$out/mnist"
cp "$here/burn.go" "$out"
cp "$here/mnist/mnist.go" "$out/mnist"
python3 "$here/../make_go.py" "$out/methods.go"
printf 'module burn\n\ngo 1.19\n' >"$out/go.mod"
cd "$out"
export CGO_CFLAGS="-I$prefix/include" CGO_LDFLAGS="-L$prefix/lib -Wl,-rpath,$prefix/lib" GOFLAGS=-mod=mod GOPROXY=off GOCACHE="$out/cache"
go build -o mnist/mnist ./mnist
