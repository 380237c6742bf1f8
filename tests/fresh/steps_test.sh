#!/bin/sh
# steps_test.sh - what steps.sh makes of a step that fails in its middle: it ends there, and both the command and its words are shown.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wrong() { printf '%s\n' "steps_test: $*" >&2; cat "$work/out" >&2; exit 1; }

cat >"$work/script" <<'END'
set -eu
name=test work=$1
. ./steps.sh
good() { cd /tmp; printf '%s\n' "it works"; }
broken() { echo before; cat /nonexistent/file; echo "reached the end"; }
step "good" good
has "$work/step.log" "it works"
step "broken" broken
echo "went on" >&2
END
if sh "$work/script" "$work" >"$work/out" 2>&1; then wrong "a step that fails passes"; fi
grep -q '^test: good: [0-9]* s$' "$work/out" || wrong "no word about the good step"
grep -q '^+ cat /nonexistent/file$' "$work/out" || wrong "the command is not shown"
grep -q '^cat: /nonexistent/file: ' "$work/out" || wrong "its message is not shown"
[ "$(tail -n 1 "$work/out")" = "test: FAILED: broken: exit status 1" ] || wrong "the last line is another"
if grep -qE 'reached the end|went on' "$work/out"; then wrong "it went on"; fi

# The commands themselves are not words of a program.
cat >"$work/script" <<'END'
set -eu
name=test work=$1
. ./steps.sh
step "quiet" test said
has "$work/step.log" said
END
if sh "$work/script" "$work" >"$work/out" 2>&1; then wrong "a command is taken for what it prints"; fi
grep -q "^test: FAILED: no word of 'said'$" "$work/out" || wrong "it failed for another reason"
