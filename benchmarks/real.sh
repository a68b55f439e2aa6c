#!/usr/bin/env bash
# Builds, checks and times the kernels of real pruned weights on a GPU.
#
# usage: benchmarks/real.sh OUTDIR DATA [SD_TUNE]
#
# DATA holds squeezenet/, lyra/, dlmc/ and distiller/ (see docs/Inputs.md). Every
# family that accepts a tensor is checked in both layouts (OUTDIR/check-*.txt);
# the tool's own choice is checked and timed (OUTDIR/chosen-*.csv).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
usage='usage: benchmarks/real.sh OUTDIR DATA [SD_TUNE]'
out=${1:?$usage} data=${2:?$usage}
sd_tune=$(realpath "${3:-$here/../build/bin/sd-tune}")
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mapfile -t squeezenet < <(find "$data/squeezenet" -name '*.safetensors')
lyra=("$data"/lyra/lyra_16khz_conv1d.npy "$data"/lyra/lyra_16khz_conv_to_gates.npz
  "$data"/lyra/lyra_16khz_gru_layer.npz)
mapfile -t dlmc < <(find "$data/dlmc" -name '*.smtx' | sort | head -10)
mapfile -t distiller < <(find "$data/distiller" -name '*.npz')

check() { # name family files...
  local name=$1 family=$2 package=$work/$1-$2 table=$out/check-$1-$2.txt
  shift 2
  "$sd_tune" compile "$@" --family "$family" --n 1,16 --layout both \
    -o "$package" > "$package.compile"
  if grep -q ': 0 kernels' "$package.compile"; then
    echo "no tensor is accepted" > "$table"
  else
    "$sd_tune" run "$package" --no-time > "$table" 2> "$package.progress" ||
      { cat "$package.progress" >> "$table"; return 1; }
  fi
}
pids=() names=()
for family in csr dense block nm channel; do
  for name in squeezenet lyra dlmc distiller; do
    declare -n files=$name
    check "$name" "$family" "${files[@]}" &
    pids+=($!) names+=("$name-$family")
  done
done
failed=0
for i in "${!pids[@]}"; do
  wait "${pids[$i]}" || failed=1
  echo "${names[$i]}: $(tail -1 "$out/check-${names[$i]}.txt")"
done

for name in squeezenet lyra dlmc distiller; do
  declare -n files=$name
  "$sd_tune" compile "${files[@]}" --n 1,16,512 --layout both \
    -o "$work/$name" > "$out/chosen-$name.compile.txt"
  "$sd_tune" run "$work/$name" --csv "$out/chosen-$name.csv" \
    > "$out/chosen-$name.txt" 2> /dev/null || failed=1
  tail -1 "$out/chosen-$name.txt"
done
exit $failed
