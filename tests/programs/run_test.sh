#!/bin/sh
# run_test.sh BIN LIBRARY - burn run with the library of the example mnist: pictures, folders and arrays, as a table, CSV and JSON; what is
# wrong is told.
bin=$1 library=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export BURN_THREADS=1 BURN_BACKEND=ndarray

fail() { echo "run_test: $*" >&2; exit 1; }
run() { "$bin/burn" run --model "$library" "$@" >out 2>err; }
# refused STATUS MESSAGE ARGUMENT...: of burn run.
refused() {
  status=$1 message=$2
  shift 2
  "$bin/burn" run "$@" >out 2>err
  [ $? = "$status" ] || fail "'$*' has another status than $status: $(cat out err)"
  grep -qF -- "$message" err || fail "'$*': $(cat err)"
}
# array SHAPE BYTES: a .npy file of f32 zeros.
array() {
  printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': $1, }"
  head -c "$2" /dev/zero
}

"$bin/mnist" --train-items 4000 --test-items 100 --epochs 2 --show 0 --artifact model >out 2>err || fail "mnist: $(cat err)"
if ! "$bin/image_folder" --items 200 --epochs 1 --artifact digits >out 2>err; then
  grep -q libpng err && { echo "skipped: there is no libpng"; exit 77; }
  fail "image_folder: $(cat err)"
fi

# A folder of pictures: the class is mostly the folder's name; the same in batches of any size, and no line of progress where nobody looks.
run --csv model digits/pictures || fail "$(cat err)"
[ "$(head -n 1 out)" = "input,class,0,1,2,3,4,5,6,7,8,9" ] || fail "the header is $(head -n 1 out)"
awk -F, 'NR > 1 { split($1, path, "/"); right += path[3] == $2; sum = 0; for (i = 3; i <= NF; i++) sum += $i
  if (NF != 12 || sum < 0.999 || sum > 1.001) wrong++ } END { exit !(NR == 201 && right > 170 && !wrong) }' out || fail "$(cat out)"
grep -qx '200 items in .* s on ndarray' err || fail "$(cat err)"
[ "$(wc -l <err)" = 1 ] || fail "progress: $(cat err)"
cp out all
run --csv --batch-size 7 model digits/pictures || fail "$(cat err)"
[ "$(cut -d, -f 1,2 out)" = "$(cut -d, -f 1,2 all)" ] || fail "batches of 7 have another outcome"

# Files one by one, in their order; what scripts read.
three=$(find digits/pictures/3 -name '*.png' | sort | head -n 1) seven=$(find digits/pictures/7 -name '*.png' | sort | head -n 1)
run model "$three" "$seven" || fail "$(cat err)"
[ "$(awk '{ print $1, $2 }' out | tr '\n' ' ')" = "input class $three 3 $seven 7 " ] || fail "$(cat out)"
run --json model "$seven" || fail "$(cat err)"
grep -q "^{\"input\":\"$seven\",\"class\":\"7\",\"share\":0\\.[0-9]*,\"shares\":\\[.*\\]}\$" out || fail "$(cat out)"

# Netpbm's files need no library: grey and colours, alone and in a folder.
mkdir -p netpbm/dark
{ printf 'P5 28 28 255\n'; head -c 784 /dev/zero; } >netpbm/dark/grey.pgm
{ printf 'P6 28 28 255\n'; head -c 2352 /dev/zero; } >netpbm/dark/colours.PPM
run --csv model netpbm/dark/grey.pgm netpbm/dark/colours.PPM netpbm || fail "$(cat err)"
[ "$(cut -d, -f 1 out | tr '\n' ' ')" = "input netpbm/dark/grey.pgm netpbm/dark/colours.PPM netpbm/dark/colours.PPM netpbm/dark/grey.pgm " ] ||
  fail "$(cat out)"
[ "$(sed 1d out | cut -d, -f 2- | sort -u | wc -l)" = 1 ] || fail "equal pictures differ: $(cat out)"

# An array has items by their indices, equal ones of equal outcome; pictures may stand beside it.
array '(2, 1, 28, 28)' 6272 >zeros.npy
run --csv model zeros.npy "$three" || fail "$(cat err)"
[ "$(cut -d, -f 1 out | tr '\n' ' ')" = "input zeros.npy[0] zeros.npy[1] $three " ] || fail "$(cat out)"
[ "$(sed -n 2p out | cut -d, -f 2-)" = "$(sed -n 3p out | cut -d, -f 2-)" ] || fail "equal items differ: $(cat out)"

# What is wrong.
array '(2, 28, 28)' 6272 >flat.npy
refused 1 "flat.npy: items of shape [28,28], mnist takes [1,28,28]" --model "$library" model flat.npy
echo "no picture" >bad.png
refused 1 "bad.png" --model "$library" model bad.png
refused 1 "model/config.json: no input; it is a .png, .jpg, .pgm, .ppm or .npy file" --model "$library" model model/config.json
refused 1 "nowhere: load nowhere/config.json: cannot open" --model "$library" nowhere zeros.npy
refused 1 "--model: ./absent.so: cannot open" --model absent.so model zeros.npy
refused 1 "is not a library of a model: it does not have burn_model_library_v0" --model "$(find "$bin/../lib" -name 'libburn.so' | head -n 1)" model zeros.npy
refused 2 "the library of the model is missing" model zeros.npy
refused 2 "there is no input" --model "$library" model
refused 2 "an artifact folder is missing"
refused 2 "it is --json or --csv" --model "$library" --json --csv model zeros.npy
refused 2 "--batch-size is at least 1" --model "$library" --batch-size 0 model zeros.npy
exit 0
