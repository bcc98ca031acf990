"""A run as one table for other programs: a row an item, a column a fact or a score, each with its meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pytest_voicebench.official_card import OfficialCard
from pytest_voicebench.result import Result
from pytest_voicebench.saved_run import SavedRun
from pytest_voicebench.scorecard import Scorecard

Cell = str | float | int | bool | None
Kind = Literal["text", "flag", "count", "number"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: what stands in it, and how it is found. Everything unmeasured is None."""

    name: str
    kind: Kind
    meaning: str
    find: Callable[[Result], Any]


def item_rows(run: SavedRun) -> list[dict[str, Cell]]:
    """A row for every planned item of a run, in the plan's order, with the cells of all COLUMNS by name."""
    head: dict[str, Cell] = {"run": run.name, "mode": run.header.get("mode")}
    return [head | {column.name: column.find(row) for column in COLUMNS} for row in run.results]


def _of_card(find: Callable[[Scorecard], Any]) -> Callable[[Result], Any]:
    return lambda row: None if row.scorecard is None else find(row.scorecard)


def _of_official(find: Callable[[OfficialCard], Any]) -> Callable[[Result], Any]:
    return lambda row: None if row.official is None else find(row.official)


def _listed(texts: tuple[str, ...]) -> str | None:
    return ",".join(texts) or None


def _wrong(cause: str) -> Callable[[Scorecard], int]:
    def count(card: Scorecard) -> int:
        causes: Mapping[Any, int] = card.wrong_causes
        return causes.get(cause, 0)

    return count


def _text(name: str, meaning: str, find: Callable[[Result], Any]) -> Column:
    return Column(name=name, kind="text", meaning=meaning, find=find)


def _score(name: str, kind: Kind, meaning: str, find: Callable[[Scorecard], Any]) -> Column:
    return Column(name=name, kind=kind, meaning=meaning, find=_of_card(find))


def _official(name: str, kind: Kind, meaning: str, find: Callable[[OfficialCard], Any]) -> Column:
    return Column(name=f"official_{name}", kind=kind, meaning=meaning, find=_of_official(find))


RUN_COLUMNS = (
    ("run", "the run's name"),
    ("mode", "live, rescored or imported"),
)
"""Text, the same in every row."""

COLUMNS: tuple[Column, ...] = (
    _text("suite", "the suite's name", lambda r: r.facts.suite),
    _text("item", "the item's id in this run", lambda r: r.item_id),
    _text("scenario", "the scenario's id", lambda r: r.facts.scenario_id),
    _text("speaker", "who speaks", lambda r: r.facts.speaker),
    Column(name="trial", kind="count", meaning="which of the scenario's trials, from 1", find=lambda r: r.trial),
    _text("agent", "the agent's name in this run", lambda r: r.agent.name),
    _text("model", "the agent's model", lambda r: r.agent.model),
    _text("clock", "virtual or wall: their latencies are not comparable", lambda r: r.agent.clock),
    _text("stimulus", "synthetic or human speech", lambda r: r.facts.stimulus),
    _text("domain", "as the scenario says", lambda r: r.facts.domain),
    _text("difficulty", "as the scenario says", lambda r: r.facts.difficulty),
    _text("disfluency", "all of them, commas between", lambda r: _listed(r.facts.disfluency)),
    _text("tags", "all of them, commas between", lambda r: _listed(r.facts.tags)),
    Column(name="expected_calls", kind="count", meaning="calls asked for", find=lambda r: r.facts.expected_calls),
    Column(
        name="has_retraction", kind="flag", meaning="something is taken back", find=lambda r: r.facts.has_retraction
    ),
    _text("known_issue", "why the scenario's label may be wrong", lambda r: r.facts.known_issue),
    _text("outcome", "passed, failed, error, skipped or not_run", lambda r: r.outcome),
    _text("error_kind", "of an error", lambda r: r.error_kind),
    _text("cause", "of an error or a skip", lambda r: r.cause),
    _text("attempts", "outcomes of all attempts where there were several", lambda r: _listed(r.attempts)),
    _score("passed", "flag", "Pass: tools_ok, args_ok, spoke, and what the scenario requires", lambda c: c.passed),
    _score("tools_ok", "flag", "every expected call was made, no other was", lambda c: c.tools_ok),
    _score("args_ok", "flag", "every argument matches", lambda c: c.args_ok),
    _score("spoke", "flag", "the agent took the turn", lambda c: c.spoke),
    _score("f1", "number", "tool names", lambda c: c.f1_names),
    _score("f1_match", "number", "names and arguments", lambda c: c.f1_match),
    _score("f1_strict", "number", "names and arguments, types too", lambda c: c.f1_strict),
    _score("precision", "number", "of tool names", lambda c: c.precision),
    _score("recall", "number", "of tool names", lambda c: c.recall),
    _score("argument_accuracy", "number", "over expected calls", lambda c: c.argument_accuracy),
    _score("argument_accuracy_strict", "number", "the same, types too", lambda c: c.argument_accuracy_strict),
    _score("surplus_calls", "count", "calls that nobody asked for", lambda c: len(c.surplus)),
    _score("wrong_stale", "count", "wrong arguments that were said, then taken back", _wrong("stale")),
    _score("wrong_misheard", "count", "wrong arguments that the agent heard otherwise", _wrong("misheard")),
    _score("wrong_invented", "count", "wrong arguments that nobody said or returned", _wrong("invented")),
    _score("wrong_other", "count", "all other wrong arguments", _wrong("other")),
    _score("premature_commits", "count", "calls with a value that was taken back", lambda c: len(c.premature_commits)),
    _score("turn_taken", "flag", "the agent spoke up", lambda c: c.manners.turn_taken),
    _score("interrupted", "flag", "it spoke into the user's turn", lambda c: c.manners.interrupted),
    _score("filler", "flag", "of a clean turn with calls: it spoke before it was done", lambda c: c.manners.filler),
    _score(
        "preemptive", "flag", "of items with a call: it called before the user's end", lambda c: c.manners.preemptive
    ),
    _score("user_end_s", "number", "end of the user's speech, from the start", lambda c: c.times.user_end_s),
    _score(
        "first_response_latency_s", "number", "from user_end_s to the reply", lambda c: c.times.first_response_latency_s
    ),
    _score("tool_call_latency_s", "number", "to the first call, signed", lambda c: c.times.tool_call_latency_s),
    _score(
        "task_completion_latency_s",
        "number",
        "to the reply with the last result",
        lambda c: c.times.task_completion_latency_s,
    ),
    _score("interruption_depth_s", "number", "before the user's end", lambda c: c.times.interruption_depth_s),
    _score("latency_cause", "text", "why there is no first response latency", lambda c: c.times.cause),
    _score("score_set", "text", "set and version of the scores above", lambda c: f"{c.score_set} {c.version}"),
    _official("passed", "flag", "by the official rules", lambda c: c.passed),
    _official("f1", "number", "by the official rules", lambda c: c.tools.f1),
    _official("argument_accuracy", "number", "by the official rules", lambda c: c.argument_accuracy),
    Column(name="duration_s", kind="number", meaning="of the conversation", find=lambda r: r.duration_s),
    Column(
        name="late_p99_s",
        kind="number",
        meaning="how late blocks of the user's audio left",
        find=lambda r: r.delivery and r.delivery.late_p99_s,
    ),
    Column(
        name="read_late_p99_s",
        kind="number",
        meaning="how long what the agent sent waited to be read",
        find=lambda r: r.delivery and r.delivery.read_late_p99_s,
    ),
    Column(
        name="answer_late_max_s",
        kind="number",
        meaning="by how much the latest answer of ours left late for that",
        find=lambda r: r.delivery and r.delivery.answer_late_max_s,
    ),
    Column(name="usd", kind="number", meaning="what the sessions of all attempts cost", find=lambda r: r.usd),
    _text("transcript_source", "provider or recognised: whose words of the agent", lambda r: r.transcript_source),
    _text("withheld", "what the run did not keep: sound, text", lambda r: _listed(r.withheld)),
    _text("scenario_sha256", "what shapes the conversation", lambda r: r.facts.scenario_sha256),
    _text("expect_sha256", "what the item is judged by", lambda r: r.facts.expect_sha256),
)
"""In the order in which they are written, behind those of RUN_COLUMNS."""
