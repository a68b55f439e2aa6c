"""Makes the kernels of a package look as if an agent had written them.

usage: make-custom.py PACKAGE REASON
"""

import json
import sys

package, reason = sys.argv[1:]
path = package + "/manifest.json"
with open(path) as file:
    manifest = json.load(file)
for layer in manifest["layers"]:
    for kernel in layer["kernels"]:
        base = kernel["strategy"]
        kernel["strategy"] = {"family": "custom", "knobs": base["knobs"]}
        diff = kernel["mlir"].replace(".mlir", ".diff")
        kernel["custom"] = {
            "base": base,
            "reason": reason,
            "diff": diff,
            "review": {"state": "unreviewed"},
        }
        with open(package + "/" + diff, "w") as file:
            file.write("@@ -1,1 +1,1 @@\n-  old\n+  new\x1b[31m\n")
with open(path, "w") as file:
    json.dump(manifest, file)
