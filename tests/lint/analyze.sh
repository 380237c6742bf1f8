#!/bin/sh
# analyze.sh SOURCE FLAGS... - clang's analyzer on one source: prints what it has to say, and fails then. Called by check.sh, many at a time.
set -eu
source=$1
shift
output=$(clang --analyze -std=c11 -D_GNU_SOURCE "$@" -Xclang -analyzer-config -Xclang unix.DynamicMemoryModeling:Optimistic=true \
  -Xclang -analyzer-output=text -Werror "$source" -o /dev/null 2>&1) && [ -z "$output" ] && exit 0
printf 'check: misuse of tensors or memory in %s\n%s\n' "$source" "$output" >&2
exit 1
