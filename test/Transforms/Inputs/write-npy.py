"""Writes a matrix of f32 as .npy: write-npy.py OUT ROWS "1 0 2 0 ..." """

import struct
import sys

path, rows, values = sys.argv[1], int(sys.argv[2]), sys.argv[3].split()
shape = (rows, len(values) // rows)
header = "{'descr': '<f4', 'fortran_order': False, 'shape': %r, }" % (shape,)
header += " " * (-(len(header) + 11) % 64) + "\n"
with open(path, "wb") as out:
    out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    out.write(struct.pack("<%df" % len(values), *map(float, values)))
