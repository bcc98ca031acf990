"""`write_page`: report.html of a run, in one file that needs no network and runs nothing but its own script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

from pytest_voicebench.files import write_atomically
from pytest_voicebench.page.data import Item
from pytest_voicebench.page.items import Address, embedded_sound, linked, page_items
from pytest_voicebench.page.markup import Html, el, join, json_text, raw
from pytest_voicebench.page.measured import measured_section, notice_lines
from pytest_voicebench.page.plots import plots_section
from pytest_voicebench.page.reasons import moved_items
from pytest_voicebench.page.rows import items_data, items_section
from pytest_voicebench.page.tables import benchmark_section
from pytest_voicebench.page.verdict import verdict_section
from pytest_voicebench.saved_run import SavedRun
from pytest_voicebench.summary import Summary
from pytest_voicebench.writers.plain_text import one_line
from pytest_voicebench.writers.terminal_header import with_distinct_names, with_given_settings

PAGE_NAME = "report.html"
ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("dom.js", "rows.js", "player.js", "voices.js", "timeline.js", "detail.js", "main.js")
SECTIONS = (
    ("verdict", "Verdict"),
    ("measured", "What was measured"),
    ("tables", "Tables"),
    ("plots", "Plots"),
    ("items", "Items"),
)


def write_page(run: SavedRun, summary: Summary) -> Path:
    """Write report.html into the run's folder, whole or not at all; recordings and event logs are linked from it.

    Gives its path. Evidence that is missing or damaged is said by its item. Raises OSError.
    """
    return _write(run, summary, linked)


def write_page_with_sound(run: SavedRun, summary: Summary) -> Path:
    """As `write_page`, with recordings and event logs inside the page, so that it can be sent alone."""
    return _write(run, summary, embedded_sound)


def _write(run: SavedRun, summary: Summary, sound: Address) -> Path:
    path = run.folder / PAGE_NAME
    write_atomically(path, page_html(run, summary, sound).encode("utf-8", "backslashreplace"))
    return path


def page_html(run: SavedRun, summary: Summary, sound: Address) -> str:
    """The whole page."""
    items = tuple(page_items(run, summary, sound))  # results know their agents by the names of the run
    summary = with_distinct_names(with_given_settings(summary))
    style, script = _asset("page.css"), join([raw("'use strict';\n"), *map(_asset, SCRIPTS)])
    title = f"{' + '.join(summary.suites) or 'no suite'}, {summary.header.get('run') or run.name}"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"voicebench: {title}"),
        el("style", style),
    )
    names = json_text([one_line(agent.name) for agent in summary.agents])
    data = [el("script", names, type="application/json", id="agents"), items_data(items)]
    body = el("body", *_body(run, summary, items, title), data, el("script", script, type="module"))
    return "<!doctype html>\n" + el("html", head, body, lang="en") + "\n"


def _body(run: SavedRun, summary: Summary, items: Sequence[Item], title: str) -> list[Html]:
    plots = plots_section(summary, items)
    contents = {
        "verdict": verdict_section(summary),
        "measured": measured_section(summary),
        "tables": benchmark_section(summary),
        "plots": plots,
        "items": items_section(items, run.results, summary.agents, moved_items(summary.baseline)),
    }
    shown_sections = [(name, label) for name, label in SECTIONS if contents[name] is not None]
    links = [el("li", el("a", label, href=f"#{name}")) for name, label in shown_sections]
    toggle = el("button", "Light / dark", id="theme", type="button", hidden=True)
    header = el(
        "header",
        el("div", el("p", "voicebench", class_="product"), el("h1", title), class_="heading"),
        el("nav", el("ul", links), aria_label="Sections"),
        toggle,
        class_="top",
    )
    sections = [
        el("section", el("h2", label, id=f"{name}-title"), contents[name], id=name, aria_labelledby=f"{name}-title")
        for name, label in shown_sections
    ]
    notices = el("div", notice_lines(summary), class_="notices")
    return [el("a", "Skip to the items", href="#items", class_="skip"), header, el("main", notices, sections), _keys()]


def _keys() -> Html:
    """What the keyboard does; without the script it does nothing."""
    keys = (
        ("/", "find"),
        ("j k", "next and previous item"),
        ("Enter", "open"),
        ("Space", "play or pause"),
        ("v", "one voice alone"),
        ("← →", "one second; with Shift a tenth"),
        ("Esc", "close"),
    )
    entries = [el("li", el("kbd", key), " ", text) for key, text in keys]
    return el("footer", el("ul", entries, class_="keys"))


def _asset(name: str) -> Html:
    """A file of the front end without its indentation and lines of comment."""
    lines = map(str.strip, (ASSETS / name).read_text(encoding="utf-8").splitlines())
    return raw("\n".join(line for line in lines if line and not line.startswith("//")) + "\n")


def _policy(style: str, script: str) -> str:
    """Nothing but this style and this script; sound from beside the page, from inside it, or that a person chose."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'sha256-{_digest(script)}'",
            f"style-src 'sha256-{_digest(style)}'",
            "media-src 'self' file: data: blob:",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
