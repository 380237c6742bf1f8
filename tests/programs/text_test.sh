#!/bin/sh
# text_test.sh GENERATION CLASSIFICATION - the examples with texts: they learn small ones, go on after what they saved, and say what is wrong
# with a file, a line or an option.
generation=$1 classification=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export BURN_THREADS=1 BURN_BACKEND=ndarray

fail() { echo "text_test: $*" >&2; exit 1; }
# number KEY FILE: the value of a key in the line of the result.
number() { sed -n "s/.*\"$1\":\\([-+.0-9e]*\\).*/\\1/p" "$2" | tail -n 1; }
holds() { awk "BEGIN { exit !($1) }"; }

# -- generation: a text of eight letters in turn has no surprise left; its entropy by single letters is ln 9 = 2.2
i=0
while [ $i -lt 700 ]; do printf 'abcdefgh '; i=$((i + 1)); done >text
small="--context 16 --d-model 32 --layers 1 --heads 2 --batch-size 16 --lr 0.01"
# shellcheck disable=SC2086
"$generation" --data text $small --artifact run --prompt abc --length 23 --temperature 0 >out 2>err || fail "$(cat err)"
holds "$(number valid_nats out) < 0.2" || fail "the text has $(number valid_nats out) nats a byte"
grep -q '^abcdefgh abcdefgh abcdefgh$' out || fail "it goes on with: $(cat out)"
for file in config.json model.mpk checkpoint/model-2.mpk train/epoch-1/Perplexity.log; do
  [ -s "run/$file" ] || fail "run/$file is missing"
done
# What was saved says the same, and draws the same by seed. At a high temperature it draws among top-k.
"$generation" sample --artifact run --prompt 'gh ' --length 9 --top-k 1 --temperature 5 >out 2>err || fail "$(cat err)"
grep -q '^gh abcdefgh $' out || fail "the likeliest are: $(cat out)"
"$generation" sample --artifact run --length 60 --temperature 20 --top-k 0 --seed 3 >one 2>err || fail "$(cat err)"
"$generation" sample --artifact run --length 60 --temperature 20 --top-k 0 --seed 3 >two 2>err || fail "$(cat err)"
"$generation" sample --artifact run --length 60 --temperature 20 --top-k 0 --seed 4 >three 2>err || fail "$(cat err)"
cmp -s one two || fail "the same seed draws another sample"
if cmp -s one three; then fail "another seed draws the same sample"; fi
# shellcheck disable=SC2086
"$generation" --data text $small --artifact run --epochs 2 --resume --json --length 1 >out 2>err || fail "$(cat err)"
{ [ "$(wc -l <out)" = 1 ] && grep -q '"steps":0' out; } || fail "a run that was complete went on: $(cat out)"
"$generation" >out 2>err && fail "no text passes"
grep -q "give the text with --data FILE" err || fail "$(cat err)"
"$generation" --data nowhere >out 2>err && fail "a file that is not there passes"
grep -q "nowhere: cannot open" err || fail "$(cat err)"
head -c 50 text >short
"$generation" --data short --artifact none >out 2>err && fail "a short text passes"
grep -q "a text of 45 bytes is too short for windows of 64" err || fail "$(cat err)"

# -- classification: each class has words of its own, beside common ones and quotes
mkdir data
awk 'BEGIN { split("war vote treaty;goal match team;shares market profit;robot planet code", classes, ";")
  for (i = 0; i < 400; i++) { c = i % 4; split(classes[c + 1], w, " ")
    printf "\"%d\",\"The %s \"\"today\"\"\",\"a %s of the %s\nand more\"\n", c + 1, w[i % 3 + 1], w[(i + 1) % 3 + 1], w[i % 3 + 1] } }' >data/train.csv
head -n 80 data/train.csv | gzip >data/test.csv.gz
files="--data data --train-file train.csv --test-file test.csv.gz"
# shellcheck disable=SC2086
"$classification" $files --artifact news --length 12 --d-model 16 --epochs 4 --batch-size 16 --lr 0.01 >out 2>err || fail "$(cat err)"
holds "$(number test_accuracy out) == 1" || fail "of easy texts $(number test_accuracy out) are right"
[ "$(number texts out)" = 360 ] || fail "$(number texts out) texts to learn from"
grep -q ',final$' news/test/ag-news/Accuracy.log || fail "the test set has no logs"
head -n 2 news/vocabulary.txt | tr '\n' ' ' | grep -q '^the ' || fail "the most frequent word is not first"
"$classification" infer --artifact news --text 'A GOAL, of the team!' >out 2>err || fail "$(cat err)"
grep -q '"class":"Sports"' out || fail "$(cat out)"
# wrong BYTES MESSAGE: a file that is refused, with its line or text.
wrong() {
  printf '%b' "$1" >data/bad.csv
  "$classification" --data data --train-file bad.csv --test-file test.csv.gz --artifact bad >out 2>err && fail "'$1' passes"
  grep -q "data/bad.csv: $2" err || fail "'$1': $(cat err)"
}
wrong '"1","a"\n"5","b"\n' "text 2: class 5 is not within 1..4"
wrong '"1","a"\n"0","b"\n' "text 2: class 0 is not within 1..4"
wrong '"1","a","x"\n"x","b","y"\n' 'line 2: column "class" is "x", which is not i64'
wrong '"1","a" \n' "line 1: text after the quote that ends a field"
wrong '"1"\n' 'line 1: column "text" wants 1 fields from field 2 on, there are 1'
wrong '"1","a\n' "line 1: a quote is not closed"
wrong '"1","a"\n"1","b","c"\n' "line 2: 3 fields, 2 expected"
wrong '' "there is no text"
printf 'the\nthe\n' >news/vocabulary.txt
"$classification" infer --artifact news --text a >out 2>err && fail "a word that comes twice passes"
grep -q "vocabulary.txt:2: one word that is new expected" err || fail "$(cat err)"
exit 0
