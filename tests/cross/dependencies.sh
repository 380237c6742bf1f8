#!/bin/sh
# dependencies.sh ARCHITECTURE FOLDER - the libraries that Burn is built with, for another processor (arm64, armhf): Debian's packages, fetched
# with apt, which checks their signatures, and unpacked into FOLDER/prefix. Done once; FOLDER/prefix/complete says so. The C library and the
# compiler's come with the cross compiler.
#
# BURN_CROSS_DEPS: a folder with such packages (*_ARCHITECTURE.deb), to take instead of the network. Exit status 75: they cannot be had here.
set -eu
architecture=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
prefix=$folder/prefix
packages="zlib1g-dev libcjson-dev libmsgpack-dev libpcre2-dev libutf8proc-dev libcmocka-dev"

say() { printf '%s\n' "dev: $*" >&2; }
die() { say "$*"; exit 1; }

[ ! -f "$prefix/complete" ] || exit 0
rm -rf "$prefix"
mkdir -p "$prefix"

# Lists and downloads of our own: nothing of the system's apt is touched, and no rights are needed. Nothing counts as installed, so that what
# the packages depend on comes, too.
apt_get() {
  apt-get -o APT::Architecture="$architecture" -o APT::Architectures::="$architecture" -o Dir::Etc::sourcelist="$folder/sources.list" \
    -o Dir::Etc::sourceparts=- -o Dir::State="$folder/state" -o Dir::State::status="$folder/state/status" -o Dir::Cache="$folder/cache" \
    -o Debug::NoLocking=1 "$@" >>"$folder/fetch.log" 2>&1
}

fetch() {
  command -v apt-get >/dev/null 2>&1 || die "the libraries for $architecture come from apt-get, which is missing; put Debian's packages of \
$packages and of what they need into a folder and name it: BURN_CROSS_DEPS=folder ./dev test-arm"
  say "fetching libraries for $architecture"
  mkdir -p "$folder/state/lists/partial" "$folder/cache/archives/partial"
  : >"$folder/state/status"
  : >"$folder/fetch.log"
  . /etc/os-release
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${BURN_DEBIAN_MIRROR:-http://deb.debian.org/debian} \
${VERSION_CODENAME:-bookworm} main" >"$folder/sources.list"
  # shellcheck disable=SC2086
  if ! { apt_get update && apt_get install -y --no-install-recommends --download-only $packages; }; then
    tail -n 5 "$folder/fetch.log" >&2
    say "cannot fetch $packages for $architecture. Without a network, copy the packages into a folder: BURN_CROSS_DEPS=folder ./dev test-arm"
    exit 75 # nothing is wrong with the code
  fi
}

debs=${BURN_CROSS_DEPS:-$folder/cache/archives}
[ -n "${BURN_CROSS_DEPS:-}" ] || fetch
[ -d "$debs" ] || die "BURN_CROSS_DEPS: there is no folder '$debs'"
for deb in "$debs"/*_"$architecture".deb; do
  case "${deb##*/}" in
    libc6* | libcrypt* | libgcc* | libstdc++* | linux-libc-dev* | gcc-*) ;; # those of the cross compiler
    *) dpkg -x "$deb" "$prefix" || die "'$deb' cannot be unpacked" ;;
  esac
done
# Links from / are into the prefix here.
find "$prefix" -type l -lname '/*' | while read -r link; do ln -sfn "$prefix$(readlink "$link")" "$link"; done
for module in zlib libcjson libpcre2-8 libutf8proc cmocka; do
  found=$(find "$prefix" -name "$module.pc")
  [ -n "$found" ] || die "there is no package with $module in $debs"
done
rm -rf "$folder/state" "$folder/cache"
touch "$prefix/complete"
