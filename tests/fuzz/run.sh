#!/usr/bin/env bash
# Runs the fuzz targets that the `fuzz` preset built, each for a while from its corpus in the tree.
#   tests/fuzz/run.sh [SECONDS_PER_TARGET]   all; default: 5 seconds. The last line: N passed, N failed
#   tests/fuzz/run.sh BUILD_DIR TARGET       one, for $RM_FUZZ_SECONDS (as CTest does)
# New inputs of a target stay in BUILD_DIR/fuzz/corpus and are tried first the next time; an input that breaks
# one is kept in BUILD_DIR/fuzz/found and printed.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build="$here/../../build/fuzz" seconds=${RM_FUZZ_SECONDS:-5} only=
case $# in
  0) ;;
  1) seconds=$1 ;;
  2) build=$1 only=$2 ;;
  *) sed -n '2,4s/^# //p' "$0" >&2; exit 2 ;;
esac
[[ $seconds =~ ^[0-9]+$ ]] || { echo "'$seconds' is not a number of seconds" >&2; exit 2; }
[ -s "$build/fuzz/targets.txt" ] || { echo "no targets in $build: cmake --preset fuzz && cmake --build --preset fuzz" >&2; exit 2; }
export UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=0

run_target() {
  local name=$1 max_len=$2 own="$build/fuzz/corpus/$1" found="$build/fuzz/found/$1-"
  local log="$build/fuzz/$1.log"
  mkdir -p "$own" "$build/fuzz/found"
  # Bounds: one input, one allocation, the process.
  if "$build/fuzz/${name}_fuzz" "$own" "$here/corpus/$name" -max_total_time="$seconds" -max_len="$max_len" \
      -timeout=10 -malloc_limit_mb=256 -rss_limit_mb=1024 -artifact_prefix="$found" -print_final_stats=1 \
      >"$log" 2>&1; then
    echo "ok      $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s," \
      "coverage $(grep -o 'cov: [0-9]*' "$log" | tail -n 1 | cut -d' ' -f2)"
    return 0
  fi
  grep -aE 'ERROR|SUMMARY|runtime error|Test unit written|what\(\)' "$log" | sed 's/^/        /'
  echo "FAILED  $name: the whole story is in $log"
  return 1
}

passed=0 failed=0
while read -r name max_len; do
  [ -z "$only" ] || [ "$only" = "$name" ] || continue
  if run_target "$name" "$max_len"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done <"$build/fuzz/targets.txt"
[ $((passed + failed)) -gt 0 ] || { echo "there is no target '$only'"; failed=1; }
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
