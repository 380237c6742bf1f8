#!/bin/sh
# mnist_test.sh MNIST BURN - the programs as a user meets them: Ctrl-C and going on, a full disk, closed streams, another run.
mnist=$1 burn=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
set -- --train-items 256 --test-items 32 --batch-size 16 --epochs 3 --show 0
export BURN_THREADS=1

fail() { echo "mnist_test: $*" >&2; exit 1; }

# The files of a run that do not depend on times and ids: the logs of metrics.
logs() { (cd "$1" && find train valid -name '*.log' | sort | xargs sha256sum); }

"$mnist" --artifact "$folder/whole" "$@" >"$folder/out" 2>"$folder/err" || fail "the whole run failed"
[ "$(wc -L <"$folder/err")" -le 79 ] || fail "a line of progress is longer than 79 columns"
[ "$(grep -c '^epoch 2/3  ' "$folder/err")" = 1 ] || fail "one line per epoch expected"
if grep -q '^epoch' "$folder/out"; then fail "lines of epochs belong on stderr"; fi

# A misspelt folder is none to go on from: that is told, for the run begins anew.
"$mnist" --artifact "$folder/none" "$@" --epochs 1 --resume >"$folder/out" 2>"$folder/err" || fail "$(cat "$folder/err")"
grep -qx "there is no $folder/none/config.json to go on from: a new run begins" "$folder/err" || fail "$(cat "$folder/err")"

# Without its config a run goes on with the options; with fewer epochs than it has, there is nothing to do and the config stays.
rm "$folder/none/config.json"
"$mnist" --artifact "$folder/none" "$@" --epochs 2 --resume >"$folder/out" 2>"$folder/err" || fail "$(cat "$folder/err")"
grep -qx "there is no $folder/none/config.json to go on from: the options count, with the last checkpoint" "$folder/err" || fail "$(cat "$folder/err")"
"$mnist" --artifact "$folder/none" --epochs 1 --resume --show 0 >"$folder/out" 2>"$folder/err" || fail "$(cat "$folder/err")"
grep -q '"num_epochs": 2,' "$folder/none/config.json" || fail "$(cat "$folder/none/config.json")"

# Ctrl-C and TERM: an exit status of its own, how to go on, and then the same run. It ends in its first epoch, or in a later one.
for case in INT:130 TERM:143; do
  signal=${case%:*}
  rm -rf "$folder/part"
  # A shell starts background programs with SIGINT ignored; env puts the default back.
  env --default-signal=INT "$mnist" --artifact "$folder/part" "$@" --epochs 500 >"$folder/out" 2>"$folder/err" &
  until [ -s "$folder/part/train/epoch-1/Loss.log" ]; do
    kill -0 $! 2>/dev/null || fail "ended before it was asked to: $(cat "$folder/err")"
    sleep 0.01
  done
  kill -s "$signal" $!
  wait $!
  status=$?
  [ $status = "${case#*:}" ] || fail "SIG$signal: exit status $status"
  grep -q '^interrupted at epoch [0-9]*, batch [0-9]*; go on with:$' "$folder/err" || fail "SIG$signal: $(tail -n 3 "$folder/err")"
  grep -q -- "--artifact $folder/part --epochs 500 --resume" "$folder/err" || fail "SIG$signal: the way to go on is missing"
  "$mnist" --artifact "$folder/part" --epochs 3 --resume --show 0 >"$folder/out" 2>"$folder/err" || fail "cannot go on: $(cat "$folder/err")"
  if [ ! -d "$folder/part/train/epoch-4" ]; then
    [ "$(logs "$folder/whole")" = "$(logs "$folder/part")" ] || fail "SIG$signal: another run came of it"
  fi
done

# Output that cannot be written is a failure.
if [ -c /dev/full ]; then
  for program in "$burn doctor" "$burn ops --help" "$mnist --help"; do
    $program >/dev/full 2>"$folder/err" && fail "$program >/dev/full succeeds"
    grep -q 'could not be written' "$folder/err" || fail "$program >/dev/full says $(cat "$folder/err")"
  done
  "$mnist" --artifact "$folder/full" "$@" >/dev/full 2>"$folder/err" && fail "mnist >/dev/full succeeds"
  grep -q 'could not be written' "$folder/err" || fail "mnist >/dev/full says $(tail -n 1 "$folder/err")"
fi

# Closed streams: nothing that was meant for the terminal gets into a file.
"$mnist" --artifact "$folder/closed" "$@" --epochs 1 <&- >&- 2>&-
for log in "$folder"/closed/*/epoch-1/*.log; do
  ! grep -vE '^[-+.0-9e]+,([0-9]+|final)$' "$log" || fail "$log has lines of others"
done

# The summary of the whole run has a row of each metric and split.
"$burn" report --summary "$folder/whole" >"$folder/out" 2>"$folder/err" || fail "$(cat "$folder/err")"
[ "$(awk 'NR > 3 { print $1, $2 }' "$folder/out" | tr '\n' ' ')" = "Loss train Loss valid Accuracy train Accuracy valid " ] || fail "$(cat "$folder/out")"
[ ! -e "$folder/whole/report.html" ] || fail "the summary leaves a page"
"$burn" report --summary --json "$folder/whole" >"$folder/out" 2>"$folder/err" && fail "both --summary and --json are accepted"
grep -qx 'burn report: it is --summary or --json' "$folder/err" || fail "$(cat "$folder/err")"

# Options of another run are refused, with both values; a config that was changed, too.
"$mnist" --artifact "$folder/whole" "$@" --seed 7 --resume >"$folder/out" 2>"$folder/err" && fail "another seed is accepted"
grep -q -- '--seed is 7, the run of .* has 42' "$folder/err" || fail "$(cat "$folder/err")"
sed -i 's/"seed": 42/"seed": 7/' "$folder/whole/config.json"
"$mnist" --artifact "$folder/whole" --resume --epochs 4 >"$folder/out" 2>"$folder/err" && fail "a changed config is accepted"
grep -q 'config.seed is 7, the checkpoint has 42' "$folder/err" || fail "$(cat "$folder/err")"

# Copies that the user made stay.
cp -r "$folder/whole/train/epoch-2" "$folder/whole/train/epoch-2.bak"
"$mnist" --artifact "$folder/whole" "$@" --epochs 1 >"$folder/out" 2>"$folder/err" || fail "$(cat "$folder/err")"
[ -s "$folder/whole/train/epoch-2.bak/Loss.log" ] || fail "a copy of a log is gone"
[ ! -e "$folder/whole/train/epoch-2" ] || fail "logs of the earlier run are still there"
