#!/usr/bin/env bash
# run.sh SECONDS [READER...]: builds the fuzz targets with clang and runs each
# for SECONDS (all readers, or those named), printing one line for each.
# Fails if one of them found something; the input that did it is kept.
#
#   SPARSEDITTO_FUZZ_BUILD  build directory        (default build-fuzz)
#   SPARSEDITTO_TEST_DATA   real files as seeds    (default ../shared/data)
#   FUZZ_JOBS               targets at a time      (default 1)
#   CLANG                   the C compiler         (default clang-22)
set -euo pipefail

seconds=${1:?usage: run.sh SECONDS [READER...]}
shift
readers=("$@")
[ ${#readers[@]} -gt 0 ] || readers=(safetensors npy npz mtx smtx ptxas-log)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${SPARSEDITTO_FUZZ_BUILD:-$root/build-fuzz}
data=${SPARSEDITTO_TEST_DATA:-$root/../shared/data}
clang=${CLANG:-clang-22}

if [ ! -f "$build/build.ninja" ]; then
  mkdir -p "$build"
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_C_COMPILER="$clang" -DCMAKE_CXX_COMPILER="${clang/clang/clang++}" \
    -DSPARSEDITTO_BUILD_FUZZERS=ON -DSPARSEDITTO_BUILD_TESTS=OFF \
    >"$build/configure.log" 2>&1 || { tail -n 20 "$build/configure.log"; exit 1; }
fi
ninja -C "$build" sd-fuzzers >"$build/build.log" 2>&1 ||
  { tail -n 40 "$build/build.log"; exit 1; }

# Small real files are seeds as they are; of the large ones, the beginning.
collect_seeds() {
  local reader=$1 target=$2
  mkdir -p "$target"
  cp "$here/seeds/$reader/"* "$target/"
  [ -d "$data" ] || return 0
  find "$data" -name "*.$reader" -size -64k -exec cp {} "$target/" \;
  local large=()
  mapfile -t large < <(find "$data" -name "*.$reader" -size +63k)
  for file in "${large[@]:0:4}"; do
    head -c 4096 "$file" >"$target/$(basename "$file").head"
  done
  chmod -R u+w "$target"
}

run_one() {
  local reader=$1 work=$build/fuzz/$1.work
  mkdir -p "$work/corpus" "$work/findings"
  collect_seeds "$reader" "$work/seeds"
  local dict=()
  [ -f "$here/$reader.dict" ] && dict=("-dict=$here/$reader.dict")
  local status=0
  nice -n 19 "$build/fuzz/fuzz-$reader" "$work/corpus" "$work/seeds" \
    -max_total_time="$seconds" -max_len=16384 -timeout=20 -rss_limit_mb=2048 \
    -artifact_prefix="$work/findings/" -print_final_stats=1 "${dict[@]}" \
    >"$work/log" 2>&1 || status=$?
  local runs
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log")
  local coverage
  coverage=$(grep -o 'cov: [0-9]*' "$work/log" | tail -n 1 || true)
  if [ "$status" -eq 0 ]; then
    echo "fuzz-$reader: $seconds s, ${runs:-0} runs, ${coverage:-cov: 0}, nothing found"
  else
    local what
    what=$(grep -m 1 -E '^SUMMARY|^==.*ERROR' "$work/log" || tail -n 1 "$work/log")
    echo "fuzz-$reader: FOUND after ${runs:-0} runs: $what (inputs in $work/findings)"
  fi
  return "$status"
}

failed=0
running=0
for reader in "${readers[@]}"; do
  run_one "$reader" &
  running=$((running + 1))
  if [ "$running" -ge "${FUZZ_JOBS:-1}" ]; then
    wait -n || failed=1
    running=$((running - 1))
  fi
done
while [ "$running" -gt 0 ]; do
  wait -n || failed=1
  running=$((running - 1))
done
exit "$failed"
