#!/bin/sh
# examples_usage_test.sh BIN - what every example says to --help, to wrong options and to data that is not there: one line with the program's
# name and the reason, exit status 2 for wrong usage and 1 for what failed. Programs that were not built are left out.
bin=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export BURN_THREADS=1 BURN_BACKEND=ndarray
echo short >short.txt
seq 100 >long.txt
failed=0
wrong() { printf 'WRONG: %s\n' "$*" >&2; failed=1; }

programs="csv custom_renderer custom_training_loop dqn gpt gpt2 image_classification image_folder mnist modern_lstm object_detection quantize regression
  save_load seq2seq text_classification text_encoder text_generation voice_activity wgan xor"
for name in $programs; do
  [ -x "$bin/$name" ] || { echo "$name: left out, it was not built"; continue; }
  "$bin/$name" --help >out 2>err || wrong "$name --help: exit status $?"
  { head -n 1 out | grep -q "^usage: $name" && [ ! -s err ]; } || wrong "$name --help: $(head -n 1 out err)"
  grep -vE '^( +--[a-z-]+( [A-Z]+)? +[^ ]|usage: |  +[a-z]|options \(defaults in parentheses\):$|$)' out && wrong "$name --help: the lines above are not options"
  "$bin/$name" --nosuch >out 2>err
  [ $? = 2 ] || wrong "$name --nosuch: not exit status 2"
  grep -q "$name: there is no option '--nosuch'" err || wrong "$name --nosuch: $(cat err)"
done

# Output that cannot be written is a failure, of help and of a run, and is told once.
not_written() {
  "$@" >/dev/full 2>err
  [ $? = 1 ] || wrong "$* with a full stdout: not exit status 1: $(cat err)"
  [ "$(grep -c '^error: the output could not be written' err)" = 1 ] || wrong "$* with a full stdout: $(cat err)"
}
if [ -c /dev/full ]; then
  for name in $programs; do
    [ ! -x "$bin/$name" ] || not_written "$bin/$name" --help
  done
  not_written "$bin/xor" --steps 1
  not_written "$bin/save_load" --steps 1
  not_written "$bin/gpt" long.txt 1
fi

# STATUS|the program and its arguments|a part of what it says
while IFS='|' read -r status command said; do
  name=${command%% *}
  [ -x "$bin/$name" ] || continue
  # shellcheck disable=SC2086 # words
  "$bin"/$command >out 2>err
  found=$?
  [ "$found" = "$status" ] || wrong "$command: exit status $found instead of $status: $(cat out err)"
  grep -qF -- "$said" err || wrong "$command: no '$said' in: $(cat err)"
done <<'END'
1|mnist --data nowhere|train-images-idx3-ubyte.gz is in folder nowhere
1|mnist infer --artifact nowhere|nowhere/config.json: cannot open
2|mnist --epochs many|--epochs needs an integer, not 'many'
2|mnist --epochs|--epochs needs an integer
1|custom_training_loop --data nowhere|is in folder nowhere
2|custom_training_loop --train-items 0|--epochs, --train-items and --test-items are at least 1
1|custom_renderer --train-items 0|has no items
2|regression --epochs 0|--epochs and --hidden are at least 1
2|xor --steps 0|--steps is at least 1
2|seq2seq --steps 0|--steps is at least 1
2|seq2seq --batch-size 0|--batch-size 0 is not within
2|modern_lstm --items 0|are at least 1
1|save_load --artifact short.txt|short.txt
1|csv --data nowhere|nowhere: cannot open
2|csv --delimiter ab|--delimiter is one character
1|image_folder --data nowhere|no folder nowhere
2|image_folder infer|give the picture with --image
2|dqn --steps 0|--steps, --hidden and --judge are at least 1
2|dqn --replay 10|--replay at least --batch-size
1|dqn --artifact short.txt|short.txt
1|dqn play --artifact nowhere|nowhere/model.mpk: cannot open
1|wgan --data nowhere|is in folder nowhere
1|wgan --artifact short.txt --items 64 --steps 1000000|short.txt
1|wgan --evaluate --judge nowhere|nowhere/config.json: cannot open
2|text_generation|give the text with --data FILE
1|text_generation --data short.txt|too short for windows
1|text_classification --data nowhere|nowhere/train_subset.csv.gz: cannot open
2|text_classification infer|give the text with --text
2|gpt|usage: gpt TEXT [STEPS]
2|gpt long.txt WORD|gpt: STEPS is an integer of at least 1, not 'WORD'
1|gpt nowhere|gpt: nowhere: cannot open
1|gpt short.txt|gpt: short.txt: 6 bytes, more than 128 expected
2|gpt long.txt 0|gpt: STEPS is an integer of at least 1, not '0'
2|gpt2|give --data FILE or --synthetic, one of them
2|gpt2 --synthetic --length 1000000000000|--batch times --length is at most 2147483647
1|gpt2 --data nowhere|gpt2: nowhere: cannot open
2|quantize|digits or text expected
1|quantize text --text nowhere|quantize: nowhere: cannot open
1|quantize text --text short.txt|short.txt: 6 bytes
1|quantize digits --artifact nowhere|nowhere/config.json: cannot open
2|image_classification|give a picture
1|image_classification --model nowhere x.png|nowhere: cannot open
2|object_detection --model nowhere|give the picture with --image
2|voice_activity|give a sound
1|voice_activity --model nowhere x.wav|x.wav: cannot open
2|text_encoder|give the model with --model
END

# A default with a line break stays on its line.
if [ -x "$bin/text_generation" ]; then
  "$bin/text_generation" --help | grep -qF -- '--prompt TEXT          what a sample begins with (\n)' || wrong "$("$bin/text_generation" --help)"
fi
exit $failed
