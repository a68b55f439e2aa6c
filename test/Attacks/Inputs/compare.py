"""compare.py SELFTEST.json CORPUS README.md Trust.md

Every candidate of the corpus was run as its header says, README's numbers are
those of the corpus, and the table of Trust.md has a row for each attack.
"""

import json
import pathlib
import re
import sys

report = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
corpus, readme = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
trust = pathlib.Path(sys.argv[4]).read_text(encoding="utf-8")
runs = {(run["attack"], run["place"]): run for run in report["runs"]}
attacks = emulated = 0
for path in sorted(corpus.glob("*.mlir")) + sorted(corpus.glob("*.ptx")):
    header = path.read_text(encoding="utf-8").split("\n\n")[0]
    mode = int(re.search(r"^// attack: (\d+) ", header, re.M).group(1))
    places = re.findall(r"^// expect: (\S+) ", header, re.M)
    here = [place for place in places if place.startswith("emulator")]
    for place in here:
        run = runs.pop((path.stem, place), None)
        wanted = "refused" if mode else "accepted"
        if run is None or run["verdict"] != wanted:
            sys.exit(f"{path.name} {place}: expected {wanted}, got {run}")
        if not run["seed"]:
            sys.exit(f"{path.name} {place}: ran without a drawn seed")
    row = f"| {mode} | `{path.name}` | "
    if mode and row not in trust:
        sys.exit(f"{sys.argv[4]} has no row that begins with {row}")
    attacks += mode != 0
    emulated += mode != 0 and bool(here)
if runs:
    sys.exit(f"runs of no candidate: {sorted(runs)}")
if (report["refused"], report["run_elsewhere"]) != (emulated, attacks - emulated):
    sys.exit(f"the summary disagrees with {attacks} attacks, {emulated} emulated")
text = " ".join(readme.read_text(encoding="utf-8").split())
wanted = f"{attacks} malicious or broken kernels are refused, {emulated} of them without a GPU"
if wanted not in text:
    sys.exit(f"{readme.name} does not say: {wanted}")
print(f"{attacks} attacks, {emulated} emulated")
