#!/usr/bin/env bash
# fuzz.sh [SECONDS] [NAME...]: builds the libFuzzer targets with clang in
# build-fuzz/ and runs each one (or the named ones) for SECONDS (default 5).
# Prints one PASS or FAIL line a target; inputs that fail are kept in
# build-fuzz/fuzz/NAME.crashes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-5}
shift || true

cmake --preset fuzz > /dev/null
cmake --build build-fuzz --target sd-fuzzers ${SPARSEDITTO_JOBS:+-j "$SPARSEDITTO_JOBS"}
cd build-fuzz/fuzz
# The packaged libLLVM is not instrumented: containers and arena blocks that
# cross its border would be reported wrongly.
export ASAN_OPTIONS=detect_container_overflow=0:allow_user_poisoning=0

if [ $# -eq 0 ]; then
  set -- *-fuzzer
fi
failed=0
for target in "$@"; do
  [ -x "$target" ] || { echo "fuzz.sh: no fuzz target '$target' in build-fuzz/fuzz" >&2; exit 2; }
  mkdir -p "$target.corpus" "$target.crashes"
  if "./$target" "$target.corpus" -max_total_time="$seconds" -timeout=10 \
      -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="$target.crashes/" > "$target.log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$target.log")
    echo "PASS: fuzz :: $target ($runs runs in $seconds s)"
  else
    tail -n 40 "$target.log"
    echo "FAIL: fuzz :: $target (input in build-fuzz/fuzz/$target.crashes)"
    failed=1
  fi
done
exit $failed
