"""report.html of 100 and of 1,000 items: `python benchmarks/page.py`; needs the extra `browser` and Chromium.

The suite is fdb3, held once with the simulated agent; the larger run holds each of its items ten times under other ids.
Times are CPU time, of this process for writing and of the page's main thread for all else, so that a busy machine
changes them little.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from processes import ROOT, measure_pytest

from pytest_voicebench.files import link_or_copy
from pytest_voicebench.page.write import write_page
from pytest_voicebench.plan import write_plan
from pytest_voicebench.result_files import append_result
from pytest_voicebench.saved_run import SavedRun, load_run

TIMES = 10
ROWS = "#items-table > tbody > tr"
FRAMES = 120
SCROLL = f"""() => new Promise(done => {{
  let frames = 0;
  const step = () => {{
    scrollBy(0, 300);
    frames += 1;
    if (frames < {FRAMES}) requestAnimationFrame(step); else done();
  }};
  requestAnimationFrame(step);
}})"""


def main() -> None:
    """Print a line for each size of run."""
    print("items      kB   write s   open ms   frame ms   filter ms   sort ms   item ms")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for run in _runs(Path(folder)):
            begin = time.process_time()
            page = write_page(run, run.summary())
            write_s = time.process_time() - begin
            figures = _in_browser(browser, page, run.results[-1].item_id)
            print(f"{len(run.results):5}{page.stat().st_size / 1000:8.0f}{write_s:10.1f}", end="")
            print("{:10.0f}{:11.1f}{:12.0f}{:10.0f}{:10.0f}".format(*figures))
        browser.close()


def _runs(folder: Path) -> list[SavedRun]:
    measure_pytest(
        ROOT, "suites/fdb3", "--agent=simulated,behaviour=mix", "-p", "no:xdist", f"--voicebench-reports={folder}"
    )
    run = load_run(folder / (folder / "latest").read_text(encoding="utf-8").strip())
    larger = folder / "larger"
    results = [
        replace(r, item_id=f"{r.item_id}-{n}", folder=f"{r.folder}-{n}") for n in range(TIMES) for r in run.results
    ]
    write_plan(larger, replace(run.plan, items=tuple(replace(r, outcome="not_run", scorecard=None) for r in results)))
    for result in results:
        append_result(larger, result)
        shutil.copytree(
            run.folder / (result.folder or "").rpartition("-")[0],
            larger / (result.folder or ""),
            copy_function=lambda source, target: link_or_copy(Path(source), Path(target)),
        )
    return [run, load_run(larger)]


def _in_browser(browser: Any, file: Path, last: str) -> list[float]:
    """Milliseconds: open, a frame of scrolling, filter, sort, open an item."""
    page = browser.new_page(viewport={"width": 1360, "height": 900})
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    found, before = [], 0.0
    actions = [
        lambda: page.goto(file.as_uri()),
        lambda: page.evaluate(SCROLL),
        lambda: page.fill("#find", "rome"),
        lambda: page.click("#items-table thead button:text('Args')"),
        lambda: page.evaluate(f"location.hash = '#item={last}'"),
    ]
    for action in actions:
        action()
        page.wait_for_timeout(500)
        metrics = session.send("Performance.getMetrics")["metrics"]
        now = next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")
        found.append(1000 * (now - before))
        before = now
    found[1] /= FRAMES
    page.close()
    return found


if __name__ == "__main__":
    main()
