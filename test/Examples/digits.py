#!/usr/bin/env python3
"""Checks of examples/digits that need nothing but Python's own library.

    digits.py verify DIR          the files agree with each other and are what
                                  expected.json says, accuracy included
    digits.py driver DIR N        prints model.mlir with a main that runs the first
                                  N test digits and prints the logits
    digits.py compare DIR N FILE  compares those printed logits with the stored ones
"""

import json
import math
import pathlib
import re
import struct
import sys

TYPES = {"F16": ("e", 2), "F32": ("f", 4), "U8": ("B", 1)}
LAYERS = ["fc1", "fc2", "fc3", "fc4"]


def read_safetensors(path):
    """{name: (shape, values, bytes)} of a file."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        code, size = TYPES[entry["dtype"]]
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        assert end - begin == size * math.prod(entry["shape"]), name
        values = struct.unpack(f"<{(end - begin) // size}{code}", data[begin:end])
        tensors[name] = (entry["shape"], values, data[begin:end])
    return tensors


def half(value):
    return struct.unpack("<e", struct.pack("<e", value))[0]


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def rows(tensor):
    (m, k), values, _ = tensor
    return [values[i * k : (i + 1) * k] for i in range(m)]


def holds(weight, pattern):
    """Whether a weight, as rows, is what its pattern says."""
    nonzero = [[value != 0 for value in row] for row in weight]
    if pattern == "nm":
        return all(sum(row[i : i + 4]) == 2 for row in nonzero for i in range(0, len(row), 4))
    if pattern == "block":
        tiles = [
            sum(row[j + jj] for row in nonzero[i : i + 16] for jj in range(16))
            for i in range(0, len(weight), 16)
            for j in range(0, len(weight[0]), 16)
        ]
        return set(tiles) == {0, 256} and tiles.count(256) * 4 == len(tiles)
    if pattern == "unstructured":
        return sum(map(sum, nonzero)) == len(weight) * len(weight[0]) // 10
    return pattern == "dense" and all(map(all, nonzero))


def infer(inputs, weights):
    """The logits of each input row."""
    layers = []
    for name in LAYERS:
        matrix = rows(weights[f"{name}.weight"])
        kept = [[(k, w) for k, w in enumerate(row) if w] for row in matrix]
        layers.append((kept, weights[f"{name}.bias"][1]))
    result = []
    for x in inputs:
        for index, (kept, bias) in enumerate(layers):
            y = [single(single(math.fsum(w * x[k] for k, w in row)) + b) for row, b in zip(kept, bias)]
            x = [half(max(v, 0.0) if index + 1 < len(layers) else v) for v in y]
        result.append(x)
    return result


def verify(folder):
    expected = json.loads((folder / "expected.json").read_text())
    weights = read_safetensors(folder / "weights.safetensors")
    test = read_safetensors(folder / "test.safetensors")
    model = (folder / "model.mlir").read_text()
    for name in LAYERS:
        said = expected["layers"][name]
        tensor = weights[f"{name}.weight"]
        nnz = sum(1 for value in tensor[1] if value)
        assert tensor[0] == said["shape"], name
        assert nnz == said["nnz"], (name, nnz)
        assert holds(rows(tensor), said["pattern"]), f"{name} is not {said['pattern']}"
        for kind in ("weight", "bias"):
            blob = re.search(rf'{name}_{kind}: "0x([0-9A-F]+)"', model).group(1)
            assert bytes.fromhex(blob)[4:] == weights[f"{name}.{kind}"][2], (name, kind)
    logits = infer(rows(test["inputs"]), weights)
    assert logits == [list(row) for row in rows(test["logits"])], "logits differ"
    right = sum(
        row.index(max(row)) == label for row, label in zip(logits, test["labels"][1])
    )
    assert round(right / len(logits), 4) == expected["pruned_accuracy"], right
    assert expected["pruned_accuracy"] >= expected["dense_accuracy"] - 0.02
    print(f"{right} of {len(logits)} digits are right, dense {expected['dense_accuracy']}")


def driver(folder, count):
    inputs = rows(read_safetensors(folder / "test.safetensors")["inputs"])[:count]
    text = ", ".join("[" + ", ".join(f"{v:.6e}" for v in row) + "]" for row in inputs)
    main = f"""
func.func private @printMemrefF32(tensor<*xf32>)
func.func @main() {{
  %x = arith.constant dense<[{text}]> : tensor<{count}x64xf16>
  %any = tensor.cast %x : tensor<{count}x64xf16> to tensor<?x64xf16>
  %y = call @digits(%any) : (tensor<?x64xf16>) -> tensor<?x10xf16>
  %wide = arith.extf %y : tensor<?x10xf16> to tensor<?x10xf32>
  %print = tensor.cast %wide : tensor<?x10xf32> to tensor<*xf32>
  call @printMemrefF32(%print) : (tensor<*xf32>) -> ()
  return
}}
"""
    head, mark, resources = (folder / "model.mlir").read_text().partition("\n{-#")
    sys.stdout.write(head + main + mark + resources)


def compare(folder, count, path):
    numbers = re.findall(r"\[([-+.0-9e, ]+)\]", path.read_text().partition("data =")[2])
    got = [[float(v) for v in row.split(",")] for row in numbers]
    want = rows(read_safetensors(folder / "test.safetensors")["logits"])[:count]
    assert len(got) == count, f"{len(got)} rows, expected {count}"
    worst = 0.0
    for g_row, w_row in zip(got, want):
        assert len(g_row) == len(w_row)
        scale = max(map(abs, w_row))
        worst = max(worst, max(abs(g - w) for g, w in zip(g_row, w_row)) / scale)
        assert g_row.index(max(g_row)) == w_row.index(max(w_row)), "another digit wins"
    # Three roundings to f16 on the way, each of half a unit in 2^11.
    assert worst < 4 * 2.0**-11, f"largest relative difference {worst}"
    print(f"{count} rows agree, largest relative difference {worst:.1e}")


def main():
    command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if command == "verify":
        verify(folder)
    elif command == "driver":
        driver(folder, int(sys.argv[3]))
    else:
        compare(folder, int(sys.argv[3]), pathlib.Path(sys.argv[4]))


if __name__ == "__main__":
    main()
