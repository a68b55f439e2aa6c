"""Writes a safetensors file of layers that differ in what a compiler does.

sparse      F32 256x2048, 3 % of random weights
pruned24    F16 256x1024, 2 of every 4
overflow    F32 64x128, sparse, one value beyond f16
underflow   F32 64x128, sparse, one value that f16 rounds to zero
quantized   I8 16x16
bias        F32 32
Names of hostile layers are given on the command line after the path.
"""

import json
import random
import struct
import sys
from array import array

header, data = {}, bytearray()
generator = random.Random(20)


def add(name, dtype, shape, raw):
    header[name] = {
        "dtype": dtype,
        "shape": shape,
        "data_offsets": [len(data), len(data) + len(raw)],
    }
    data.extend(raw)


def sparse(rows, cols, density, special=None):
    values = array("f", bytes(4 * rows * cols))
    for i in generator.sample(range(rows * cols), int(rows * cols * density)):
        values[i] = generator.choice((-1, 1)) * (0.25 + generator.random())
    if special is not None:
        values[7] = special
    return values.tobytes()


add("sparse", "F32", [256, 2048], sparse(256, 2048, 0.03))
halves = array("H", bytes(2 * 256 * 1024))
for group in range(0, len(halves), 4):
    for place in generator.sample(range(4), 2):
        halves[group + place] = 0x3C00 + generator.randrange(512)
add("pruned24", "F16", [256, 1024], halves.tobytes())
add("overflow", "F32", [64, 128], sparse(64, 128, 0.1, special=1e6))
add("underflow", "F32", [64, 128], sparse(64, 128, 0.1, special=1e-9))
add("quantized", "I8", [16, 16], bytes(range(256)))
add("bias", "F32", [32], sparse(1, 32, 0.5))
for name in sys.argv[2:]:
    add(name, "F32", [16, 256], sparse(16, 256, 0.1))

text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
