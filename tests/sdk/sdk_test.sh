#!/bin/sh
# sdk_test.sh SOURCE BUILD CMAKE COMPILER PART - one part of what an outsider does with an installed SDK (see CMakeLists.txt).
set -eu
source=$1 build=$2 cmake=$3 compiler=$4 part=$5
work=$build/tests/sdk_work
prefix=$work/prefix
unset BURN_PLUGIN_PATH BURN_PLUGIN_PATH_ONLY BURN_BACKEND CMAKE_PREFIX_PATH
export XDG_CONFIG_HOME=/nonexistent CMAKE_GENERATOR="$SDK_GENERATOR" CC="$compiler"
# Strict warnings, as a careful outsider has; and the sanitizer of the installed libraries, which their users must share.
export CFLAGS="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wdouble-promotion -Werror"
[ -z "$SDK_SANITIZE" ] || CFLAGS="$CFLAGS -fsanitize=$SDK_SANITIZE"

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

# Installs to one place and moves it to another: everything must be found from where it lies now.
install_part() {
  rm -rf "$work"
  mkdir -p "$work"
  "$cmake" --install "$build" --prefix "$work/first" >"$work/install.log" || fail "see $work/install.log"
  mv "$work/first" "$prefix"
  for file in include/burn/burn.h include/burn/plugin/plugin.h lib/libburn.so lib/cmake/Burn/BurnConfig.cmake \
    lib/pkgconfig/burn.pc share/burn/guide/backend.md share/burn/guide/ops.md share/burn/templates/backend/CMakeLists.txt \
    share/burn/bench/peer_torch.py bin/burn; do
    [ -e "$prefix/$file" ] || fail "$file is not installed"
  done
  for folder in "$source/" "$work/first"; do
    if grep -rlF "$folder" "$prefix/lib/cmake" "$prefix/lib/pkgconfig" "$prefix/share" "$prefix/include"; then
      fail "these files name $folder"
    fi
  done
  "$prefix/bin/burn" doctor --need train
  "$prefix/bin/burn" bench --stacks ndarray --rounds 1 --seconds 0.0001 --only '^add 1K$' | grep '^add 1K ' || fail "burn bench has no figure"
}

# new_folder NAME: an empty folder to work in, with `burn` in the path as the guide says.
new_folder() {
  PATH=$prefix/bin:$PATH
  rm -rf "${work:?}/$1"
  mkdir -p "$work/$1"
  cd "$work/$1"
}

# guide_part KIND: the commands of the guide page, as they stand there, one after the other; then what they left behind.
guide_part() {
  new_folder "$1"
  awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$prefix/share/burn/guide/$1.md" >commands
  [ "$(wc -l <commands)" -ge 8 ] || fail "the guide has lost its commands"
  sh -eux ./commands || fail "a command of the guide page $1.md"
  cd demo
  old='my_(decorator|kernels)|My(Decorator|Kernels)|MY_(DECORATOR|KERNELS)|reference_|REFERENCE_|Reference[A-Z ]|"reference'
  if grep -rnE --exclude-dir=b "$old" .; then
    fail "the old name is left in these lines"
  fi
  if burn new "$1" demo --dir . 2>message; then fail "burn new wrote into a full folder"; fi
  grep -q "not empty" message || fail "$(cat message)"
  BURN_PLUGIN_PATH=b burn backends | grep -q "demo/b/burn_demo.so" || fail "BURN_PLUGIN_PATH=b does not find it"
  ls b/CTestTestfile.cmake installed/lib/burn/plugins/burn_demo.so
}

# A program with pkg-config, and one with the layers through CMake.
program_part() {
  new_folder program
  cat >sum.c <<'TEXT'
#include <burn/burn.h>
#include <burn/nn.h>
#include <burn/train.h>
#include <stdio.h>

int main(void) {
  BurnDevice *device = burn_device_open(NULL);
  double value = 0;
  const BurnStatus status = burn_read_scalar(burn_sum(burn_ones(device, BURN_SHAPE(2, 3), BURN_DTYPE_F32)), &value);
  printf("%s %g\n", burn_status_message(status), value);
  burn_device_close(device);
  return 0;
}
TEXT
  cat >CMakeLists.txt <<'TEXT'
cmake_minimum_required(VERSION 3.20)
project(sum LANGUAGES C)
find_package(Burn 0.1 REQUIRED)
add_executable(sum sum.c)
target_link_libraries(sum PRIVATE Burn::train Burn::nn)
TEXT
  export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
  # shellcheck disable=SC2046,SC2086
  "$compiler" -std=c11 $CFLAGS sum.c $(pkg-config --cflags --libs burn) -Wl,-rpath,"$(pkg-config --variable=libdir burn)" -o sum
  [ "$(./sum)" = "ok 6" ] || fail "with pkg-config: $(./sum)"
  "$cmake" -B b >cmake.log || { cat cmake.log; fail "configuring"; }
  "$cmake" --build b >build.log 2>&1 || { cat build.log; fail "building"; }
  [ "$(b/sum)" = "ok 6" ] || fail "with CMake: $(b/sum)"
}

# The first program of the README with its CMakeLists.txt, as they stand there.
readme_part() {
  new_folder readme
  for block in c:mlp.c cmake:CMakeLists.txt; do
    awk -v first="\`\`\`${block%%:*}" '$0 == first && !seen { on = seen = 1; next } /^```$/ { on = 0 } on' \
      "$source/README.md" >"${block#*:}"
    [ -s "${block#*:}" ] || fail "the README has lost its ${block#*:}"
  done
  if grep -nE '.{81}' mlp.c; then fail "these lines of the README's program are wider than 80 columns"; fi
  "$cmake" -B b -DCMAKE_PREFIX_PATH="$prefix" >cmake.log 2>&1 || { cat cmake.log; fail "configuring"; }
  "$cmake" --build b >build.log 2>&1 || { cat build.log; fail "building"; }
  b/mlp | tee output
  grep -qx 'step 100: loss 0\.0[0-9]*' output || fail "the network of the README does not learn"
  [ -s mlp.mpk ] || fail "the network of the README is not saved"
}

case "$part" in
  install) install_part ;;
  backend | decorator | kernels) guide_part "$part" ;;
  program) program_part ;;
  readme) readme_part ;;
  *) fail "there is no part '$part'" ;;
esac
