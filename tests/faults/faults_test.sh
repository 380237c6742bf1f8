#!/bin/sh
# faults_test.sh PART PROGRAMS HARNESS - programs in odd surroundings; PROGRAMS is the folder with mnist and burn.
#
#   descriptors   stdin, stdout, stderr closed in all combinations: the artifacts are those of a run with all three
#   full_disk     no room on the disk of the artifacts (root), or for what a program prints: told, and resumed later
#   pipes         a pipe or a device where a file is expected: refused with the name of the file, never waited for
# shellcheck disable=SC2317 # functions are called by the name of the part
set -eu
part=$1
programs=$2
harness=$3
scratch=$(mktemp -d "${TMPDIR:-/tmp}/burn-faults-XXXXXX")
mounted=
leave() {
  [ -z "$mounted" ] || umount "$mounted" || true
  rm -rf "$scratch"
}
trap leave EXIT
cd "$scratch"
failed=0
wrong() { printf 'WRONG: %s\n' "$*"; failed=1; }
export BURN_THREADS=1 XDG_CONFIG_HOME="$scratch/config" XDG_CACHE_HOME="$scratch/cache"
unset BURN_BACKEND

# train FOLDER OPTIONS..: three epochs of four batches. Without --json it tells its progress on stderr.
train() {
  folder=$1
  shift
  "$programs/mnist" --backend 'autodiff<ndarray>' --epochs 3 --train-items 128 --test-items 32 --batch-size 32 --show 0 \
    --artifact "$folder" "$@"
}
same() { "$harness" compare "$1" "$2"; }

descriptors() {
  train base >/dev/null 2>&1
  for closed in 0 1 2 01 02 12 012; do
    status=0
    case $closed in
      0) train "without-$closed" <&- >out 2>err || status=$? ;;
      1) train "without-$closed" </dev/null >&- 2>err || status=$? ;;
      2) train "without-$closed" </dev/null >out 2>&- || status=$? ;;
      01) train "without-$closed" <&- >&- 2>err || status=$? ;;
      02) train "without-$closed" <&- >out 2>&- || status=$? ;;
      12) train "without-$closed" </dev/null >&- 2>&- || status=$? ;;
      *) train "without-$closed" <&- >&- 2>&- || status=$? ;;
    esac
    # Without stdout a program may say that its lines are lost; artifacts are right in either case.
    case $closed in *1*) ;; *) [ "$status" = 0 ] || wrong "descriptors $closed closed: exit status $status" ;; esac
    same base "without-$closed" || wrong "descriptors $closed closed: other artifacts"
  done
}

# needs_room COMMAND..: its output goes to a full disk, so it must not end well, nor by a signal.
needs_room() {
  status=0
  "$@" >/dev/full 2>err || status=$?
  if [ "$status" = 0 ] || [ "$status" -ge 126 ]; then
    wrong "'$*' with a full disk for its output: exit status $status; $(head -c 300 err)"
  fi
}

full_disk() {
  needs_room "$programs/burn" doctor
  needs_room "$programs/burn" ops
  needs_room "$programs/burn" version
  needs_room train printed
  if [ "$(id -u)" != 0 ] || ! { mkdir disk && mount -t tmpfs -o size=64k burn-faults disk 2>err; }; then
    echo "no small file system can be mounted here: that part is left out"
    return
  fi
  mounted=$scratch/disk
  train base >/dev/null 2>&1
  for room in 64k 1m 3m 5m 7m; do
    mount -o "remount,size=$room" disk
    status=0
    train disk/run >/dev/null 2>err || status=$?
    [ "$status" = 1 ] || wrong "a disk of $room: exit status $status, 1 expected"
    grep -q 'No space left on device' err || wrong "a disk of $room: no reason in: $(head -c 300 err)"
    mount -o remount,size=64m disk
    train disk/run --resume >/dev/null 2>err || wrong "a disk of $room, then a larger one: $(head -c 300 err)"
    same base disk/run || wrong "a disk of $room, then a larger one: another run"
    rm -rf disk/run
  done
}

# refused NAME STATUS COMMAND..: ends within 10 s, with this status, and names the file. STATUS any: the file is not needed.
refused() {
  name=$1
  expected=$2
  shift 2
  status=0
  timeout -s KILL 10 "$@" >out 2>&1 || status=$?
  if [ "$status" = 137 ]; then wrong "'$*' waits for $name"; return; fi
  [ "$expected" = any ] || [ "$status" = "$expected" ] || wrong "'$*': exit status $status, $expected expected; $(tail -c 300 out)"
  [ "$expected" = 0 ] || grep -q "$name" out || wrong "'$*' does not name $name: $(tail -c 300 out)"
}

# The ways in which a file is none.
pipe() { rm -rf "$1"; mkfifo "$1"; }
device() { rm -rf "$1"; ln -s /dev/zero "$1"; }

pipes() {
  mnist="$programs/mnist --epochs 1 --train-items 64 --test-items 32 --show 0 --json --artifact"
  train base >/dev/null 2>&1
  for kind in pipe device; do
    mkdir -p here config/burn data "cache/burn"
    cd here
    $kind burn.json
    refused burn.json any "$programs/burn" doctor
    # shellcheck disable=SC2086
    refused burn.json 1 $mnist out.d
    cd ..
    $kind config/burn/burn.json
    refused burn.json any "$programs/burn" doctor
    # shellcheck disable=SC2086
    refused burn.json 1 $mnist out.d
    rm -rf here config
    $kind data/train-images-idx3-ubyte
    # shellcheck disable=SC2086
    refused train-images-idx3-ubyte 1 $mnist out.d --data data
    for file in model.mpk config.json; do
      rm -rf run && cp -r base run
      $kind "run/$file"
      refused "$file" 1 "$programs/mnist" infer --artifact run --show 1
    done
    for file in model optim learner; do
      rm -rf run && cp -r base run
      $kind "run/checkpoint/$file-3.mpk"
      status=0
      timeout -s KILL 10 "$programs/mnist" --resume --epochs 3 --show 0 --json --artifact run >out 2>&1 || status=$?
      [ "$status" != 137 ] || wrong "--resume waits for $file-3.mpk, a $kind"
      # It may go back to the checkpoint before; in either case it says which one it could not read.
      grep -q 'epoch 3\|-3.mpk' out || wrong "--resume does not say that $file-3.mpk is not a file but a $kind: $(tail -c 300 out)"
    done
    # A device takes what is written.
    rm -rf run && cp -r base run
    if [ "$kind" = pipe ]; then
      pipe run/experiment.log
      refused experiment.log 1 "$programs/mnist" --resume --epochs 4 --show 0 --json --artifact run
    fi
    version=$("$programs/burn" version | sed -n 's/^burn \([^,]*\),.*/\1/p')
    $kind "cache/burn/autotune-ndarray-$version.txt"
    # shellcheck disable=SC2086
    refused autotune 0 env BURN_THREADS=2 BURN_AUTOTUNE=quick $mnist out.d
    rm -rf cache data run
  done
}

case $part in
  descriptors | full_disk | pipes) "$part" ;;
  *) echo "faults_test.sh: there is no part '$part'" >&2 && exit 2 ;;
esac
exit "$failed"
