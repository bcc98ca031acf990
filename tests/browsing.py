"""A page opened from disk in the system's Chromium: what it asks the network for, and any complaint, fails the test.

Needs the extra `browser` and Chromium (`chromium`, or its path in VOICEBENCH_CHROMIUM).
"""

from __future__ import annotations

import functools
import importlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMED = os.environ.get("VOICEBENCH_CHROMIUM")  # where a browser is named, nothing is skipped
CHROMIUM = NAMED or shutil.which("chromium")

_find = importlib.import_module if NAMED else functools.partial(pytest.importorskip, reason="needs the extra `browser`")
sync_api = _find("playwright.sync_api")
axe = _find("axe_playwright_python.sync_playwright")

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, once for a module."""
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM)
        yield started
        started.close()


@contextmanager
def opened(browser: Any, file: Path, address: str = "", **context: Any) -> Iterator[Any]:
    """The page in a window of its own; anything that it asks the network for, and any complaint, fails the test."""
    context = {"viewport": {"width": 1360, "height": 900}, "offline": True} | context
    window = browser.new_context(**context)
    page, complaints = window.new_page(), []
    page.set_default_timeout(20_000)
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request", lambda asked: None if asked.url[:5] in ("file:", "data:", "blob:") else complaints.append(asked.url)
    )
    page.goto(f"{file.as_uri()}{address}")
    yield page
    window.close()
    assert complaints == []


def serious_findings(page: Any) -> list[str]:
    """What axe holds against the page as it stands: serious or critical."""
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in found for node in one["nodes"] if one["impact"] in ("serious", "critical")
    ]  # fmt: skip


def width_of(page: Any) -> int:
    """How wide the page itself is: more than the window means that it scrolls sideways."""
    return page.evaluate("document.documentElement.scrollWidth")
