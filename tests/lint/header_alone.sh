#!/bin/sh
# header_alone.sh COMPILER STANDARD FILE FLAGS... - compiles a program that includes one public header and nothing else, without a warning;
# or a source of tests/cpp. Called by check.sh, many at a time.
set -eu
compiler=$1 standard=$2 file=$3
shift 3
case "$standard" in c++*) language=c++ ;; *) language=c ;; esac
case "$compiler-$language" in gcc-c++) compiler=g++ ;; clang-c++) compiler=clang++ ;; esac

program() {
  case "$file" in
    *.cpp) cat "$file" ;;
    *) printf '#include <%s>\n' "${file#*/include/}" ;;
  esac
}
program | "$compiler" -x $language "-std=$standard" -Wall -Wextra -Wpedantic -Wshadow -Werror "$@" -fsyntax-only - || {
  printf 'check: %s as %s by %s\n' "$file" "$standard" "$compiler" >&2
  exit 1
}
