#!/usr/bin/env python3
"""Accuracy of digit logits: accuracy.py LOGITS.npy.

LOGITS.npy holds the logits of the held-out digits, 360 x 10 of f16, as
`sd-tune run --output` writes them. They are compared with the labels in
test.safetensors, and so are the logits there, which the same network gave
computed densely. Fails if the two classify a different number of digits
correctly, or the dense count is not what expected.json says. Needs nothing but
Python's own library.
"""

import ast
import json
import math
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
CLASSES = 10


def read_safetensors(path):
    """{name: (shape, values)} of a file of F16 and U8 tensors."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        code = {"F16": "e", "U8": "B"}[entry["dtype"]]
        count = math.prod(entry["shape"])
        begin = 8 + length + entry["data_offsets"][0]
        tensors[name] = (entry["shape"], struct.unpack_from(f"<{count}{code}", data, begin))
    return tensors


def read_npy(path):
    """(shape, values) of an f16 array in C order."""
    data = path.read_bytes()
    if data[:8] != b"\x93NUMPY\x01\x00":
        sys.exit(f"error: {path}: not a .npy file of version 1.0")
    (length,) = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10 : 10 + length].decode("latin-1").strip())
    shape = list(header["shape"])
    if header["descr"] != "<f2" or header["fortran_order"]:
        sys.exit(f"error: {path}: expected '<f2' in C order, got {header}")
    return shape, struct.unpack_from(f"<{math.prod(shape)}e", data, 10 + length)


def correct(tensor, labels):
    """How many rows have their largest value at the label."""
    shape, values = tensor
    if list(shape) != [len(labels), CLASSES]:
        sys.exit(f"error: expected logits of {len(labels)} x {CLASSES}, got {shape}")
    rows = (values[i * CLASSES : (i + 1) * CLASSES] for i in range(len(labels)))
    return sum(row.index(max(row)) == label for row, label in zip(rows, labels))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: accuracy.py LOGITS.npy")
    test = read_safetensors(HERE / "test.safetensors")
    expected = json.loads((HERE / "expected.json").read_text())
    labels = test["labels"][1]
    dense = correct(test["logits"], labels)
    ours = correct(read_npy(pathlib.Path(sys.argv[1])), labels)
    for what, count in (("computed densely", dense), ("emulated kernels", ours)):
        print(f"{what}: {count} of {len(labels)} digits, {count / len(labels):.4f}")
    if round(dense / len(labels), 4) != expected["pruned_accuracy"]:
        sys.exit(f"error: expected.json says {expected['pruned_accuracy']} for the dense product")
    if ours != dense:
        sys.exit("error: the accuracies differ")


if __name__ == "__main__":
    main()
