"""Whatever somebody else may write, in any field that there is: shown on the page, never markup, script or formula."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browsing import browser, needs_chromium, opened, serious_findings
from pages import HOSTILE
from planted import VARIANTS, header_with, planted, planted_run, planted_summary

from pytest_voicebench.decisions import BaselineComparison, GateResult
from pytest_voicebench.page.items import embedded_sound, linked
from pytest_voicebench.page.write import PAGE_NAME, page_html
from pytest_voicebench.saved_run import SavedRun
from pytest_voicebench.summary import Summary

__all__ = ["browser"]  # a fixture: pytest finds it by its name here

FORMULAS = ("=cmd|' /C calc'!A1", "+1+cmd|' /C calc'!A1", "-2+3", "@SUM(1,1)", '=HYPERLINK("//x.invalid","a")')
SCRIPTS = 4
"""The page's own: names of agents, shapes, data, and what runs."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> SavedRun:
    return planted_run(tmp_path_factory.mktemp("planted") / "run", HOSTILE)


class Markup(HTMLParser):
    """What a browser takes for markup: the tags, and attributes that would run something."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.running: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.running += [
            name for name, value in attrs if name.startswith("on") or (value or "").startswith("javascript:")
        ]


def is_inert(html: str) -> bool:
    """Whether nothing of the planted text is markup."""
    found = Markup(html)
    return found.tags["img"] == 0 and found.tags["script"] == html.count("</script>") == SCRIPTS and not found.running


@pytest.mark.parametrize("value", [HOSTILE, [HOSTILE], {HOSTILE: HOSTILE}], ids=["text", "list", "mapping"])
@pytest.mark.parametrize("sound", [linked, embedded_sound])
def test_no_field_of_a_run_its_head_or_its_summary_becomes_markup(run, value, sound):
    html = page_html(run, planted_summary(run, HOSTILE, header_with(value)), sound)
    assert is_inert(html)
    assert html.count("onerror=window.pwned=1&gt;") > 100


def test_the_summary_of_such_results_has_a_page_too(run):
    assert is_inert(page_html(run, run.summary(), linked))


def test_what_is_planted_holds_every_part_that_decides_or_costs_something():
    summary = planted(Summary, HOSTILE)
    assert isinstance(summary.baseline, BaselineComparison)
    assert isinstance(summary.gates[0], GateResult)
    assert summary.baseline.cautions == (HOSTILE,)
    assert summary.gates[0].why == summary.gates[0].expression == HOSTILE
    assert summary.agents[0].cost.unknown == {HOSTILE: 0}


def written(run: SavedRun, text: str) -> Path:
    """The page with everything planted, as a file."""
    path = run.folder / PAGE_NAME
    path.write_text(page_html(run, planted_summary(run, text, header_with({text: text})), linked), encoding="utf-8")
    return path


def open_everything(page: Any) -> None:
    """Each item in turn, with all that is folded in it."""
    for link in page.locator("#items-table > tbody > tr > th > a").all():
        link.click()
        page.wait_for_selector(".panel")
        for folded in page.locator(".panel details > summary").all():
            folded.click()


@needs_chromium
def test_in_a_browser_nothing_planted_runs_and_axe_finds_nothing_serious(browser, run):
    with opened(browser, written(run, HOSTILE)) as page:
        for select in page.locator("#filters select").all():
            select.select_option(index=1)
        page.click("#filters button[type=reset]")
        open_everything(page)
        assert HOSTILE in page.locator(".panel").inner_text()
        assert page.evaluate("[window.pwned, document.images.length, document.scripts.length]") == [None, 0, SCRIPTS]
        assert serious_findings(page) == []


@needs_chromium
def test_no_cell_that_is_saved_for_a_spreadsheet_is_a_formula(browser, tmp_path):
    run = planted_run(tmp_path / "run", *FORMULAS)
    with opened(browser, written(run, FORMULAS[0])) as page:
        with page.expect_download() as saved:
            page.click("#save")
        rows = list(csv.reader(io.StringIO(Path(saved.value.path()).read_text(encoding="utf-8-sig"))))
    assert len(rows) == 1 + VARIANTS
    assert len({len(row) for row in rows}) == 1
    assert {row[0][:2] for row in rows[1:]} == {f"'{formula[0]}" for formula in FORMULAS}
    assert [cell for row in rows for cell in row if re.match(r"\s*[=+@-](?![\d.]+$)", cell)] == []
