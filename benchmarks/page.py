"""report.html of 100 and of 1,000 items: `python benchmarks/page.py`; needs the extra `browser` and Chromium.

The suite is fdb3, held once with the simulated agent; the larger run holds each of its items ten times under other ids.
Sizes and times to write, to open from disk, to filter, sort and open an item, and the longest frame while scrolling.
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
TIMED = """([action]) => { const begin = performance.now(); eval(action); document.body.offsetHeight;
  return performance.now() - begin; }"""
SCROLL = """() => new Promise(done => {
  let longest = 0, before = null, frames = 0;
  const step = now => {
    if (before !== null) longest = Math.max(longest, now - before);
    before = now; frames += 1; scrollBy(0, 300);
    if (frames < 120) requestAnimationFrame(step); else done(longest);
  };
  requestAnimationFrame(step);
})"""


def main() -> None:
    """Print a line for each size of run."""
    print("items      kB   write s   open ms   filter ms   sort ms   item ms   longest frame ms")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for run in _runs(Path(folder)):
            begin = time.perf_counter()
            page = write_page(run, run.summary())
            write_s = time.perf_counter() - begin
            figures = [f"{value:9.0f}" for value in _in_browser(browser, page, run.results[-1].item_id)]
            print(f"{len(run.results):5}{page.stat().st_size / 1000:9.0f}{write_s:9.1f}", *figures)
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
    """Milliseconds: open, filter, sort, open an item, longest frame."""
    page = browser.new_page(viewport={"width": 1360, "height": 900}, bypass_csp=True)  # the clock below needs `eval`
    page.goto(file.as_uri())
    loaded = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    longest = page.evaluate(SCROLL)
    find = "find.value = 'rome'; find.dispatchEvent(new Event('input', {bubbles: true}))"
    actions = [
        f"const find = document.getElementById('find'); {find}",
        "document.getElementById('filters').reset(); document.querySelectorAll('#items-table thead button')[4].click()",
        f"document.querySelector('{ROWS} a[href=\"#item={last}\"]').click()",
    ]
    times = [page.evaluate(TIMED, [action]) for action in actions]
    page.close()
    return [loaded, *times, longest]


if __name__ == "__main__":
    main()
