#!/bin/sh
# fresh.sh SUITE [SCRIPT [FOLDER]] - a bare Debian SUITE (minbase and git) under build-fresh/SUITE, a clean clone of HEAD in it, and SCRIPT of
# this folder, inside.sh, run there; FOLDER is copied to /root/files before. The bare system is kept as build-fresh/SUITE.tar and
# unpacked again each time. Called by ./dev test-fresh, and with packages.sh by ./dev package try.
#
# Mirror, certificates and apt's settings are those of this machine, read when it runs. Exit status 77: not possible here.
set -eu
cd "$(dirname "$0")/../.."
suite=$1
script=${2:-inside.sh}
files=${3:-}
folder=$PWD/build-fresh
root=$folder/$suite
bare=$folder/$suite.tar
mkdir -p "$folder"

say() { printf '%s\n' "fresh $suite: $*" >&2; }
die() { say "$*"; exit 1; }
impossible() { say "left out: $*"; exit 77; }

# step TEXT COMMAND...: tells how long the command took.
step() {
  text=$1
  shift
  started=$(date +%s)
  "$@" || { say "FAILED: $text"; return 1; }
  say "$text: $(($(date +%s) - started)) s"
}

# apt's sources of this machine as lines "URI SUITE COMPONENTS": those of .sources files (deb822), and of .list files.
deb822_sources() {
  awk '
    function put(    i, j, nu, ns, u, s) {
      nu = split(field["uris"], u); ns = split(field["suites"], s)
      if (field["types"] ~ /(^| )deb( |$)/ && field["enabled"] !~ /^no/)
        for (i = 1; i <= nu; i++) for (j = 1; j <= ns; j++) print u[i], s[j], field["components"]
      split("", field)
    }
    /^#/ { next }
    /^[ \t]*$/ { put(); next }
    /^[ \t]/ { field[key] = field[key] $0; next }
    { key = tolower(substr($0, 1, index($0, ":") - 1)); field[key] = substr($0, index($0, ":") + 2) }
    END { put() }' "$1"
}
list_sources() { sed -n -e 's/#.*//' -e 's/^deb[ \t]\{1,\}\(\[[^]]*\][ \t]*\)\{0,1\}//p' "$1"; }
apt_sources() {
  {
    for file in /etc/apt/sources.list.d/*.sources; do [ ! -f "$file" ] || deb822_sources "$file"; done
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do [ ! -f "$file" ] || list_sources "$file"; done
  } | while read -r uri rest; do
    case "$uri" in mirror+file:*) uri=$(awk '{ print $1; exit }' "${uri#mirror+file:}") ;; esac
    printf '%s %s\n' "$uri" "$rest"
  done
}

# The sources of this machine's Debian, for SUITE: the archive itself first, then updates and security where this machine has them.
sources_of_suite() {
  for kind in "" -updates -security; do
    apt_sources | awk -v own="$codename$kind" -v wanted="$suite$kind" '
      $2 == own && / main( |$)/ { print "deb", $1, wanted, "main"; exit }'
  done
}

proxy_of_apt() { apt-config shell proxy "Acquire::$1::Proxy" 2>/dev/null | sed -n "s/^proxy='\\(.*\\)'\$/\\1/p"; }

# In a mount and process namespace of its own: whatever happens, no mount and no process of it stays.
in_root() { # COMMAND with no quoting: run by sh in the clone
  # shellcheck disable=SC2016
  unshare --mount --propagation private --pid --fork --kill-child sh -eu -c '
    mount -t proc proc "$1/proc"
    mount -t sysfs -o ro sysfs "$1/sys" 2>/dev/null || true
    [ -c "$1/dev/null" ] || mount --bind /dev "$1/dev"
    exec chroot "$1" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
      ${JOBS:+JOBS="$JOBS"} ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
      ${no_proxy:+no_proxy="$no_proxy"} sh -eu -c "cd /root/checkout && $2"' sh "$root" "$1"
}

# Removes a system of an earlier run. Nothing is mounted in it, and nothing of another file system would be touched.
remove_root() { rm -rf --one-file-system "$root"; }

make_bare() {
  mirror=$(sources_of_suite | awk 'NR == 1 {print $2}')
  # debootstrap mounts /proc in the new system: in a namespace of its own, so that it goes with it.
  unshare --mount --propagation private debootstrap --variant=minbase --include=git,ca-certificates "$suite" "$root" "$mirror" \
    >"$folder/$suite.log" 2>&1 || {
    tail -n 5 "$folder/$suite.log" >&2
    remove_root
    impossible "debootstrap failed; the whole output is in $folder/$suite.log"
  }
  tar -C "$root" --numeric-owner -cf "$bare.new" . && mv "$bare.new" "$bare"
}

unpack_bare() {
  remove_root
  mkdir -p "$root"
  tar -C "$root" --numeric-owner -xpf "$bare"
}

# Apt's settings of this machine, but for those of packages: dpkg would ask which version to keep when the package comes.
copy_apt_settings() {
  mkdir -p "$root/etc/apt/apt.conf.d"
  for file in /etc/apt/apt.conf.d/*; do
    [ ! -f "$file" ] || dpkg -S "$file" >/dev/null 2>&1 || cp -L "$file" "$root/etc/apt/apt.conf.d/"
  done
}

# What reaching the mirror needs here: names, certificates, apt's settings and sources.
settle() {
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  copy_apt_settings
  for settings in etc/ssl/certs usr/local/share/ca-certificates; do
    [ -d "/$settings" ] || continue
    mkdir -p "$root/$settings"
    cp -RL "/$settings/." "$root/$settings/" 2>/dev/null || true # links that lead nowhere are no loss
  done
  sources_of_suite >"$root/etc/apt/sources.list"
  git clone -q "file://$PWD" "$root/root/checkout"
  [ -z "$files" ] || cp -r "$files" "$root/root/files"
}

[ "$(id -u)" = 0 ] || impossible "it needs root"
for tool in debootstrap unshare git apt-config; do
  command -v $tool >/dev/null 2>&1 || impossible "there is no $tool"
done
# shellcheck disable=SC1091
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[ -n "$(sources_of_suite)" ] || impossible "apt's sources here name no Debian archive ($codename, main)"
unshare --mount --pid --fork true 2>/dev/null || impossible "unshare cannot make namespaces here"
[ -n "${http_proxy:-}" ] || http_proxy=$(proxy_of_apt http)
[ -n "${https_proxy:-}" ] || https_proxy=$(proxy_of_apt https)
export http_proxy https_proxy
[ -z "$(git status --porcelain)" ] || say "changes that are not committed are not tested"
[ -f "$bare" ] || step "a bare system by debootstrap" make_bare
step "unpacked, with a clone of $(git rev-parse --short HEAD)" unpack_bare
settle
# The compilers of this machine's own distribution are those that ./dev check has here.
compilers=clang
[ "$suite" != "$codename" ] || compilers=""
step "all of it" in_root "sh tests/fresh/$script $compilers" || die "the system is left in $root: chroot $root"
remove_root
