#!/usr/bin/env bash
# Builds, checks and times every kernel family on a GPU, beside cuBLASLt in the
# same process: cold operands, graph replay, medians (docs/Runtime.md).
#
# usage: benchmarks/families.sh OUTDIR [SD_TUNE]
#
# Needs a GPU, ptxas and python3 with numpy. Writes OUTDIR/<family>.csv (raw
# table), OUTDIR/<family>.txt (as printed) and OUTDIR/doctor.txt (versions).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: benchmarks/families.sh OUTDIR [SD_TUNE]}
sd_tune=$(realpath "${2:-$here/../build/bin/sd-tune}")
mkdir -p "$out"
out=$(realpath "$out")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$sd_tune" doctor > "$out/doctor.txt"

# family, generated cases, N.
suite() {
  local family=$1 cases=$2 ns=$3
  python3 "$here/make_weights.py" "$work/$family.safetensors" --cases "$cases"
  "$sd_tune" compile "$work/$family.safetensors" --family "$family" --n "$ns" \
    --layout both --target sm_90a -o "$work/$family"
  "$sd_tune" run "$work/$family" --csv "$out/$family.csv" \
    > "$out/$family.txt" 2> "$work/progress" ||
    { cat "$work/progress" "$out/$family.txt" >&2; exit 1; }
  cat "$out/$family.txt"
}
suite nm nm24 1,8,16,32,2048
suite csr unstructured_50,unstructured_80,unstructured_90,unstructured_95 1,8
suite block block16_d0.2,block32_d0.2,block64_d0.2,block128_d0.2 16,2048
suite channel channel_50 1,16,2048
suite dense dense 1,8,16
