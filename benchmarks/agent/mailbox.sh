#!/usr/bin/env bash
# Three searches through a mailbox, one each of a 2:4, a block and an unstructured
# weight, at 16 tokens, with the answers of
# benchmarks/results/2026-12-01-h200/mailbox. Needs a GPU.
#
# usage: benchmarks/agent/mailbox.sh OUT DATA NM_LAYER [SD_TUNE]
#
# DATA has the real inputs (see docs/Inputs.md), NM_LAYER is what
# make_nm_layer.py writes. OUT gets a folder a weight: package, transcript, mail.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
usage='usage: mailbox.sh OUT DATA NM_LAYER [SD_TUNE]'
out=${1:?$usage} data=${2:?$usage} layer=${3:?$usage}
tune=$(realpath "${4:-$here/../../build/bin/sd-tune}")
answers=$here/../results/2026-12-01-h200/mailbox
for pattern in nm block unstructured; do
  case $pattern in
    nm) weight=$layer ;;
    block) weight=$data/lyra/lyra_16khz_gru_layer.npz ;;
    unstructured) weight=$data/dlmc/rn50/magnitude_pruning/0.95/final_dense.smtx ;;
  esac
  folder=$out/$pattern
  mkdir -p "$folder/mail"
  cp "$answers/$pattern"/reply-*.json "$folder/mail/"
  printf '{"version": 1, "providers": {"llm": {"endpoint": "mailbox:%s"}}}\n' \
    "$folder/mail" > "$folder/llm.json"
  "$tune" tune "$weight" --n 16 --measure on --patience 3 --rewrite \
    --agent llm --llm-config "$folder/llm.json" \
    --transcript "$folder/run.jsonl" -o "$folder/package" |
    tee "$folder/table.txt"
done
