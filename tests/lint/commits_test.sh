#!/bin/sh
# commits_test.sh - what commits.sh lets pass and what it refuses, and with which words.
set -eu
cd "$(dirname "$0")"
file=$(mktemp)
trap 'rm -f "$file" "$file.out"' EXIT

passes() {
  printf '%b' "$1" >"$file"
  sh commits.sh "$file" 2>"$file.out" || { printf 'refused: %s\n' "$1" >&2 && cat "$file.out" >&2 && exit 1; }
}
refused() {
  printf '%b' "$2" >"$file"
  if sh commits.sh "$file" 2>"$file.out"; then printf 'passes: %s\n' "$2" >&2 && exit 1; fi
  grep -qF "$1" "$file.out" || { printf '"%s" is not said of: %s\n' "$1" "$2" >&2 && cat "$file.out" >&2 && exit 1; }
}

long=$(printf '%079d' 0)
passes 'core: check shapes before the inputs are consumed\n\nA failed call dropped them, 3 of 40 cases.\n'
passes 'tests/lint, dev: check commits\n\nWhy.\n\n# a comment of git, which may be as long as it wants to be and is not part of the message\n'
passes 'Merge branch x\n'
passes 'Revert "core: x"\n'
refused 'is not of the form' 'Check shapes\n\nWhy.\n'
refused 'is not of the form' 'core: Check shapes\n\nWhy.\n'
refused 'the limit is 72' "core: x$long\n\nWhy.\n"
refused 'full stop' 'core: check shapes.\n\nWhy.\n'
refused 'the second line is not empty' 'core: check shapes\nWhy.\n'
refused 'there is no body' 'core: check shapes\n'
refused 'the limit is 80' "core: check shapes\n\nWhy $long.\n"
echo "commits: messages are judged as CONTRIBUTING.md says"
