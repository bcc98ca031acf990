"""The pictures of docs/report.md: `python benchmarks/pictures.py`; needs the extra `browser` and Chromium.

A run of three simulated agents on the quick part of fdb3 and what holds a self-correction; and a run of all of it that
got worse than its baseline, with gates.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from processes import ROOT, measure_pytest

IMAGES = ROOT / "docs" / "images"
AGENTS = ("--agent=simulated", "--agent=simulated,behaviour=stale_commit", "--agent=simulated,behaviour=mix")
GATES = ("no_regression(pass_at_1)", "self_correction.pass_at_1 >= 0.6", "pass_at_1 >= 0.55")
ITEM = "simulated_stale_commit-travel_19-j"


def main() -> None:
    """Write four PNG files."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        measure_pytest(ROOT, "suites/fdb3", "-m", "quick or self_correction", *AGENTS, f"--voicebench-reports={folder}")
        run = Path(folder, Path(folder, "latest").read_text(encoding="utf-8").strip())
        measure_pytest(ROOT, "suites/fdb3", AGENTS[0], f"--voicebench-reports={folder}/worse")
        gates = [f"--voicebench-gate={gate}" for gate in GATES]
        worse = [AGENTS[1], "--voicebench-baseline=latest", *gates, f"--voicebench-reports={folder}/worse"]
        measure_pytest(ROOT, "suites/fdb3", *worse)
        compared = Path(folder, "worse", Path(folder, "worse", "latest").read_text(encoding="utf-8").strip())
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        _picture(browser, compared, "report-verdict.png", "", (1180, 760), "light")
        _picture(browser, run, "report-plots.png", "#plots", (1180, 760), "light")
        _picture(browser, run, "report-item.png", f"#item={ITEM}&t=6.2", (1100, 800), "dark")
        _picture(browser, run, "report-narrow.png", f"#item={ITEM}&t=6.2", (360, 800), "light")
        browser.close()


def _picture(browser: Any, run: Path, name: str, address: str, size: tuple[int, int], scheme: str) -> None:
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    page.goto(f"{(run / 'report.html').as_uri()}{address}")
    page.wait_for_timeout(500)
    page.screenshot(path=IMAGES / name)
    page.close()


if __name__ == "__main__":
    main()
