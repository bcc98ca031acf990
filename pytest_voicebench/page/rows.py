"""The list of items: a row each, with what filters and sorts them, and the data that opens below a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from pytest_voicebench.counted import counted
from pytest_voicebench.page.data import Item
from pytest_voicebench.page.markup import Html, el, join, json_text, raw
from pytest_voicebench.page.packing import packed, shapes
from pytest_voicebench.page.reasons import first_difference, labels_of
from pytest_voicebench.page.verdict import badge
from pytest_voicebench.result import Facts, Result
from pytest_voicebench.summary import AgentSummary
from pytest_voicebench.writers.cells import UNMEASURED
from pytest_voicebench.writers.plain_text import one_line

OUTCOMES = {"passed": "good", "failed": "bad", "error": "open", "skipped": "open", "not_run": "open"}
FIGURES = (
    ("F1", "f1", 3),
    ("Args", "arguments", 3),
    ("Response s", "first_response", 2),
    ("Tool call s", "tool_call", 2),
    ("Done s", "completion", 2),
)


def items_section(
    items: Sequence[Item], results: Sequence[Result], agents: Sequence[AgentSummary], moved: Mapping[str, str]
) -> Html:
    """The filters, which only a script shows, and the table. Items and results stand in the same order.

    `moved` says which items changed sides since the baseline, and to which.
    """
    several = len(agents) > 1
    labels = [labels_of(result, moved) for result in results]
    rows = [_row(*row, agents, several) for row in zip(items, results, labels, strict=True)]
    head = ["Item", *["Agent"] * several, "Outcome", "Disfluency", "Domain", "Difficulty"]
    head += [*(title for title, _, _ in FIGURES), "Why"]
    table = el(
        "table",
        el("caption", "Latencies in seconds after the end of the user's speech", class_="note"),
        el("thead", el("tr", [el("th", title, scope="col") for title in head])),
        el("tbody", rows),
        id="items-table",
        class_="items several" if several else "items",
    )
    save = el("button", "Save as CSV", type="button", id="save", hidden=True)
    return join(
        [
            _filters([result.facts for result in results], items, agents, labels),
            el("div", el("p", counted(len(items), "item"), id="shown", role="status"), save, class_="shown"),
            el("div", table, class_="scroll", tabindex="0", role="region", aria_label="Table of items"),
        ]
    )


def items_data(items: Sequence[Item]) -> Html:
    """What opens below the rows: how to read it, then a line of JSON for each item, so that each is read on its own."""
    lines = [json_text(packed(item)) for item in items]
    return join(
        [
            el("script", json_text(shapes(Item)), type="application/json", id="shapes"),
            el("script", raw("\n".join(lines)), type="application/json", id="data"),
        ]
    )


def _row(item: Item, result: Result, labels: Sequence[str], agents: Sequence[AgentSummary], several: bool) -> Html:
    facts, difference = result.facts, first_difference(result.scorecard)
    link = el("a", item.id, href=f"#item={quote(one_line(item.id))}")
    cells = [el("th", link, " ", el("i", item.title), scope="row")]
    if several:
        cells.append(el("td", agents[item.agent].name))
    outcome = badge(OUTCOMES[item.outcome], item.outcome.replace("_", " "))
    cells += [
        el("td", outcome),
        el("td", ", ".join(map(_words, facts.disfluency))),
        el("td", _words(facts.domain or "")),
        el("td", facts.difficulty or ""),
        *(_figure(item, name, digits) for _, name, digits in FIGURES),
        el("td", item.why, el("i", difference) if difference else None),
    ]
    return el("tr", cells, data_reason=", ".join(labels) or None)


def _figure(item: Item, name: str, digits: int) -> Html:
    value = getattr(item.line, name)
    if value is None:
        return el("td", UNMEASURED if item.outcome in ("passed", "failed") else "")
    return el("td", f"{value:.{digits}f}")


def _words(name: str) -> str:
    return name.replace("_", " ")


def _filters(
    facts: Sequence[Facts], items: Sequence[Item], agents: Sequence[AgentSummary], labels: Sequence[Sequence[str]]
) -> Html:
    """Shown by the script: without it there would be nothing behind them."""
    reasons = Counter(label for some in labels for label in some)
    counted = {
        "outcome": Counter(item.outcome for item in items),
        "reason": reasons + Counter({"": sum(not some for some in labels)}) if reasons else reasons,
        "disfluency": Counter(name for fact in facts for name in fact.disfluency or ("",)),
        "domain": Counter(fact.domain or "" for fact in facts),
        "difficulty": Counter(fact.difficulty or "" for fact in facts),
        "agent": Counter(agents[item.agent].name for item in items),
    }
    chosen = [_select(name, found) for name, found in counted.items()]
    text = el(
        "label",
        "Find ",
        el("input", id="find", type="search", placeholder="id, title, why, words, calls", autocomplete="off"),
    )
    clear = el("button", "Clear", type="reset")
    return el("form", text, chosen, clear, id="filters", hidden=True, role="search", aria_label="Filter items")


def _select(name: str, found: Mapping[str, int]) -> Html | None:
    """Values are as the cells of the table show them, which is what the script looks at."""
    if len(found) < 2:
        return None
    options = [
        (value if name in ("agent", "reason") else _words(value), number) for value, number in sorted(found.items())
    ]
    entries = [el("option", f"{value or 'none'} ({number})", value=value) for value, number in options]
    return el("label", f"{name.capitalize()} ", el("select", el("option", "any", value="*"), entries, name=name))
