#!/bin/sh
# commits.sh FILE | commits.sh log - the form of commit messages (CONTRIBUTING.md): of the one in FILE, as git's hook commit-msg calls it, or of
# the commits that origin/main has not. History from before this file is let be. Says nothing without git, or outside of a clone.
set -eu

# judge NAME: the message on standard input.
judge() {
  awk -v name="$1" '
    function wrong(text) { printf "commit %s: %s\n", name, text; bad = 1 }
    /^# -+ >8 -+$/ { exit }
    /^#/ { next }
    NR == 1 && /^(Merge |Revert "|fixup! |squash! |amend! )/ { free = 1 }
    free { next }
    ++line == 1 {
      if ($0 !~ /^[a-z.][A-Za-z0-9_.\/-]*(, [a-z.][A-Za-z0-9_.\/-]*)*: [a-z]/) wrong("\"" $0 "\" is not of the form \"area: change something\"")
      if ($0 ~ /\.$/) wrong("the subject ends with a full stop")
      if (length($0) > 72) wrong("the subject has " length($0) " characters, the limit is 72")
    }
    line == 2 && $0 != "" { wrong("the second line is not empty") }
    line > 2 && length($0) > 80 && $0 ~ / / { wrong("line " line " has " length($0) " characters, the limit is 80") }
    line > 2 && $0 != "" { body++ }
    END {
      if (!free && !body && !bad) wrong("there is no body: say why, and what was measured")
      exit bad
    }'
}

case "${1:-}" in
  log)
    cd "$(dirname "$0")/../.."
    git rev-parse HEAD >/dev/null 2>&1 || exit 0
    first=$(git log --format=%H --diff-filter=A -- tests/lint/commits.sh | tail -n 1)
    set -- --no-merges HEAD
    if [ -n "$first" ] && git rev-parse "$first^" >/dev/null 2>&1; then set -- "$@" "^$first^"; fi
    if git rev-parse --verify -q origin/main >/dev/null; then set -- "$@" ^origin/main; fi
    status=0
    for commit in $(git rev-list "$@"); do
      git log -1 --format=%B "$commit" | judge "$(git log -1 --format=%h "$commit")" || status=1
    done
    exit $status
    ;;
  "") echo "usage: commits.sh FILE | commits.sh log" >&2 && exit 2 ;;
  *) judge "message" <"$1" >&2 || { echo "commit message: CONTRIBUTING.md says how it is written; your text is kept in $1" >&2 && exit 1; } ;;
esac
