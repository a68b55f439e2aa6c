"""Doubles a weight of the dense copy of a layer in a package.

usage: damage-package.py PACKAGE LAYER

The kernels read the packed buffers, the oracle the dense copy: after this they
disagree about one weight.
"""

import json
import struct
import sys

package, layer = sys.argv[1:]
path = package + "/weights.safetensors"
with open(path, "rb") as file:
    data = bytearray(file.read())
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8 : 8 + size])
entry = header[layer + "/dense"]
assert entry["dtype"] == "F16"
begin = 8 + size + entry["data_offsets"][0]
for at in range(begin, 8 + size + entry["data_offsets"][1], 2):
    value = struct.unpack("<e", data[at : at + 2])[0]
    if value != 0:
        data[at : at + 2] = struct.pack("<e", 2 * value)
        break
with open(path, "wb") as file:
    file.write(data)
