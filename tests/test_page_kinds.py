"""report.html of runs of every kind, in a browser at four widths: no complaint, no network, nothing off the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import browser, needs_chromium, opened, serious_findings, width_of
from page_kinds import KINDS, all_errors, decided, imported, long_texts, page_of, redacted, two_agents, without_audio

__all__ = ["browser"]  # a fixture: pytest finds it by its name here
pytestmark = needs_chromium

WIDTHS = (360, 768, 1360, 1920)
SPILLED = """() => Array.from(document.querySelectorAll('.panel *'))
    .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== 'inline')
    .filter((one) => !one.closest('svg, .track, .scroll .scroll, select'))
    .map((one) => `${one.tagName}.${one.className}`)"""
"""What of an opened item is wider than its own box, where nothing scrolls."""


def opened_item(page: Any) -> None:
    """Open the first item, if there is one."""
    links = page.locator("#items-table > tbody > tr > th > a")
    if links.count():
        links.first.click()
        page.wait_for_selector(".panel")


def check(page: Any, *, dark_first: bool) -> None:
    """Everything that must hold of any page, with its first item open."""
    opened_item(page)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert width_of(page) <= width
        assert page.evaluate(SPILLED) == []
    page.emulate_media(color_scheme="dark" if dark_first else "light")
    assert serious_findings(page) == []
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    page.emulate_media(color_scheme="light" if dark_first else "dark")
    page.keyboard.press("Space")
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    assert page.locator(".panel").count() == 0


@pytest.mark.parametrize(("number", "kind"), enumerate(KINDS), ids=[kind.__name__ for kind in KINDS])
def test_the_page_of_a_run_of_any_kind_is_whole_at_every_width(browser, tmp_path, number, kind):
    with opened(browser, page_of(kind(tmp_path / "run"))) as page:
        check(page, dark_first=bool(number % 2))


def test_so_is_one_with_gates_and_a_baseline(browser, tmp_path):
    with opened(browser, page_of(two_agents(tmp_path / "run"), **decided())) as page:
        check(page, dark_first=False)


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
