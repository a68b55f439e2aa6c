#!/usr/bin/env bash
# run.sh SECONDS [TARGET...]: builds the fuzz targets with clang and runs each
# for SECONDS (all targets, or those named), printing one line for each. Fails
# if one of them found something; the input that did it is kept, and what was
# learnt is the start of the next run.
#
#   SPARSEDITTO_FUZZ_BIN    directory of built targets (pack.sh); builds nothing
#   SPARSEDITTO_FUZZ_BUILD  build directory        (default build-fuzz)
#   SPARSEDITTO_FUZZ_WORK   inputs, logs, findings (default beside the targets)
#   SPARSEDITTO_TEST_DATA   real files as seeds    (default ../shared/data)
#   FUZZ_JOBS               targets at a time      (default 1)
#   FUZZ_WORKERS            processes a target, which learn from one another
#                                                  (default 1)
#   CLANG                   the C compiler         (default clang-22)
set -euo pipefail

seconds=${1:?usage: run.sh SECONDS [TARGET...]}
shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] ||
  targets=(safetensors npy npz mtx smtx package json transcript ptxas-log sass ncu
    ptx chat mlir)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${SPARSEDITTO_FUZZ_BUILD:-$root/build-fuzz}
binaries=${SPARSEDITTO_FUZZ_BIN:-$build/fuzz}
work=${SPARSEDITTO_FUZZ_WORK:-$binaries}
data=${SPARSEDITTO_TEST_DATA:-$root/../shared/data}
workers=${FUZZ_WORKERS:-1}
clang=${CLANG:-clang-22}

if [ -z "${SPARSEDITTO_FUZZ_BIN:-}" ]; then
  if [ ! -f "$build/build.ninja" ]; then
    mkdir -p "$build"
    cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
      -DCMAKE_C_COMPILER="$clang" -DCMAKE_CXX_COMPILER="${clang/clang/clang++}" \
      -DSPARSEDITTO_STATIC=ON \
      -DSPARSEDITTO_BUILD_FUZZERS=ON -DSPARSEDITTO_BUILD_TESTS=OFF \
      >"$build/configure.log" 2>&1 || { tail -n 20 "$build/configure.log"; exit 1; }
  fi
  ninja -C "$build" ${SPARSEDITTO_JOBS:+-j "$SPARSEDITTO_JOBS"} sd-fuzzers \
    >"$build/build.log" 2>&1 || { tail -n 40 "$build/build.log"; exit 1; }
fi

# Small real files are seeds as they are; of the large ones, the beginning.
collect_real_files() {
  local target=$1 folder=$2
  find "$data" -name "*.$target" -size -64k -exec cp {} "$folder/" \;
  local large=()
  mapfile -t large < <(find "$data" -name "*.$target" -size +63k)
  for file in "${large[@]:0:4}"; do
    head -c 4096 "$file" >"$folder/$(basename "$file").head"
  done
}

collect_seeds() {
  local target=$1 folder=$2
  mkdir -p "$folder"
  cp "$here/seeds/$target/"* "$folder/"
  case $target in
    mlir)
      # The dialect's own tests, cut where they are.
      awk -v folder="$folder" 'FNR == 1 || /^\/\/ -----/ { part++ }
        { print > (folder "/test" part) }' "$root"/test/Dialect/SparsePattern/*.mlir
      ;;
    safetensors | npy | npz | mtx | smtx)
      [ ! -d "$data" ] || collect_real_files "$target" "$folder"
      ;;
  esac
  chmod -R u+w "$folder"
}

run_one() {
  local target=$1 folder=$work/$1.work
  rm -f "$folder"/log*
  mkdir -p "$folder/corpus" "$folder/findings"
  collect_seeds "$target" "$folder/seeds"
  local dict=()
  [ -f "$here/$target.dict" ] && dict=("-dict=$here/$target.dict")
  local length=16384
  # A module of this size takes a millisecond.
  [ "$target" != mlir ] || length=4096
  local processes=() worker
  for ((worker = 1; worker <= workers; worker++)); do
    nice -n 19 "$binaries/fuzz-$target" "$folder/corpus" "$folder/seeds" \
      -max_total_time="$seconds" -max_len=$length -timeout=20 -rss_limit_mb=2048 \
      -artifact_prefix="$folder/findings/" -print_final_stats=1 "${dict[@]}" \
      >"$folder/log$worker" 2>&1 &
    processes+=($!)
  done
  local status=0 process
  for process in "${processes[@]}"; do
    wait "$process" || status=1
  done
  local runs coverage
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder"/log* |
    awk '{ sum += $1 } END { print sum + 0 }')
  coverage=$(grep -haoE 'cov: [0-9]+' "$folder"/log* | sort -k 2n | tail -n 1 || true)
  if [ "$status" -eq 0 ]; then
    local time="$seconds s"
    [ "$workers" -eq 1 ] || time="$workers x $time"
    echo "fuzz-$target: $time, $runs runs, ${coverage:-cov: 0}, nothing found"
  else
    local what
    what=$(grep -ham 1 -E '^check failed|runtime error:' "$folder"/log* | head -n 1 || true)
    [ -n "$what" ] ||
      what=$(grep -ham 1 -E '^SUMMARY|^==.*ERROR' "$folder"/log* | head -n 1 || true)
    [ -n "$what" ] || what=$(tail -qn 1 "$folder"/log* | head -n 1 || true)
    echo "fuzz-$target: FOUND after $runs runs: $what (inputs in $folder/findings)"
  fi
  return "$status"
}

failed=0
running=0
for target in "${targets[@]}"; do
  run_one "$target" &
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
