"""Fails unless the main job planned 100 items, lost none and passed at least half: `check_main_job.py REPORTS`."""

import json
import sys
from pathlib import Path

reports = Path(sys.argv[1])
run = reports / (reports / "latest").read_text().strip()
summary = json.loads((run / "summary.json").read_text())
outcomes = summary["agents"][0]["outcomes"]
print(outcomes)
fine = outcomes["planned"] == 100 and outcomes["error"] == outcomes["not_run"] == 0 and outcomes["passed"] >= 50
sys.exit(0 if fine else f"the main job did not do what the README says: {outcomes}")
