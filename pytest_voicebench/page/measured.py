"""What was measured, and how: the facts without which no figure of the page means anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_voicebench.counted import counted
from pytest_voicebench.page.markup import Html, el, join
from pytest_voicebench.summary import AgentSummary, Summary
from pytest_voicebench.writers.terminal_header import (
    agent_text,
    cost_text,
    how_made,
    how_rescored,
    notices_of,
    outcomes_text,
    words_text,
)

Json = Any

JUDGE_OFF = "off (exact match)"


def notice_lines(summary: Summary) -> list[Html]:
    """What must be known before a figure is read."""
    return [el("p", notice, class_="notice") for notice in notices_of(summary)]


def measured_section(summary: Summary) -> Html:
    """A list of terms with what holds for this run."""
    rules = _mapping(summary.header.get("rules"))
    return join(
        [
            _terms(_facts(summary)),
            el("details", el("summary", "Rules behind the scores"), _terms(_rules(rules))) if rules else None,
        ]
    )


def _terms(facts: Iterable[tuple[str, list[str]]]) -> Html:
    terms = [[el("dt", term), [el("dd", text) for text in texts]] for term, texts in facts if texts]
    return el("dl", terms, class_="facts")


def _facts(summary: Summary) -> Iterator[tuple[str, list[str]]]:
    header = summary.header
    yield "Run", [str(header["run"])] if header.get("run") else []
    yield "Mode", [mode_text(header)]
    yield (
        "Suite",
        [f"{name}, sha256 {sha}" for name, sha in _mapping(header.get("suites")).items()] or [*summary.suites],
    )
    yield "Stimulus", [notices_of(summary)[0].removeprefix("stimulus: ")]
    yield (
        "Scored",
        [
            f"{summary.counts.valid} of {counted(summary.counts.planned, 'item')}",
            outcomes_text(summary.counts, with_kinds=True),
        ],
    )
    yield "Judge", _judge(summary)
    yield "Scores", [f"{summary.score_set} {summary.score_version}", *_official(summary)]
    tolerance = _mapping(header.get("rules")).get("tolerance")
    yield "Tolerance", [f"{tolerance}; numbers given as text are read and noted"] if tolerance else []
    for agent in summary.agents:
        yield "Agent", _agent(agent)
    yield "Prices", [f"{name}: {text}" for name, text in _mapping(header.get("prices")).items()]
    yield "Made with", [", ".join(how_made(header))]


def mode_text(header: Mapping[str, Json]) -> str:
    """Whether these conversations were held for this run."""
    if header.get("rescored_from"):
        return f"rescored: {how_rescored(header)}"
    if header.get("imported"):
        return f"imported, held by others: {header['imported']}"
    parts = [f"{name}: {header[name]}" for name in ("shards", "merged") if header.get(name)]
    return ", ".join(["live", *parts])


def _judge(summary: Summary) -> list[str]:
    if not summary.judge:
        return [JUDGE_OFF]
    return [
        f"{one.judge.text}: {one.judged} of {counted(one.asked, 'question')} judged; "
        "changes no outcome, beside the exact scores"
        for one in summary.judge
    ]


def _official(summary: Summary) -> list[str]:
    official = summary.official
    if official is None or not official.agents:
        return []
    return [f"{official.score_set} {official.score_version}, {official.mode} mode, in summary.json and `report`"]


def _rules(rules: Mapping[str, Json]) -> Iterator[tuple[str, list[str]]]:
    for name, text in rules.items():
        if name != "judge":
            yield name.replace("_", " "), [str(text)]


def _agent(agent: AgentSummary) -> list[str]:
    return [text for text in (agent_text(agent), words_text(agent), cost_text(agent.cost), _usage(agent)) if text]


def _usage(agent: AgentSummary) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in agent.usage.items())


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
