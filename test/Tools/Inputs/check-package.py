"""Checks that every kernel of a package was assembled, without spills.

    check-package.py PACKAGE

Prints one line a fault. Each kernel has a cubin (an ELF file) of its chip, and
no layer holds more than one packed copy.
"""

import json
import os
import sys

package = sys.argv[1]
with open(os.path.join(package, "manifest.json"), encoding="utf-8") as file:
    manifest = json.load(file)
with open(os.path.join(package, "records.jsonl"), encoding="utf-8") as file:
    records = {}
    for line in file:
        record = json.loads(line)
        records[record["id"]] = record

faults, kernels = [], 0
for layer in manifest["layers"]:
    if len(layer["packed"]) > 1:
        faults.append(f"{layer['name']}: {len(layer['packed'])} packed copies")
    for kernel in layer["kernels"]:
        kernels += 1
        where = f"{layer['name']}: {kernel['symbol']} for {kernel['chip']}"
        if not kernel["cubin"]:
            faults.append(f"{where}: no cubin")
            continue
        with open(os.path.join(package, kernel["cubin"]), "rb") as file:
            if file.read(4) != b"\x7fELF":
                faults.append(f"{where}: not an ELF file")
        record = records[kernel["record_id"]]
        if record["status"] != "compiled" or record["spill_bytes"] != 0:
            faults.append(f"{where}: {record}")
if not kernels:
    faults.append("no kernels")
print("\n".join(faults) or f"{kernels} kernels assembled")
sys.exit(1 if faults else 0)
