#!/bin/sh
# gpt2_test.sh GPT2 - the example gpt2: it learns a text and a file of tokens, with and without autocast, measures on random tokens, and says
# what is wrong with its arguments.
gpt2=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

fail() { echo "gpt2_test: $*" >&2; exit 1; }
# number KEY FILE: the value of a key in the line of the result.
number() { sed -n "s/.*\"$1\": *\\([-+.0-9e]*\\).*/\\1/p" "$2" | tail -n 1; }
tiny="--batch 4 --length 16 --width 32 --heads 2 --layers 2 --steps 150 --lr 0.01"

i=0
while [ $i -lt 200 ]; do printf 'abcdefgh '; i=$((i + 1)); done >text
i=0
while [ $i -lt 200 ]; do printf '\001\001\002\001\003\001\004\001'; i=$((i + 1)); done >tokens.bin # 257 to 260
for stack in ndarray 'autocast<autodiff<ndarray>>'; do
  # shellcheck disable=SC2086
  "$gpt2" --data text --vocabulary 128 $tiny --stack "$stack" >out 2>&1 || fail "$stack: $(cat out)"
  awk "BEGIN { exit !($(number loss out) < 1) }" || fail "$stack: the loss of the text ends at $(number loss out)"
  # shellcheck disable=SC2086
  "$gpt2" --data tokens.bin --vocabulary 300 $tiny --stack "$stack" >out 2>&1 || fail "$stack: $(cat out)"
  awk "BEGIN { exit !($(number loss out) < 1) }" || fail "$stack: the loss of tokens ends at $(number loss out)"
done
# shellcheck disable=SC2086
"$gpt2" --synthetic --vocabulary 64 $tiny --steps 13 --json --stack ndarray >out 2>&1 || fail "$(cat out)"
[ "$(wc -l <out)" = 1 ] || fail "--json writes more than a line: $(cat out)"
awk "BEGIN { exit !($(number tokens_per_second out) > 0 && $(number peak_bytes out) > 100000) }" || fail "no figures: $(cat out)"
[ "$(number parameters out)" = 28032 ] || fail "$(number parameters out) parameters"

"$gpt2" >out 2>&1 && fail "neither data nor --synthetic passes"
grep -q "give --data FILE or --synthetic, one of them" out || fail "$(cat out)"
for wrong in "--heads 5" "--heads 0" "--steps 0" "--batch 0" "--length 0" "--width 0 --heads 1" "--vocabulary 0"; do
  # shellcheck disable=SC2086
  "$gpt2" --synthetic --width 32 $wrong >out 2>&1 && fail "$wrong passes"
  grep -q "^gpt2: --" out || fail "$wrong: $(cat out)"
done
# shellcheck disable=SC2086
"$gpt2" --data text --vocabulary 50 $tiny --stack ndarray >out 2>&1 && fail "tokens beyond the vocabulary pass"
grep -q "^gpt2: .*index" out || fail "$(cat out)"
"$gpt2" --data nowhere --stack ndarray --layers 1 --width 8 --heads 1 --vocabulary 256 >out 2>&1 && fail "a file that is not there passes"
grep -q "nowhere: cannot open" out || fail "$(cat out)"
"$gpt2" --data text --length 4000 --stack ndarray --layers 1 --width 8 --heads 1 --vocabulary 256 >out 2>&1 && fail "a short text passes"
grep -q "text has 1800 tokens, more than --length 4000 expected" out || fail "$(cat out)"
