"""Fails unless the main job planned 100 items, lost none and passed at least 40: `check_main_job.py REPORTS`.

The local agent passes about half of them; 40 tells a broken agent from one that is merely not better.
"""

import json
import sys
from pathlib import Path

reports = Path(sys.argv[1])
run = reports / (reports / "latest").read_text().strip()
summary = json.loads((run / "summary.json").read_text())
counts = summary["counts"]
print(counts)
fine = counts["planned"] == 100 and counts["error"] == counts["not_run"] == 0 and counts["passed"] >= 40
sys.exit(0 if fine else f"the main job did not do what the README says: {counts}")
