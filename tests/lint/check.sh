#!/bin/sh
# check.sh [sources | compilers [gcc|clang]] - what ./dev check does. Every part prints one line; the first failure ends it. `sources` is
# what needs no build and comes first, see sources.sh. `compilers` is parts 1 and 2: everything without a warning, by both or the named one,
# and the headers alone.
set -eu
cd "$(dirname "$0")/../.."
jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}
say() { printf 'check: %s\n' "$*"; }
die() { printf 'check: FAILED: %s\n' "$*" >&2; exit 1; }

api_headers=$(find plugin-api/include -name '*.h' | sort)
public_headers=$(find core/include nn/include train/include train/sources/include train/dashboard/include import/include -name '*.h' -o -name '*.hpp' | sort)
common_headers=$(find plugins/common/include -name '*.h' | sort)
includes="-Iplugin-api/include -Iplugins/common/include -Icore/include -Inn/include -Itrain/include -Itrain/sources/include -Itrain/dashboard/include -Iimport/include"

case "$*" in
  "" | sources | compilers | "compilers gcc" | "compilers clang") ;;
  *) die "'$*' is not a part: it is sources, compilers, compilers gcc, compilers clang, or nothing for all" ;;
esac

if [ "${1:-}" != compilers ]; then JOBS=$jobs sh tests/lint/sources.sh; fi
[ "${1:-}" != sources ] || exit 0

# 1. Both compilers, all warnings, as errors.
for compiler in ${2:-gcc clang}; do
  JOBS=$jobs ./dev build-strict "$compiler" || die "$compiler has something to say"
  say "$compiler: no warnings"
done

# 2. Every public header alone: those of the plugin ABI and of plugins/common as C99, the first without padding that two compilers could lay out differently, the others as
#    C11; all of them as C++17, those for C++ and what the C++ tests make of their macros as C++20, too. The ABI as C++11, too.
# Lines "compiler standard header flags..".
header_programs() {
  for header in $api_headers $common_headers $public_headers tests/cpp/*_test.cpp; do
    case "$header" in
      plugin-api/*) flags="-Wpadded -Iplugin-api/include" standards="c99 c++11 c++17" ;;
      plugins/common/*) flags=$includes standards="c99 c++11 c++17" ;;
      *.h) flags=$includes standards="c11 c++17" ;;
      *.hpp) flags=$includes standards="c++17 c++20" ;;
      *) flags="$includes -Itests/cpp" standards="c++17 c++20" ;;
    esac
    for compiler in gcc clang; do
      for standard in $standards; do echo "$compiler $standard $header $flags"; done
    done
  done
}
header_programs | xargs -L 1 -P "$jobs" sh tests/lint/header_alone.sh || die "headers alone"
# Together, as a C++ program has them; as C++20, too.
for together in $public_headers; do printf '#include <%s>\n' "${together#*/include/}"; done >"/tmp/check-$$.c"
for compiler in g++ clang++; do
  for standard in c++17 c++20; do
    # shellcheck disable=SC2086
    "$compiler" -x c++ "-std=$standard" -Wall -Wextra -Wpedantic -Wshadow -Werror $includes -fsyntax-only "/tmp/check-$$.c" ||
      die "all public headers as $standard by $compiler"
  done
done
rm -f "/tmp/check-$$.c"
say "headers alone: plugin-api and plugins/common as C99 and C++11, the others as C11, all as C++17, and together as C++20"
[ $# = 0 ] || exit 0

# 3. Plugins export their entry symbol and nothing else; libraries export burn_ and Burn names only.
for plugin in build-gcc/lib/burn/plugins/burn_*.so; do
  symbols=$(nm -D --defined-only "$plugin" | awk '{print $3}' | sort | tr '\n' ' ')
  [ "$symbols" = "burn_plugin_query_v0 " ] || die "$plugin exports: $symbols"
done
for library in build-gcc/lib/libburn*.so; do
  foreign=$(nm -D --defined-only "$library" | awk '{print $3}' | grep -vE '^(burn_|Burn)' | tr '\n' ' ' || true)
  [ -z "$foreign" ] || die "$library exports foreign names: $foreign"
  private=$(nm -D --defined-only "$library" | awk '{print $3}' | grep -E '^burn__' | tr '\n' ' ' || true)
  [ -z "$private" ] || die "$library exports private names: $private"
done
say "symbols: one per plugin, burn_ names only in the libraries"

# 4. Nothing in the libraries and plugins may end the process or print to stdout. The compiler in burn_vulkan.so leaves a source that is wrong by
# longjmp, to its own entry; libburn_datasets.so leaves libjpeg so.
for object in build-gcc/lib/libburn*.so build-gcc/lib/burn/plugins/burn_*.so; do
  words='exit|_exit|abort|__assert_fail|signal|setlocale|chdir'
  case "${object##*/}" in burn_vulkan.so | libburn_datasets.so) ;; *) words="$words|longjmp" ;; esac
  forbidden=$(nm -D --undefined-only "$object" | awk '{print $2}' | grep -E "^($words)(@|$)" | tr '\n' ' ' || true)
  [ -z "$forbidden" ] || die "$object uses: $forbidden"
done
say "no library or plugin can end the process"

# 5. What a program that computes on the CPU has to ship: libburn and ndarray, stripped, in a Release build. The limit is there to have
# growth noticed, not to hinder features: raise it with the commit that needs it.
size_limit=3280000
size_of() {
  strip -o "/tmp/check-$$.so" "$1"
  wc -c <"/tmp/check-$$.so" | tr -d ' '
  rm -f "/tmp/check-$$.so"
}
library_bytes=$(size_of build-gcc/lib/libburn.so)
ndarray_bytes=$(size_of build-gcc/lib/burn/plugins/burn_ndarray.so)
say "size: libburn $library_bytes + ndarray $ndarray_bytes = $((library_bytes + ndarray_bytes)) bytes, at most $size_limit"
[ $((library_bytes + ndarray_bytes)) -le $size_limit ] || die "libburn and ndarray have grown too large"

# 6. Use after take, double drop and leaks of tensors, found by clang's analyzer in code that is written as users write it.
analyzed() {
  for source in sdk/examples/*/*.c nn/*.c train/*/*.c; do
    case "$source" in *_windows.c | train/sources/absent.c) ;; *) echo "$source $includes $private_includes" ;; esac
  done
}
private_includes="-Icore/base -Itrain/data -Itrain/learner -Itrain/logger -Itrain/metric -Itrain/optimizer -Itrain/report -Itrain/text"
analyzed | xargs -L 1 -P "$jobs" sh tests/lint/analyze.sh || die "misuse of tensors or memory"
# Programs with scopes: what is right is silent, every line that is marked wrong is reported, and no other.
analyze_scopes() {
  # shellcheck disable=SC2086
  clang --analyze -std=c11 $includes -DBURN_ANALYZE_LEAKS=0 \
    -Xclang -analyzer-config -Xclang unix.DynamicMemoryModeling:Optimistic=true "$1" -o /dev/null 2>&1
}
output=$(analyze_scopes tests/lint/scopes_right.c) || true
[ -z "$output" ] || die "tests/lint/scopes_right.c
$output"
wanted=$(grep -n 'wrong:' tests/lint/scopes_wrong.c | cut -d: -f1 | tr '\n' ' ')
found=$(analyze_scopes tests/lint/scopes_wrong.c | sed -n 's/^[^:]*:\([0-9]*\):.*warning:.*/\1/p' | sort -un | tr '\n' ' ')
[ "$wanted" = "$found" ] || die "tests/lint/scopes_wrong.c: wrong in lines $wanted, reported in lines $found"
say "analyzer: no misuse of tensors in sdk, nn, train"

# 7. Names that C++ keeps for itself: no macro of a public header has one.
for header in $api_headers $public_headers; do printf '#include <%s>\n' "${header#*/include/}"; done >"/tmp/check-$$.cpp"
# shellcheck disable=SC2086
clang++ -std=c++17 -fsyntax-only -Wreserved-macro-identifier -Werror $includes "/tmp/check-$$.cpp" || die "macros with reserved names"
rm -f "/tmp/check-$$.cpp"
say "macros of public headers: no reserved name"

# 8. The book and the headers as HTML, without a warning.
if command -v doxygen >/dev/null 2>&1 && [ -n "$python" ]; then
  ./dev docs || die "./dev docs"
  say "docs: no warnings"
else
  say "docs: skipped, no doxygen"
fi
say "all passed"
