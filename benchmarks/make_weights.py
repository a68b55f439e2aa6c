#!/usr/bin/env python3
"""Writes a .safetensors file of generated weights for the kernel benchmarks.

usage: make_weights.py OUT.safetensors [--m 4096] [--k 4096] [--cases LIST]

Cases: dense, nm24, unstructured_<percent zeros>, block<size>_d<density>,
channel_<percent of columns gone>. Values are normal, scaled by 1/sqrt(K), f16;
the seed is fixed, so that a run can be repeated. Needs numpy only.
"""
import argparse
import json
import struct

import numpy as np

DEFAULT = ("dense,nm24,unstructured_50,unstructured_80,unstructured_90,"
           "unstructured_95,block16_d0.2,block32_d0.2,block64_d0.2,"
           "block64_d0.1,block128_d0.2,channel_50")


def make(case, m, k, rng):
    w = rng.standard_normal((m, k), dtype=np.float32) / np.sqrt(k)
    # A value that rounds to zero would break the pattern's density.
    w = np.where(np.abs(w) < 1e-4, np.float32(1e-4), w)
    if case == "dense":
        return w
    if case == "nm24":
        order = np.argsort(rng.random((m, k // 4, 4)), axis=2)
        return w * (order < 2).reshape(m, k)
    kind, _, argument = case.partition("_")
    if kind == "unstructured":
        return w * (rng.random((m, k)) >= float(argument) / 100)
    if kind.startswith("block"):
        size, density = int(kind[5:]), float(argument[1:])
        mask = rng.random((m // size, k // size)) < density
        return w * np.kron(mask, np.ones((size, size), dtype=bool))
    if kind == "channel":
        w[:, rng.random(k) < float(argument) / 100] = 0
        return w
    raise SystemExit(f"make_weights.py: unknown case '{case}'")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--m", type=int, default=4096)
    parser.add_argument("--k", type=int, default=4096)
    parser.add_argument("--cases", default=DEFAULT)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    header, offset, blobs = {}, 0, []
    for case in args.cases.split(","):
        rng = np.random.default_rng([args.seed, *case.encode()])
        data = make(case, args.m, args.k, rng).astype(np.float16)
        header[case] = {"dtype": "F16", "shape": [args.m, args.k],
                        "data_offsets": [offset, offset + data.nbytes]}
        offset += data.nbytes
        blobs.append(data.tobytes())
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 64)
    with open(args.out, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for blob in blobs:
            f.write(blob)


if __name__ == "__main__":
    main()
