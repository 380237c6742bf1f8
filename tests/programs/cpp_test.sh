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

# wrong MESSAGE PROGRAM ARGUMENT...: refused with exit status 1 and this line, and nothing else on either stream.
wrong() {
  expected=$1
  shift
  "$@" >out 2>err
  [ $? = 1 ] || fail "$*: not exit status 1: $(cat out err)"
  [ "$(cat out err)" = "$expected" ] || fail "$*: $(cat out err)"
}
wrong "cpp_gpt: steps: an integer of at least 1 expected, not 'WORD'" "$gpt" WORD
wrong "cpp_gpt: steps: an integer of at least 1 expected, not '12x'" "$gpt" 12x
wrong "cpp_gpt: steps: an integer of at least 1 expected, not '-1'" "$gpt" -1
wrong "cpp_gpt: steps: an integer of at least 1 expected, not '0'" "$gpt" 0
wrong "cpp_gpt: steps: 99999999999999999999 is too large" "$gpt" 99999999999999999999
wrong "cpp_cnn: training digits: an integer of at least 1 expected, not '512x'" "$cnn" 512x
wrong "cpp_cnn: test digits: an integer of at least 1 expected, not 'few'" "$cnn" 512 few
wrong "cpp_cnn: epochs: an integer of at least 1 expected, not '0'" "$cnn" 512 128 0
wrong "cpp_cnn: nothing expected after the epochs, not 'more'" "$cnn" 512 128 2 more

wrong "cpp_gpt: there is no option '--nosuch'; usage: cpp_gpt [STEPS]" "$gpt" --nosuch

for usage in 'cpp_cnn [FOLDER] [TRAINING DIGITS] [TEST DIGITS] [EPOCHS]' 'cpp_gpt [STEPS]' cpp_regression; do
  program=$(dirname "$cnn")/${usage%% *}
  "$program" --help >out 2>err || fail "$program --help: exit status $?: $(cat err)"
  [ "$(cat out err)" = "usage: $usage" ] || fail "$program --help: $(cat out err)"
done

if [ -c /dev/full ]; then
  "$gpt" 1 >/dev/full 2>err && fail "cpp_gpt >/dev/full succeeds"
  grep -q '^error: the output could not be written' err || fail "cpp_gpt >/dev/full says $(cat err)"
fi

lines=$(sed 's|/\*.*\*/||; /\/\*/,/\*\//d; /^[[:space:]]*$/d' "$source" | wc -l)
[ "$lines" -le 80 ] || fail "cpp_gpt.cpp has $lines lines without comments, 80 at most"
