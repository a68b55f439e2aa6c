#!/usr/bin/env bash
# nightly.sh [SECONDS]: what takes too long for every commit: the whole sweep of
# docs/Verification.md (hours), then SECONDS of fuzzing each reader (default
# 1800; 0: none). Fails if something was found; each failed case is printed with
# the command that reproduces it.
#
# A run that was stopped goes on where it was, until the code changes. Read from
# the environment:
#   SPARSEDITTO_JOBS   processes at a time, else by cores and memory
#   SWEEP_OPTIONS      for sd-sweep, e.g. "--family nm" or "--thorough"
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

fuzz=${1:-1800}
[[ $# -le 1 && $fuzz =~ ^[0-9]+$ ]] || sd_die "usage: nightly.sh [SECONDS]"
read -r -a options <<< "${SWEEP_OPTIONS:-}"

sd_setup
cd "$SD_ROOT"
sd_say "building (log: build/build.log)"
sd_build release sd-sweep
jobs=$(sd_jobs)
# Kernels and checker are linked in: another binary starts afresh.
key=$(printf '%s ' "${options[@]}" "$jobs" | cat - build/unittests/sd-sweep | sha256sum | cut -c1-12)
state=build/nightly/$key
mkdir -p "$state"

# A case that ends the process is tried once more, then counted as crashed.
run_shard() {
  local status child
  trap 'kill "$child" 2> /dev/null || true; exit 143' INT TERM
  while true; do
    status=0
    build/unittests/sd-sweep --full --shard "$1/$jobs" --log "$state/$1.log" \
      "${options[@]}" > "$state/$1.out" 2>&1 &
    child=$!
    wait "$child" || status=$?
    [ "$status" -ge 128 ] || return "$status"
  done
}

sd_say "sweep, $jobs processes (results: $state)"
pids=()
trap 'kill "${pids[@]}" 2> /dev/null || true; exit 143' INT TERM
for ((shard = 1; shard <= jobs; ++shard)); do
  run_shard "$shard" &
  pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do
  wait "$pid" || failed=1
done
cat "$state"/*.out

if [ "$fuzz" -gt 0 ]; then
  sd_packages clang-22 libclang-rt-22-dev lld-22
  sd_say "fuzzing each reader for $fuzz s"
  FUZZ_JOBS=$jobs unittests/fuzz/run.sh "$fuzz" || failed=1
fi
exit "$failed"
