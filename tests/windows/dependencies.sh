#!/bin/sh
# dependencies.sh FOLDER - cJSON, msgpack-c and cmocka for Windows, which Debian has as sources only: fetched with apt (which
# checks their signatures), cross-built as static libraries into FOLDER/prefix. Done once; FOLDER/prefix/complete says so.
#
# BURN_WINDOWS_DEPS: a folder to take instead of the network. Either an installed prefix (it has lib/pkgconfig) or the unpacked
# sources, in folders called cjson*, msgpack-c* and cmocka*. Exit status 75: they cannot be had here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
prefix=$folder/prefix
packages="cjson msgpack-c cmocka"

say() { printf '%s\n' "dev: $*" >&2; }
die() { say "$*"; exit 1; }

if [ -n "${BURN_WINDOWS_DEPS:-}" ] && [ ! -d "$BURN_WINDOWS_DEPS" ]; then
  die "BURN_WINDOWS_DEPS: there is no folder '$BURN_WINDOWS_DEPS'"
fi
# shellcheck disable=SC2086
if [ -d "${BURN_WINDOWS_DEPS:-/nowhere}/lib/pkgconfig" ]; then
  rm -rf "$prefix"
  ln -s "$(cd "$BURN_WINDOWS_DEPS" && pwd)" "$prefix"
  exit 0
fi
[ ! -f "$prefix/complete" ] || exit 0
rm -rf "$prefix"

# Lists and downloads of our own: nothing of the system's apt is touched, and no rights are needed.
apt_get() {
  apt-get -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$folder/lists" \
    -o Dir::Cache="$folder/cache" -o Debug::NoLocking=1 "$@" >>"$folder/fetch.log" 2>&1
}

fetch_sources() {
  command -v apt-get >/dev/null 2>&1 || die "the sources of $packages come from apt-get, which is missing; unpack them into a \
folder and name it: BURN_WINDOWS_DEPS=folder ./dev test-windows"
  say "fetching the sources of $packages"
  mkdir -p "$folder/sources" "$folder/lists/partial" "$folder/cache/archives/partial"
  . /etc/os-release
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${BURN_DEBIAN_MIRROR:-http://deb.debian.org/debian} \
${VERSION_CODENAME:-bookworm} main" >"$folder/sources.list"
  : >"$folder/fetch.log"
  # shellcheck disable=SC2086
  if ! { apt_get update && cd "$folder/sources" && apt_get source $packages; }; then
    tail -n 5 "$folder/fetch.log" >&2
    say "cannot fetch the sources of $packages. Without a network, run on another machine: apt-get source $packages; copy the \
folders here, then: BURN_WINDOWS_DEPS=folder ./dev test-windows"
    exit 75 # nothing is wrong with the code
  fi
  rm -rf "$folder/lists" "$folder/cache"
}

# build NAME OPTIONS...: one library from its folder of sources.
build() {
  name=$1
  shift
  source=""
  for candidate in "$sources/$name"*/; do
    if [ -f "$candidate/CMakeLists.txt" ]; then source=$candidate; fi
  done
  [ -n "$source" ] || die "there is no folder $name* with sources in $sources"
  log=$folder/$name.log
  if ! { cmake -S "$source" -B "$folder/$name" -DCMAKE_TOOLCHAIN_FILE="$here/mingw.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POLICY_DEFAULT_CMP0077=NEW "$@" &&
    cmake --build "$folder/$name" -j "${JOBS:-2}" && cmake --install "$folder/$name"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    die "$name does not build for Windows; the whole output is in $log"
  fi
  rm -rf "${folder:?}/$name"
}

sources=${BURN_WINDOWS_DEPS:-$folder/sources}
[ -n "${BURN_WINDOWS_DEPS:-}" ] || fetch_sources
sources=$(cd "$sources" && pwd)
say "building $packages for Windows"
# Hidden: its functions must not be exported again by the libraries that they are linked into. Its own choice of flags asks for
# gcc's stack protector, which is a DLL here.
build cjson -DBUILD_SHARED_LIBS=OFF -DENABLE_CJSON_TEST=OFF -DENABLE_CUSTOM_COMPILER_FLAGS=OFF \
  -DCMAKE_C_FLAGS=-DCJSON_HIDE_SYMBOLS
build msgpack-c -DMSGPACK_BUILD_TESTS=OFF -DMSGPACK_BUILD_EXAMPLES=OFF -DBUILD_SHARED_LIBS=OFF
build cmocka -DWITH_STATIC_LIB=ON -DWITH_EXAMPLES=OFF -DUNIT_TESTING=OFF
# cmocka always makes a DLL; the static library alone is wanted, so that test programs need no file of it.
if [ -f "$prefix/lib/libcmocka-static.a" ]; then
  mv "$prefix/lib/libcmocka-static.a" "$prefix/lib/libcmocka.a"
  rm -f "$prefix/lib/libcmocka.dll.a" "$prefix/bin/cmocka.dll"
fi
for library in libcjson.a libcmocka.a; do
  [ -f "$prefix/lib/$library" ] || die "the build of the dependencies left no $prefix/lib/$library"
done
touch "$prefix/complete"
