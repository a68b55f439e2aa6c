#!/usr/bin/env bash
# demo.sh: installs what is missing, builds, and takes the bundled example from
# its pruned weights to kernels: the pattern of each layer, the choice for each
# N with its reason, what ptxas said, and the lowered model. Where there is a GPU
# the kernels are also verified and timed. Last, the model runs on the CPU, every
# layer through an emulated kernel: its accuracy must be that of the same network
# computed densely. Output goes to build/demo/.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
[ $# -eq 0 ] || sd_die "demo.sh takes no arguments, got '$*'"

sd_setup
cd "$SD_ROOT"
sd_say "building sd-opt and sd-tune"
sd_build release sd-opt sd-tune

out=build/demo
rm -rf "$out"
mkdir -p "$out"
show() {
  echo
  echo "\$ $*"
  "$@"
}

show build/bin/sd-tune analyze examples/digits/weights.safetensors
show build/bin/sd-tune compile examples/digits/weights.safetensors \
  --n 1,16,512 --target sm_90a -o "$out/digits.package"
show build/bin/sd-opt --sparse-agent-lower examples/digits/model.mlir \
  -o "$out/digits.mlir"
echo "the lowered model is in $out/digits.mlir ($(wc -l < "$out/digits.mlir") lines), the package in $out/digits.package"

if [ -e /proc/driver/nvidia/version ]; then
  show build/bin/sd-tune run "$out/digits.package"
else
  echo "no GPU here: on a machine with one, run"
  echo "  build/bin/sd-tune run $out/digits.package"
fi

# Left to itself, the choice gives layers this small to the dense library at large
# N; the test set is to go through kernels.
show build/bin/sd-opt --convert-linalg-to-sparsepattern=convert-dense \
  --sparse-agent-lower="n=360 family=nm,block,csr format=module" \
  examples/digits/model.mlir -o "$out/digits.module.mlir"
show build/bin/sd-tune run --emulate "$out/digits.module.mlir" \
  --input "examples/digits/test.safetensors#inputs" --output "$out/logits.npy"
show /usr/bin/python3 examples/digits/accuracy.py "$out/logits.npy"
