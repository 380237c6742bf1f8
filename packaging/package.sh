#!/bin/sh
# package.sh [deb|source|windows|check|try SUITE..] - what ./dev package does; see README.md. Everything is made of HEAD, below build-package/.
set -eu
cd "$(dirname "$0")/.."
tree=$PWD
work=$tree/build-package
out=$work/out

say() { printf '%s\n' "package: $*" >&2; }
die() { say "$*"; exit 1; }

# The one place of the version.
version=$(sed -n 's/^project(burn VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
[ -n "$version" ] || die "CMakeLists.txt has no line 'project(burn VERSION ..'"
name=burn-$version
jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}

# The time that all files get: that of the commit, unless SOURCE_DATE_EPOCH says another. An unpacked archive has it in its files.
is_clone() { [ -e .git ] && git rev-parse HEAD >/dev/null 2>&1; }
commit=$(is_clone && git rev-parse HEAD) || commit="" # read once: a commit that is made during the builds is in none of them
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  if is_clone; then SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit"); else SOURCE_DATE_EPOCH=$(stat -c %Y CMakeLists.txt); fi
fi
export SOURCE_DATE_EPOCH
maintainer="${DEBFULLNAME:-The Burn in C authors} <${DEBEMAIL:-burn@packages.example.org}>"

# source_archive FOLDER: burn-VERSION.tar.xz, the same bytes from every clone of a commit.
source_archive() {
  is_clone || die "the source archive is made by git from a commit, and this is no clone"
  [ -z "$(git status --porcelain)" ] || say "changes that are not committed are not in it"
  mkdir -p "$1"
  git archive --format=tar --prefix="$name/" --mtime="@$SOURCE_DATE_EPOCH" "$commit" 2>/dev/null >"$1/$name.tar" ||
    git archive --format=tar --prefix="$name/" "$commit" >"$1/$name.tar" # before git 2.40: the time of the commit
  xz -6 -T1 -f "$1/$name.tar"
}

# debian_folder TREE: packaging/debian as dpkg wants it, in the unpacked archive TREE, of whose commit it is.
debian_folder() {
  cp -r "$1/packaging/debian" "$1/debian"
  date=$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
  for file in control changelog; do
    sed -e "s/@VERSION@/$version/g" -e "s/@MAINTAINER@/$maintainer/g" -e "s/@DATE@/$date/g" "$1/debian/$file.in" >"$1/debian/$file"
    rm "$1/debian/$file.in"
  done
  chmod -R u=rwX,go=rX "$1/debian" # whatever mask of files this runs under
}

# profiles: that without libtorch, where it is not installed.
profiles() {
  if dpkg-query -W -f '${db:Status-Status}' libtorch-dev 2>/dev/null | grep -q '^installed$'; then return; fi
  say "libtorch-dev is not installed: without burn-plugin-torch"
  echo pkg.burn-c.notorch
}

# build_packages FOLDER: unpacks the source archive there, builds all packages, leaves them and the .dsc beside it.
build_packages() {
  rm -rf "${1:?}"
  mkdir -p "$1"
  source_archive "$1"
  tar -C "$1" -xf "$1/$name.tar.xz"
  debian_folder "$1/$name"
  mv "$1/$name.tar.xz" "$1/burn-c_$version.orig.tar.xz"
  started=$(date +%s)
  (cd "$1/$name" && DEB_BUILD_OPTIONS="parallel=$jobs ${DEB_BUILD_OPTIONS:-}" DEB_BUILD_PROFILES="${DEB_BUILD_PROFILES-$(profiles)}" \
    dpkg-buildpackage -us -uc -F) >"$1/build.log" 2>&1 || {
    tail -n 30 "$1/build.log" >&2
    die "building failed; the whole output is in $1/build.log"
  }
  say "built $(find "$1" -maxdepth 1 -name '*.deb' | wc -l) packages in $(($(date +%s) - started)) s"
}

need() {
  for tool in "$@"; do
    command -v "$tool" >/dev/null 2>&1 || die "there is no $tool: ./dev setup package installs what is needed"
  done
}

# What lintian has to say about all of them, down to warnings.
look_at() {
  command -v lintian >/dev/null 2>&1 || { say "there is no lintian: the packages are not looked at"; return; }
  lintian --allow-root --fail-on error,warning "$1"/*.changes >"$work/lintian.log" 2>&1 || {
    cat "$work/lintian.log" >&2
    die "lintian finds something"
  }
  say "lintian finds no error and no warning"
}

# give_out FOLDER: the packages of it become those of out/deb, which ./dev package try takes.
give_out() {
  rm -rf "$out/deb"
  mkdir -p "$out/deb"
  find "$1" -maxdepth 1 -type f ! -name build.log -exec cp -p {} "$out/deb" \;
  say "see $out/deb"
}

make_debs() {
  need dpkg-buildpackage dh
  build_packages "$work/deb"
  look_at "$work/deb"
  give_out "$work/deb"
}

make_source() {
  need git xz
  source_archive "$out"
  say "see $out/$name.tar.xz"
}

# Two builds that share nothing: other folders, names of users' homes, languages, time zones, masks of files, and caches of a compiler.
# shellcheck disable=SC2030,SC2031 # each in a subshell of its own
check() {
  need dpkg-buildpackage dh
  (umask 022 && export LC_ALL=C TZ=UTC CCACHE_NAMESPACE=one && build_packages "$work/one")
  (umask 002 && export LC_ALL=C.UTF-8 TZ=Asia/Kathmandu HOME=/nonexistent CCACHE_NAMESPACE=another && build_packages "$work/another/deeper")
  differ=""
  for file in "$work"/one/*.deb "$work"/one/*.tar.xz "$work"/one/*.dsc; do
    same="$work/another/deeper/${file##*/}"
    cmp -s "$file" "$same" || { differ="$differ ${file##*/}"; ! command -v diffoscope >/dev/null 2>&1 || diffoscope "$file" "$same" | head -40 >&2; }
  done
  [ -z "$differ" ] || die "two builds differ:$differ"
  look_at "$work/one"
  for file in "$work"/one/*.deb; do
    folder=$work/unpacked
    rm -rf "$folder" && dpkg-deb -x "$file" "$folder"
    if grep -rlF "$work" "$folder"; then die "these files of ${file##*/} name the folder in which they were built"; fi
  done
  rm -rf "$work/unpacked"
  say "two builds in two folders are the same, byte for byte, and name neither folder: $(find "$work/one" -maxdepth 1 -name '*.deb' | wc -l) packages, the archive, the .dsc"
  give_out "$work/one"
}

# The programs and libraries for 64-bit Windows, by mingw-w64: an archive, and an installer where there is makensis.
make_windows() {
  need cmake ninja x86_64-w64-mingw32-gcc-posix
  folder=$work/windows
  dependencies=$tree/build-windows/dependencies # those of ./dev test-windows
  JOBS=$jobs sh tests/windows/dependencies.sh "$dependencies"
  rm -rf "$folder" "$out/windows"
  mkdir -p "$folder" "$out/windows"
  { cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBURN_TESTS=OFF -DCMAKE_TOOLCHAIN_FILE="$tree/tests/windows/mingw.cmake" \
    -DBURN_WINDOWS_PREFIX="$dependencies/prefix" && cmake --build "$folder" -j "$jobs"; } >"$folder/build.log" 2>&1 || {
    tail -n 30 "$folder/build.log" >&2
    die "building for Windows failed; the whole output is in $folder/build.log"
  }
  generators=ZIP
  if command -v makensis >/dev/null 2>&1; then generators="ZIP;NSIS"; else say "there is no makensis: no installer"; fi
  (cd "$folder" && cpack -G "$generators" -B "$out/windows") >>"$folder/build.log" 2>&1 || {
    tail -n 30 "$folder/build.log" >&2
    die "packing failed; the whole output is in $folder/build.log"
  }
  rm -rf "$out/windows/_CPack_Packages"
  say "see $out/windows"
}

# In fresh systems (tests/fresh), installed, used and removed: on this machine's Debian the packages that are built here, on others those
# that are built there.
try() {
  [ $# != 0 ] || set -- bookworm trixie
  # shellcheck disable=SC1091
  own=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  for suite in "$@"; do
    if [ "$suite" = "$own" ]; then
      [ -d "$out/deb" ] || make_debs
      sh tests/fresh/fresh.sh "$suite" packages.sh "$out/deb"
    else
      sh tests/fresh/fresh.sh "$suite" packages.sh
    fi
  done
}

what=${1:-deb}
[ $# = 0 ] || shift
case "$what" in
  deb) make_debs ;;
  source) make_source ;;
  windows) make_windows ;;
  check) check ;;
  try) try "$@" ;;
  *) die "'$what' is unknown; it is deb, source, windows, check or try" ;;
esac
