#!/bin/sh
# packages.sh - what ./dev package try does in the bare system: the packages are built there, or those in /root/files are taken; installed
# by apt, used as their users do, removed. fresh.sh has made the system. Every step says how long it took.
set -eu
cd "$(dirname "$0")/../.."
export DEBIAN_FRONTEND=noninteractive
debs=/root/files
work=/tmp/packages
mkdir -p $work

# shellcheck disable=SC1091
name="packages $(. /etc/os-release && echo "$VERSION_CODENAME")"
# shellcheck source-path=SCRIPTDIR/../.. source=tests/fresh/steps.sh
. tests/fresh/steps.sh

apt() { apt-get -y -q --no-install-recommends "$@"; }
everything() { find / -xdev \( -path /proc -o -path /sys -o -path /root -o -path /tmp -o -path /var \) -prune -o -print | sort; }

# What control.in asks for, but libtorch, which is large.
build() {
  apt install dpkg-dev lintian xz-utils
  mkdir -p $work/wanted/debian
  sed 's/@MAINTAINER@/a <a@b.c>/' packaging/debian/control.in >$work/wanted/debian/control
  (cd $work/wanted && apt build-dep -P pkg.burn-c.notorch ./)
  DEB_BUILD_PROFILES=pkg.burn-c.notorch ./dev package deb
}
has_debs() { ls "$debs"/*.deb >/dev/null 2>&1; }

# readme_block LANGUAGE: the first block of code in it.
readme_block() { awk -v begin="\`\`\`$1" '$0 == begin { on = 1; next } /^```$/ { if (on) exit } on' README.md; }
# A first program of a user, by both ways of finding the libraries.
programs() {
  mkdir -p $work/program
  readme_block c >$work/program/mlp.c
  readme_block cmake >$work/program/CMakeLists.txt
  cd $work/program
  # shellcheck disable=SC2046
  cc -std=c11 -Wall -Wextra -Werror mlp.c -o mlp $(pkg-config --cflags --libs burn)
  ./mlp >$work/pkg-config.txt
  cmake -B b
  cmake --build b
  ./b/mlp >$work/cmake.txt
}
# A plugin of a user, from the template, into a package's folder.
plugin() {
  mkdir -p $work/plugin
  cd $work/plugin
  burn new backend demo
  cmake -B b
  cmake --build b
  BURN_PLUGIN_PATH=b burn conform demo --op matmul
}

# The commands that a build without protobuf-c, utf8proc or libpng lacks.
commands() {
  burn onnx info tests/fuzz/corpus/onnx/gemm
  burn import tests/fuzz/corpus/onnx/gemm --sizes n=2 --out $work/gemm
  burn run --help
  burn tokenize --help
}

step "apt-get update" apt-get -q update
if ! has_debs; then
  step "packages built here" build
  debs=$PWD/build-package/out/deb
fi
# The lists of what is needed come first: what they leave behind is none of our packages'.
step "compiler, CMake, man" apt install gcc g++ libc6-dev make cmake pkgconf man-db
everything >$work/before
step "libraries and the plugins that they recommend, by apt" \
  apt install "$debs"/libburn0_*.deb "$debs"/burn-plugin-ndarray_*.deb "$debs"/burn-plugin-autodiff_*.deb "$debs"/burn-plugin-fusion_*.deb \
  "$debs"/burn-tools_*.deb "$debs"/libburn-datasets0_*.deb "$debs"/libburn-import0_*.deb # the command needs the last two
step "burn doctor --need train" burn doctor --need train
has $work/step.log "autodiff<ndarray>"
step "burn backends" burn backends
has $work/step.log "/burn/plugins/burn_ndarray.so"
burn version | grep -qF "burn $(sed -n 's/^project(burn VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)," || fail "burn version: $(burn version)"
# shellcheck disable=SC2046
step "all other packages" apt install $(find "$debs" -name '*.deb' ! -name '*-dbgsym_*')
step "burn conform 'autodiff<fusion<ndarray>>'" burn conform 'autodiff<fusion<ndarray>>' --op matmul,relu,sum
step "burn onnx, import, run and tokenize" commands
has $work/step.log "usage: burn tokenize"
for page in burn burn-conform burn-plugins; do man -w "$page" >/dev/null || fail "there is no manual page $page"; done
step "a program by pkg-config and by CMake trains" programs
for file in pkg-config.txt cmake.txt; do has $work/$file "step 100: loss 0.0"; done
step "a plugin from the template" plugin

step "burn-plugin-autodiff removed" apt remove burn-plugin-autodiff
if (cd $work/program && ./mlp) >$work/without.txt 2>&1; then fail "a program trains without autodiff"; fi
has $work/without.txt "autodiff"
say "it says: $(head -n 2 $work/without.txt | tr '\n' ' ')"
if burn doctor --need train >$work/without.txt 2>&1; then fail "burn doctor --need train is content without autodiff"; fi

dpkg-query -W -f '${Package}\n' | grep -E '^(lib)?burn' >$work/ours
# shellcheck disable=SC2046
step "all purged" apt purge $(cat $work/ours)
step "what came with them purged" apt autoremove --purge
everything >$work/after
grep -E '/(lib)?burn[^/]*(/|$)' $work/after | grep -vFxf $work/before >$work/left || true
[ ! -s $work/left ] || { cat $work/left >&2; fail "these files stay"; }
if dpkg-query -W -f '${Package} ${db:Status-Status}\n' | grep -E '^(lib)?burn'; then fail "these packages stay"; fi
say "nothing of $(wc -l <$work/ours) packages stays"
