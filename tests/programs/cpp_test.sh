#!/bin/sh
# cpp_test.sh CNN GPT MNIST GPT_SOURCE - the examples in C++: the CNN has the numbers of the C program, digit by digit, the GPT learns its
# text, and its source stays one page.
cnn=$1 gpt=$2 mnist=$3 source=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export BURN_THREADS=1 BURN_BACKEND=ndarray

fail() { echo "cpp_test: $*" >&2; exit 1; }
# number KEY FILE: the value of a key in the line of the result.
number() { sed -n "s/^result: .*\"$1\": *\\([-+.0-9e]*\\).*/\\1/p" "$2"; }

"$cnn" 512 128 2 >cpp || fail "cpp_cnn failed: $(cat cpp)"
"$mnist" --train-items 512 --test-items 128 --epochs 2 --show 0 >c 2>err || fail "mnist failed: $(cat err)"
[ -s cnn.mpk ] || fail "cpp_cnn saved no record"
for key in train_loss test_accuracy; do
  [ -n "$(number $key c)" ] || fail "mnist tells no $key"
  [ "$(number $key cpp)" = "$(number $key c)" ] || fail "$key is $(number $key cpp) in C++ and $(number $key c) in C"
done
cp cnn.mpk artifacts/mnist/model.mpk || fail "mnist left no folder"
"$mnist" infer --show 0 >c 2>err || fail "mnist does not read the record: $(cat err)"

"$gpt" 60 >text || fail "cpp_gpt failed: $(cat text)"
first=$(sed -n 's/^step 0  loss //p' text) last=$(sed -n 's/^step 59  loss //p' text)
awk "BEGIN { exit !($first > 4 && $last > 0 && $last < 1) }" || fail "the loss of cpp_gpt goes from $first to $last"
[ "$(tail -n 1 text | wc -c)" = 81 ] || fail "cpp_gpt writes no 80 letters"
lines=$(sed 's|/\*.*\*/||; /\/\*/,/\*\//d; /^[[:space:]]*$/d' "$source" | wc -l)
[ "$lines" -le 80 ] || fail "cpp_gpt.cpp has $lines lines without comments, 80 at most"
