#!/usr/bin/env bash
# Records the pools that replay.py replays, on a machine with a GPU.
#
# usage: benchmarks/agent/record.sh OUT.jsonl DATA [AGENT_RECORD]
#
# Seven generated weights of 4096 x 4096 at N = 1, 16 and 64, and six real ones
# of DATA (see docs/Inputs.md) at N = 1 and 16: 33 cases.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
usage='usage: record.sh OUT.jsonl DATA [AGENT_RECORD]'
out=${1:?$usage} data=${2:?$usage}
record=$(realpath "${3:-$here/../../build/bin/agent-record}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$here/../make_weights.py" "$work/generated.safetensors" --cases \
  nm24,unstructured_50,unstructured_80,unstructured_95,block32_d0.2,block64_d0.2,channel_50
"$record" "$work/generated.jsonl" --n 1,16,64 "$work/generated.safetensors"
dlmc=$data/dlmc
layer=body_decoder_layer_0_encdec_attention_multihead_attention_k_fully_connected
"$record" "$work/real.jsonl" --n 1,16 \
  "$data/lyra/lyra_16khz_conv_to_gates.npz" \
  "$data/lyra/lyra_16khz_gru_layer.npz" \
  "$data/squeezenet/squeezenet_deep_compression.f32.safetensors#conv10" \
  "$dlmc/transformer/l0_regularization/0.8/body_decoder_layer_0_ffn_conv2.smtx" \
  "$dlmc/transformer/magnitude_pruning/0.9/$layer.smtx" \
  "$dlmc/rn50/magnitude_pruning/0.95/final_dense.smtx"
cat "$work/generated.jsonl" "$work/real.jsonl" > "$out"
