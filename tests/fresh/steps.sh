# shellcheck shell=sh disable=SC2154
# steps.sh - for scripts that do one thing after the other on a fresh system; they set `name`, which their lines begin with, and `work`, a
# folder. Sourced.

say() { printf '%s\n' "$name: $*" >&2; }
fail() { say "FAILED: $*"; exit 1; }

# step TEXT COMMAND...: says how long it took. A function ends at the first of its commands that fails, and the end of what they have printed
# shows which: every command stands there after a +.
step() {
  text=$1
  shift
  started=$(date +%s)
  set +e # an || after the subshell would switch -e off in it
  (set -ex; "$@") >"$work/step.log" 2>&1
  status=$?
  set -e
  [ $status = 0 ] || { tail -n 40 "$work/step.log" >&2; fail "$text: exit status $status"; }
  say "$text: $(($(date +%s) - started)) s"
}

# has FILE TEXT: the last step, or a program, has said it.
has() { grep -v '^+ ' "$1" | grep -qF -- "$2" || { cat "$1" >&2; fail "no word of '$2'"; }; }
