#!/bin/sh
# examples_test.sh BIN [quick] - the small examples: what they show holds, and the same seed gives the same numbers. Quick: they run as much
# of their code, but too short to learn, and what they have learned is not looked at; for builds with sanitizers.
bin=$1
quick=${2:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export BURN_THREADS=1 BURN_BACKEND=ndarray

fail() { echo "examples_test: $*" >&2; exit 1; }
# number KEY FILE: the value of a key in the line of the result.
number() { sed -n "s/.*\"$1\":\\([-+.0-9e]*\\).*/\\1/p" "$2" | tail -n 1; }
holds() { awk "BEGIN { exit !($1) }"; }
# What must be learned, and how long that takes: epochs or steps, and those of a quick run.
learned() { [ "$quick" = quick ] || holds "$1"; }
long() { if [ "$quick" = quick ]; then echo "$2"; else echo "$1"; fi; }
# run NAME OPTION...: into the file NAME.out.
run() {
  name=$1
  shift
  "$bin/$name" "$@" >"$name.out" 2>"$name.err" || fail "$name $*: $(cat "$name.err")"
  tail -n 1 "$name.out" | grep -q '^result: {.*}$' || fail "$name has no line of its result: $(tail -n 1 "$name.out")"
}

# The loop by hand learns digits, and has the learner's losses: order, dropout and optimizer are the same.
run custom_training_loop --train-items 512 --test-items 128 --epochs "$(long 2 1)"
run mnist --train-items 512 --test-items 128 --epochs "$(long 2 1)" --show 0
learned "$(number valid_accuracy custom_training_loop.out) > 0.6" || fail "by hand: $(cat custom_training_loop.out)"
by_hand=$(number train_loss custom_training_loop.out) by_learner=$(number train_loss mnist.out)
holds "$by_hand - $by_learner < 1e-6 && $by_learner - $by_hand < 1e-6" || fail "the loss is $by_hand by hand, $by_learner by the learner"

# A renderer of one's own is asked: a bar of 30 for each epoch, the last line by epochs, and nothing on stderr.
run custom_renderer --train-items 640 --epochs 3
[ "$(grep -c '^epoch  [123] ##############################  loss' custom_renderer.out)" = 3 ] || fail "$(cat custom_renderer.out)"
grep -q '^complete, losses: #..$' custom_renderer.out || fail "$(cat custom_renderer.out)"
[ ! -s custom_renderer.err ] || fail "the line of progress was drawn, too: $(cat custom_renderer.err)"

# Without noise and dropout the next number is nearly exact; its variance is about 900.
run modern_lstm --noise 0 --dropout 0 --epochs "$(long 20 1)"
learned "$(number valid_loss modern_lstm.out) < 1" || fail "modern_lstm: $(cat modern_lstm.out)"
run modern_lstm --noise 0 --dropout 0 --epochs "$(long 2 1)"
cp modern_lstm.out before
run modern_lstm --noise 0 --dropout 0 --epochs "$(long 2 1)"
[ "$(number valid_loss before)" = "$(number valid_loss modern_lstm.out)" ] || fail "the same seed gives another loss"
run modern_lstm --one-way --layers 1 --noise 0 --dropout 0 --epochs "$(long 20 1)"
learned "$(number valid_loss modern_lstm.out) < 20" || fail "modern_lstm one way: $(cat modern_lstm.out)"

# Records: exact in f32, to 11 bits in halves, readable by burn inspect; a model that has grown keeps its own layer.
run save_load --artifact saved
[ "$(number full save_load.out)" = 0 ] || fail "f32 is not exact: $(cat save_load.out)"
holds "$(number half save_load.out) > 0 && $(number half save_load.out) < 0.01" || fail "halves: $(cat save_load.out)"
[ "$(grep -c ' bytes  *largest difference 0$' save_load.out)" = 5 ] || fail "not all formats are exact: $(cat save_load.out)"
[ "$(number loaded save_load.out) $(number missing save_load.out)" = "8 2" ] || fail "grown: $(cat save_load.out)"
grep -q '^a model with a layer more: .*extra' save_load.out || fail "what is missing is not named: $(cat save_load.out)"
"$bin/burn" inspect saved/model.bpk | grep -q 'norm' || fail "burn inspect does not read saved/model.bpk"

# A table: the error of flats comes near the noise in their prices, and infer makes of the file what validation has seen.
run csv --artifact flats --epochs 20
holds "$(number valid_unexplained csv.out) < 0.02" || fail "csv: $(cat csv.out)"
[ "$(head -n 1 flats/houses.csv)" = area,rooms,age,distance,floor,garden,price ] || fail "the table begins with: $(head -n 1 flats/houses.csv)"
error=$(number valid_rmse csv.out)
run csv infer --artifact flats --data flats/houses.csv
holds "$(number rmse csv.out) < 1.2 * $error" || fail "infer has an error of $(number rmse csv.out), validation of $error"
[ "$(sed -n '2,6p' csv.out | wc -w)" = 10 ] || fail "no five rows are shown: $(cat csv.out)"
# A law with numbers of very different size, 5 + 3000 x - y / 1000, is met only by what is normalised; another delimiter, columns that do not count.
awk 'BEGIN { print "\"no\";\"x\";\"y; large\";\"law\""
  for (i = 0; i < 300; i++) { x = (i * 7 % 101) / 1e4; y = (i * 13 % 97) * 1e4; print i ";" x ";" y ";" 5 + 3000 * x - y / 1000 } }' >law.csv
run csv --data law.csv --delimiter ';' --first x --features 2 --target law --artifact law
holds "$(number valid_unexplained csv.out) < 0.001" || fail "csv of a law: $(cat csv.out)"
"$bin/csv" --data law.csv --first z --delimiter ';' --artifact none >out 2>err && fail "a column that is not there passes"
grep -q 'law.csv: line 1: no column "z" in the header' err || fail "$(cat err)"
"$bin/csv" infer --artifact flats >out 2>err && fail "infer without a file passes"
grep -q 'csv: give the file with --data' err || fail "$(cat err)"

# Pictures of a folder: crops and flips are the same by seed with any number of workers; a file that is not a picture is told or left out.
# It is not built where there is no burn_datasets, and has nothing to read where that is built without libpng.
if [ ! -x "$bin/image_folder" ]; then
  echo "image_folder: left out, it was not built"
elif "$bin/image_folder" --artifact pictures --items 400 --epochs "$(long 6 1)" --workers 0 >image_folder.out 2>err; then
  learned "$(number valid_accuracy image_folder.out) > 0.5" || fail "image_folder: $(cat image_folder.out)"
  [ "$(number classes image_folder.out) $(number pictures image_folder.out)" = "10 320" ] || fail "$(cat image_folder.out)"
  loss=$(number train_loss image_folder.out)
  run image_folder infer --artifact pictures --image "$(find pictures/pictures/3 -name '*.png' | sort | head -n 1)"
  [ "$quick" = quick ] || grep -q '"class":"3"' image_folder.out || fail "a digit that was learned is not known: $(cat image_folder.out)"
  options="--data pictures/pictures --artifact again --epochs $(long 6 1)"
  # shellcheck disable=SC2086
  run image_folder $options --workers 2
  [ "$(number train_loss image_folder.out)" = "$loss" ] || fail "the loss is $loss without workers, $(number train_loss image_folder.out) with two"
  # shellcheck disable=SC2086
  run image_folder $options --flip 0.5
  [ "$(number train_loss image_folder.out)" != "$loss" ] || fail "pictures are not turned"
  echo 'no picture' >pictures/pictures/3/0.png
  # shellcheck disable=SC2086
  "$bin/image_folder" $options >out 2>err && fail "a file that is not a picture passes"
  grep -q 'image_folder: .*pictures/pictures/3/0.png' err || fail "$(cat err)"
  # shellcheck disable=SC2086
  run image_folder $options --skip-bad
  [ "$(number pictures image_folder.out)" = 320 ] || fail "$(number pictures image_folder.out) pictures are left"
else
  grep -q 'libpng' err || fail "image_folder: $(cat err)"
  echo "image_folder: left out, there is no libpng"
fi

# CartPole: an untrained agent falls within seconds, one that has learned for a while does much better; the same by seed.
run dqn --steps 1 --judge 20 --artifact first
holds "$(number mean_return dqn.out) < 150" || fail "an untrained agent: $(cat dqn.out)"
run dqn --steps "$(long 12000 400)" --judge "$(long 20 2)" --artifact pole
learned "$(number mean_return dqn.out) > 100" || fail "dqn: $(tail -n 1 dqn.out)"
# What is judged and saved is the best of the evaluations, not the last: so it is at least about as good as each of them.
best=$(sed -n 's/^without exploration after [0-9]* steps: //p' dqn.out | sort -g | tail -n 1)
learned "$(number mean_return dqn.out) > 0.6 * $best" || fail "dqn has kept $(number mean_return dqn.out), the best was $best"
for kept in before after; do
  run dqn --steps "$(long 2000 300)" --judge "$(long 5 1)" --artifact short
  mv dqn.out "$kept"
done
[ "$(number mean_return before)" = "$(number mean_return after)" ] || fail "the same seed gives another agent"
run dqn play --artifact pole
learned "$(number return dqn.out) > 60" || fail "an episode of what was saved: $(tail -n 1 dqn.out)"
[ "$(wc -L <dqn.out)" -le 79 ] || fail "a line is longer than 79 columns"
"$bin/dqn" walk >out 2>err && fail "an unknown command passes"
grep -q 'dqn: the commands are train and play' err || fail "$(cat err)"
exit 0
