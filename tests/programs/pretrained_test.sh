#!/bin/sh
# pretrained_test.sh BIN MODELS - the examples with networks that others have trained, on what is stored beside these: scores that PyTorch and
# ONNX Runtime gave, stretches of speech by Silero's own program, boxes by the definition. 77: there are no models.
bin=$1 models=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export BURN_THREADS=1 BURN_BACKEND=ndarray

fail() { echo "pretrained_test: $*" >&2; exit 1; }
# number KEY FILE: the value of a key in the line of the result.
number() { sed -n "s/.*\"$1\":\\([-+.0-9e]*\\).*/\\1/p" "$2" | tail -n 1; }
# run NAME OPTION...: into the file NAME.out.
run() {
  name=$1
  shift
  "$bin/$name" "$@" >"$name.out" 2>"$name.err" || fail "$name $*: $(cat "$name.err")"
  tail -n 1 "$name.out" | grep -q '^result: {.*}$' || fail "$name has no line of its result: $(tail -n 1 "$name.out")"
}
# has NAME FILE...: whether a program was built and its files are there; says so if not.
has() {
  name=$1
  shift
  [ -x "$bin/$name" ] || { echo "$name: left out, it was not built"; return 1; }
  "$bin/$name" --help | grep -q '^usage: ' || fail "$name --help: $("$bin/$name" --help)"
  "$bin/$name" >out 2>err && fail "$name without options passes"
  grep -q "^$name: give " err || fail "$name without options: $(cat err)"
  for file in "$@"; do
    [ -f "$models/$file" ] || { echo "$name: left out, there is no $models/$file"; return 1; }
  done
  ran=yes
}
# near A B TOLERANCE: whether two arrays differ by no more; both have other names in other files.
near() {
  "$bin/burn" weights diff "$1" "$2" >diff.out 2>&1
  grep -q '^1 in both' diff.out || fail "$1: $(cat diff.out)"
  apart=$(sed -n 's/^differs .*: by up to \(.*\)$/\1/p' diff.out)
  awk "BEGIN { exit !(${apart:-0} <= $3) }" || fail "$1 is $apart from $2"
}
# wrong NAME MESSAGE OPTION...: a refusal.
wrong() {
  name=$1 message=$2
  shift 2
  "$bin/$name" "$@" >out 2>err && fail "$name $* passes"
  grep -q "$message" err || fail "$name $*: $(cat err)"
}
ran=no

# -- classification: the logits of PyTorch, and pictures as files
resnet=pytorch/resnet20-cifar10
weights="$models/$resnet/resnet20.th"
if ! has image_classification $resnet/resnet20.th $resnet/input_0.npy $resnet/output_0.npy; then
  :
elif ! "$bin/image_classification" --model "$weights" "$models/$resnet/input_0.npy" >out 2>err && grep -q PCRE2 err; then
  echo "image_classification: left out, this build has no PCRE2 for renames"
else
  run image_classification --model "$weights" --output scores.npy "$models/$resnet/input_0.npy"
  near scores.npy "$models/$resnet/output_0.npy" 1e-4
  # the largest of softmax(output_0)
  for line in 'picture 0:  frog 99.6 %' 'picture 1:  frog 72.1 %' 'picture 2:  bird 50.9 %' 'picture 3:  bird 88.9 %'; do
    grep -q "^$line" image_classification.out || fail "no '$line' in $(cat image_classification.out)"
  done
  { printf 'P6 40 32 255\n' && head -c 3840 /dev/zero; } >black.ppm
  run image_classification --model "$weights" --top 1 black.ppm black.ppm "$models/$resnet/input_0.npy"
  [ "$(number pictures image_classification.out)" = 6 ] || fail "$(cat image_classification.out)"
  [ "$(sed -n '1s/picture 0//p' image_classification.out)" = "$(sed -n '2s/picture 1//p' image_classification.out)" ] ||
    fail "a picture is not what it was: $(cat image_classification.out)"
  wrong image_classification 'black.ppm' --model black.ppm black.ppm
  wrong image_classification 'nowhere.png' --model "$weights" nowhere.png
  wrong image_classification 'not within 1..10' --model "$weights" --top 11 black.ppm
fi

# -- speech: each window as ONNX Runtime has it; stretches by get_speech_timestamps of silero-vad 5.1 on those
silero=onnx/silero-vad-16k
if has voice_activity $silero/model.onnx $silero/speech_16k.wav $silero/speech_probabilities.npy; then
  run voice_activity --model "$models/$silero/model.onnx" --output speech.npy "$models/$silero/speech_16k.wav"
  near speech.npy "$models/$silero/speech_probabilities.npy" 1e-4
  # stretches THRESHOLD BEGIN END...: in seconds.
  stretches() {
    threshold=$1
    shift
    run voice_activity --model "$models/$silero/model.onnx" --threshold "$threshold" "$models/$silero/speech_16k.wav"
    sed -n 's/^speech from *\([0-9.]*\) s to *\([0-9.]*\) s$/\1 \2/p' voice_activity.out | tr '\n' ' ' >found
    [ "$(cat found)" = "$* " ] || fail "above $threshold speech is at $(cat found), expected $*"
  }
  stretches 0.5 0.482 1.566 1.698 2.974 3.682 5.726 6.146 10.334 10.498 12.958
  stretches 0.3 0.482 3.006 3.682 5.726 6.146 10.366 10.498 12.958
  stretches 0.9 0.514 1.534 1.858 2.942 3.682 5.726 6.178 10.270 10.530 12.958
  printf 'RIFF' >cut.wav
  wrong voice_activity 'cut.wav' --model "$models/$silero/model.onnx" cut.wav
fi

# -- texts: cosines by the tokenizers package and ONNX Runtime 1.30, means of the first output; sentences by ONNX Runtime. The encoder is a toy that
# was never trained, and has no tokenizer: its 99 tokens are letters here.
bert=onnx/bert-toy/model.onnx splitter=onnx/byte-bilstm/model.onnx
if has text_encoder $bert $splitter; then
  {
    printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]'
    for start in '' '##'; do
      for letter in a b c d e f g h i j k l m n o p q r s t u v w x y z; do echo "$start$letter"; done
    done
  } >vocab.txt
  # cosines POOLING EXPECTED...: of each text with the first, nearest first.
  cosines() {
    pooling=$1
    shift
    run text_encoder --model "$models/$bert" --tokenizer vocab.txt --pooling "$pooling" --output vectors.npy \
      'the rain is over' 'a dog barks' '' 'the rain is over' 'the rain is gone'
    sed -n 's/^ *\([0-9.]*\)  .*$/\1/p' text_encoder.out | awk -v want="$*" '
      BEGIN { n = split(want, w, " ") }
      { d = $1 - w[NR]; if (d > 0.0001 || d < -0.0001) bad = 1 }
      END { exit bad || NR != n }' || fail "cosines of $pooling are not $*: $(cat text_encoder.out)"
  }
  cosines mean 1 0.98932 0.97250 0.82779
  if [ "$(number tokens text_encoder.out)" != 58 ] || [ "$(number width text_encoder.out)" != 99 ]; then
    fail "$(cat text_encoder.out)"
  fi
  sed -n 4p text_encoder.out | grep -q '^ 0.8278  $' || fail "the last is not the empty text: $(cat text_encoder.out)"
  "$bin/burn" weights vectors.npy | grep -q '5 *x *99\|\[5, *99\]' || fail "vectors.npy: $("$bin/burn" weights vectors.npy)"
  cosines first 1 1 0.99999 0.99993
  run text_encoder --split --model "$models/$splitter" \
    'Das ist ein Satz. Hier ist z.B. noch einer und Dr. Weber wohnt hier seit 3.5 Jahren! Ist das Schluss? Ja.'
  printf '%s\n' 'Das ist ein Satz.' 'Hier ist z.B.' 'noch einer und Dr.' 'Weber wohnt hier seit 3.5' 'Jahren!' 'Ist das Schluss? Ja.' >sentences
  grep -v '^result' text_encoder.out | cmp -s - sentences || fail "other sentences: $(cat text_encoder.out)"
  wrong text_encoder 'not i64 or i32' --model "$models/$splitter" --tokenizer vocab.txt a b
  wrong text_encoder 'bytes (u8) expected' --split --model "$models/$bert" a
  wrong text_encoder 'not mean or first' --model x --tokenizer x --pooling last a b
  wrong text_encoder 'one or more to compare' --model x --tokenizer x a
  wrong text_encoder 'nowhere.json' --model "$models/$bert" --tokenizer nowhere.json a b
  wrong text_encoder 'nothing' --model "$models/$bert" --tokenizer vocab.txt --output-name nothing a b
fi

# -- boxes: those of the stored outputs, by the formulas of the networks' authors
hopper=onnx/grace_hopper_224.ppm
# box LABEL SCORE LEFT TOP RIGHT BOTTOM: one of those found is within 1 % and 1 pixel.
box() {
  sed -n 's/^{"event":"box",//p' object_detection.json | tr -c 'a-z0-9.\n' ' ' | awk -v want="$*" '
    function far(a, b, by) { return a - b > by || b - a > by }
    BEGIN { split(want, w, " ") }
    $2 == w[1] && !far($4, w[2], 0.01) && !far($6, w[3], 1) && !far($8, w[4], 1) && !far($10, w[5], 1) && !far($12, w[6], 1) { good = 1 }
    END { exit !good }' || fail "no $* in $(cat object_detection.json)"
}
# detect COMMAND FILE: the boxes as JSON, the picture as COMMAND.png.
detect() {
  "$bin/object_detection" "$1" --model "$models/$2" --image "$models/$hopper" --output "$1.png" --json >object_detection.json 2>err ||
    fail "object_detection $1: $(cat err)"
}
if has object_detection onnx/ultraface-rfb-320/model.onnx onnx/fastestdet/model.onnx $hopper; then
  if ! "$bin/object_detection" faces --model "$models/onnx/ultraface-rfb-320/model.onnx" --image "$models/$hopper" >out 2>err && grep -q libpng err; then
    echo "object_detection: left out, there is no libpng"
  else
    detect faces onnx/ultraface-rfb-320/model.onnx
    box face 1.000 72.7 31.4 156.4 122.3
    [ "$(number found object_detection.json)" = 1 ] || fail "$(cat object_detection.json)"
    detect objects onnx/fastestdet/model.onnx
    box person 0.895 7.1 6.4 224 223.8
    box tie 0.847 101.0 170.4 126.0 210.9
    [ "$(number found object_detection.json)" = 2 ] || fail "$(cat object_detection.json)"
    # The picture has boxes now: another one is found on it, or none, but it is a PNG of the same size.
    head -c 8 faces.png | grep -q PNG || fail "faces.png is not a PNG"
    run object_detection faces --model "$models/onnx/ultraface-rfb-320/model.onnx" --image faces.png --output again.png
    cmp -s faces.png objects.png && fail "both pictures are the same"
    wrong object_detection 'not between 0 and 1' faces --model x --image x --threshold 1
    wrong object_detection 'the commands are faces and objects' cats --model x --image x
  fi
fi
[ $ran = yes ] || exit 77
exit 0
