#!/bin/sh
# format.sh [write] - layout by clang-format 14 and the .clang-format files of the tree: names the files that differ, or mends them. Other
# versions lay out otherwise, so without this one nothing is looked at, and a line says so.
set -eu
cd "$(dirname "$0")/../.."

formatter=""
for candidate in clang-format-14 clang-format; do
  case "$("$candidate" --version 2>/dev/null || true)" in *"version 14."*) formatter=$candidate && break ;; esac
done
if [ -z "$formatter" ]; then
  echo "format: layout was not looked at: there is no clang-format of version 14." \
    "Debian bookworm: apt-get install clang-format-14; elsewhere: pip install clang-format==14.0.6"
  [ "${1:-}" != write ] || exit 1
  exit 0
fi

sources() {
  find . -type d \( -path './build*' -o -name .git -o -path ./tests/golden -o -path ./tests/abi/zoo \) -prune -o -type f \
    \( -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.hpp' \) -print0
}
if [ "${1:-}" = write ]; then
  sources | xargs -0 -n 40 "$formatter" -i
  exit 0
fi
wrong=$(sources | xargs -0 -n 40 -P "${JOBS:-2}" "$formatter" --dry-run 2>&1 | sed -n 's/^\.\/\([^:]*\):[0-9]*:[0-9]*: warning: code should be clang-formatted.*/\1/p' | sort -u)
if [ -n "$wrong" ]; then
  printf 'format: not laid out as by clang-format 14; ./dev format mends it:\n%s\n' "$wrong" >&2
  exit 1
fi
echo "format: all files are laid out as by clang-format 14"
