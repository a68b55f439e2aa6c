"""Writes a small safetensors file with one tensor of each pattern."""

import json
import struct
import sys

ONE = {
    "F32": struct.pack("<f", 1.0),
    "F16": struct.pack("<H", 0x3C00),
    "BF16": struct.pack("<H", 0x3F80),
    "I8": b"\x01",
}

header, data = {}, bytearray()


def add(name, dtype, shape, kept):
    """Appends a tensor that is one where kept(row, column)."""
    rows = shape[0] if len(shape) > 1 else 1
    cols = 1
    for extent in shape[1:] if len(shape) > 1 else shape:
        cols *= extent
    one = ONE[dtype]
    begin = len(data)
    for i in range(rows):
        for j in range(cols):
            data.extend(one if kept(i, j) else bytes(len(one)))
    header[name] = {
        "dtype": dtype,
        "shape": shape,
        "data_offsets": [begin, len(data)],
    }


PAIRS = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
add("two_four", "F32", [32, 64], lambda i, j: j % 4 in PAIRS[(i * i + j // 4 * 5) % 6])
add("blocks", "F32", [64, 64], lambda i, j: (i // 16 * 3 + j // 16) % 4 == 0)
add("conv", "F16", [8, 6, 3, 3], lambda i, j: j // 9 not in (1, 4))
add("dense", "BF16", [8, 8], lambda i, j: True)
add("zero", "I8", [4, 4], lambda i, j: False)
add("bias", "F32", [5], lambda i, j: j != 2)

text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
