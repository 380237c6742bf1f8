#!/bin/sh
# sources.sh - the part of ./dev check that needs no build: layout, commit messages, length of lines and functions, include arrows, files by
# family, words, names, what is made from the headers, shell scripts. It takes seconds and finds most slips, so that the hook which
# `./dev setup hooks` installs runs it before every commit.
set -eu
cd "$(dirname "$0")/../.."
say() { printf 'check: %s\n' "$*"; }
die() { printf 'check: FAILED: %s\n' "$*" >&2; exit 1; }

sh tests/lint/format.sh || die "layout"

if command -v git >/dev/null 2>&1 && git rev-parse HEAD >/dev/null 2>&1; then
  sh tests/lint/commits_test.sh || die "the check of commit messages"
  sh tests/lint/commits.sh log || die "commit messages (CONTRIBUTING.md)"
  say "commit messages: as CONTRIBUTING.md says"
fi

python=$(command -v python3 || true)
if [ -n "$python" ]; then
  "$python" tests/lint/check_source.py || die "source rules"
  "$python" tests/lint/check_families_test.py || die "the check of families"
  "$python" tests/lint/check_families.py || die "parts of an op in files of different families"
  "$python" tests/lint/headers_test.py || die "the check of public headers"
  "$python" tests/lint/headers.py || die "public symbols without a comment"
  "$python" tests/lint/words.py || die "words (CONTRIBUTING.md has the glossary)"
  "$python" tests/lint/names.py || die "names in comments and READMEs that nothing has"
  "$python" tests/surface/make_table.py --check || die "Burn's functions against ours"
  "$python" tests/abi/snapshot.py check || die "the plugin ABI against tests/abi/snapshot.txt"
  "$python" tests/lint/make_cpp_methods.py --check || die "methods of burn.hpp"
  "$python" tests/lint/make_cpp_layers.py --check || die "layers of nn.hpp"
  clang_python=$python # libclang's module is the system's, whatever Python the path has first
  "$python" -c 'import clang.cindex' 2>/dev/null || [ ! -x /usr/bin/python3 ] || clang_python=/usr/bin/python3
  described=0
  "$clang_python" sdk/api/make_api.py --check || described=$?
  [ "$described" = 0 ] || [ "$described" = 77 ] || die "the description of the C API"
else
  say "source rules: skipped, no python3"
fi
if command -v shellcheck >/dev/null 2>&1; then
  shellcheck dev tests/fresh/*.sh tests/fuzz/fuzz.sh tests/faults/faults_test.sh tests/programs/*.sh tests/lint/*.sh tests/bench/run.sh \
    tests/sdk/*.sh sdk/pages/make_pages.sh packaging/package.sh tests/abi/keep tests/abi/update .ci/run || die "shellcheck"
  say "shellcheck: dev, the scripts of tests/ and those that make packages"
fi
