#!/bin/sh
# fuzz.sh BUILD [TARGET..] [SECONDS] - runs the fuzz targets of a build (./dev fuzz), JOBS of them at a time, with what they learn in
# BUILD/corpus/TARGET. Exits 1 if one found something; the inputs are then in BUILD/findings/TARGET.
set -eu
build=$(cd "$1" && pwd) # targets work in their scratch folder
shift
source=$(cd "$(dirname "$0")" && pwd)
seconds=600
targets=
for argument in "$@"; do
  case $argument in
    *[!0-9]*) targets="$targets $argument" ;;
    *) seconds=$argument ;;
  esac
done
[ -n "$targets" ] || targets=$(cd "$source/corpus" && echo *)
for target in $targets; do
  [ -x "$build/tests/fuzz_$target" ] && continue
  echo "fuzz: there is no target '$target'; there are: $(cd "$source/corpus" && echo *)" >&2
  exit 2
done

# One target; its scratch folder in memory where that is to be had, for records are flushed to disk.
fuzz() {
  target=$1
  memory=/dev/shm
  [ -w "$memory" ] || memory=${TMPDIR:-/tmp}
  scratch=$(mktemp -d "$memory/burn-fuzzing-XXXXXX")
  mkdir -p "$build/corpus/$target" "$build/findings/$target" "$build/cache"
  # Not -malloc_limit_mb, which makes a finding of memory that cannot be had: that is an error for us to handle.
  status=0
  TMPDIR=$scratch XDG_CACHE_HOME=$build/cache BURN_THREADS=1 UBSAN_OPTIONS=print_stacktrace=1 \
    ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=2048 nice -n 19 "$build/tests/fuzz_$target" \
    -max_total_time="$seconds" -max_len=4096 -timeout=60 -rss_limit_mb=3072 -detect_leaks=0 -close_fd_mask=3 -print_final_stats=1 \
    -artifact_prefix="$build/findings/$target/" "$build/corpus/$target" "$source/corpus/$target" >"$build/$target.log" 2>&1 || status=$?
  rm -rf "$scratch"
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$target.log" | tail -n 1)
  edges=$(sed -n 's/.* cov: \([0-9]*\).*/\1/p' "$build/$target.log" | tail -n 1)
  if [ "$status" = 0 ]; then found=none; else found="FOUND: see $build/$target.log"; fi
  printf '%-12s %12s %8s  %s\n' "$target" "${runs:-?}" "${edges:-?}" "$found"
  for input in "$build/findings/$target"/*; do
    [ ! -f "$input" ] || [ "$status" = 0 ] || printf '  %s/tests/fuzz_%s %s\n' "$build" "$target" "$input"
  done
  return "$status"
}

# With the name of a target in the environment: that one only; xargs starts these.
if [ -n "${BURN_FUZZ_ONE:-}" ]; then
  fuzz "$BURN_FUZZ_ONE"
  exit
fi
printf '%-12s %12s %8s  %s\n' target executions edges findings
status=0
# shellcheck disable=SC2086
printf '%s\n' $targets | xargs -P "${JOBS:-1}" -I '{}' env BURN_FUZZ_ONE='{}' sh "$0" "$build" '{}' "$seconds" || status=1
exit "$status"
