"""report.html of runs of every kind, in a browser at four widths: no complaint, no network, nothing off the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import browser, needs_chromium, opened, serious_findings, width_of
from page_kinds import (
    KINDS,
    all_errors,
    decided,
    imported,
    long_texts,
    nothing_selected,
    page_of,
    redacted,
    trials,
    without_audio,
)
from pages import two_agents

__all__ = ["browser"]  # a fixture: pytest finds it by its name here
pytestmark = needs_chromium

WIDTHS = (360, 768, 1360, 1920)
SPILLED = """() => Array.from(document.querySelectorAll('.panel *'))
    .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== 'inline')
    .filter((one) => !one.closest('svg, .track, .scroll .scroll, select'))
    .map((one) => `${one.tagName}.${one.className}`)"""
"""What of an opened item is wider than its own box, where nothing scrolls."""

NARROW = """() => innerWidth > 640 && Array.from(document.querySelectorAll('#items-table > thead th'))
    .filter((one) => one.offsetParent !== null && one.offsetWidth < 60)
    .map((one) => `${one.textContent}: ${one.offsetWidth}`).join(', ')"""
"""Columns of the items, where they are columns, in which no word has room."""


def opened_item(page: Any) -> None:
    """Open the first item, if there is one."""
    links = page.locator("#items-table > tbody > tr > th > a")
    if links.count():
        links.first.click()
        page.wait_for_selector(".panel")


def is_whole(page: Any) -> None:
    """Nothing is wider than the window or than its own box, with the first item open, and the keyboard leads out."""
    opened_item(page)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert width_of(page) <= width
        assert page.evaluate(SPILLED) == []
        assert not page.evaluate(NARROW)
    for key in ("Space", "j", "Escape"):
        page.keyboard.press(key)
    assert page.locator(".panel").count() == 0


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_page_of_a_run_of_any_kind_is_whole_at_every_width(browser, tmp_path, kind):
    with opened(browser, page_of(kind(tmp_path / "run")), color_scheme="dark") as page:
        is_whole(page)


def test_so_is_one_with_gates_and_a_baseline(browser, tmp_path):
    with opened(browser, page_of(two_agents(tmp_path / "run"), **decided())) as page:
        is_whole(page)
        assert serious_findings(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", [all_errors, imported, trials, nothing_selected], ids=lambda kind: kind.__name__)
def test_axe_finds_nothing_serious_where_a_page_lacks_or_adds_something(browser, tmp_path, kind, scheme):
    """Other kinds have no element that these, or the page of two agents, have not."""
    with opened(browser, page_of(kind(tmp_path / "run")), color_scheme=scheme) as page:
        opened_item(page)
        assert serious_findings(page) == []


@pytest.mark.parametrize("kind", [long_texts, all_errors])
def test_such_a_page_prints(browser, tmp_path, kind):
    with opened(browser, page_of(kind(tmp_path / "run"))) as page:
        opened_item(page)
        assert len(page.pdf(format="A4")) > 10_000


Kind = Callable[[Path], Path]


def told_by(browser: Any, page_file: Path) -> str:
    """What the first item says when it is opened."""
    with opened(browser, page_file) as page:
        opened_item(page)
        return page.locator(".panel").inner_text()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (without_audio, "sound (--voicebench-no-audio)"),
        (redacted, "text (--voicebench-redact)"),
        (imported, "no recording"),
        (all_errors, "agent_absent: ws://127.0.0.1:9: nobody listens there"),
    ],
)
def test_what_was_never_kept_is_not_called_missing(browser, tmp_path, kind, said):
    told = told_by(browser, page_of(kind(tmp_path / "run")))
    assert said in told
    assert f"agent_absent: {said}" not in told
    assert "Missing evidence" not in told
