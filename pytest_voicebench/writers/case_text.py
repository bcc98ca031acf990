"""One scenario across agents, side by side, as the benchmark's paper shows it (tables 7 and 8), for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_voicebench.casing import Case, CaseRow
from pytest_voicebench.conversation import Call, Conversation, to_seconds
from pytest_voicebench.scorecard import ArgumentScore, Pair, Scorecard
from pytest_voicebench.writers.cells import UNMEASURED
from pytest_voicebench.writers.failure import CAUSES
from pytest_voicebench.writers.grid import Grid, Paint, grid_lines, plain
from pytest_voicebench.writers.plain_text import one_line, value_text

Json = Any

LABEL_WIDTH = 10
MOST_TEXT_LINES = 4

HEAD = ("agent", "outcome", "F1", "args", "reply s", "call s", "done s")


def case_text(case: Case, *, width: int = 100, paint: Paint = plain) -> str:
    """The request, the expected calls, a row for each agent, then what each of them did; lines of at most `width`.

    Times are seconds after the user's end, as in the paper: the first reply, the first call, the reply that holds the
    last result; `n/a` where they were not measured. All that agents and scenarios say is made safe for a terminal.
    """
    facts = case.rows[0].result.facts
    traits = ", ".join(t for t in (facts.domain, facts.difficulty, *facts.disfluency) if t)
    lines = [
        paint(one_line(f"case {case.scenario}: {facts.title}{f' ({traits})' if traits else ''}", width), "bold"),
        *_notices(case, width, paint),
        *_labelled("user", _request(case), width),
        *_expected(case, width),
        "",
        *grid_lines(_table(case), width=width, paint=paint),
    ]
    for row in case.rows:
        lines += [
            "",
            paint(one_line(f"{_name(row, case)}: {row.result.outcome}", width), "bold"),
            *_details(row, width),
        ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _notices(case: Case, width: int, paint: Paint) -> Iterator[str]:
    if case.changed:
        text = f"not the same request or expectation as in {case.rows[0].run}: {', '.join(case.changed)}"
        yield paint(one_line(text, width), "yellow")
    if len({row.result.agent.clock for row in case.rows}) > 1:
        text = "times on the virtual clock and on the wall clock are not comparable with each other"
        yield paint(one_line(text, width), "yellow")


def _request(case: Case) -> str:
    held = next((row.held for row in case.rows if row.held is not None), None)
    said = " ".join(u.text for u in held.turns) if held is not None else ""
    return said or "(no conversation of it was kept)"


def _expected(case: Case, width: int) -> Iterator[str]:
    """The calls asked for, with the arguments that some agent was held against."""
    calls: dict[int, Pair] = {}
    for row in (row for row in case.rows if row.run not in case.changed):
        for pair in row.result.scorecard.pairs if row.result.scorecard else ():
            if pair.expected not in calls or (pair.arguments and not calls[pair.expected].arguments):
                calls[pair.expected] = pair
    if not calls:
        yield from _labelled("expected", "nothing, or nothing was scored", width)
    for number, (_, pair) in enumerate(sorted(calls.items())):
        told = _call_text(pair.tool, {a.name: a.expected for a in pair.arguments})
        unknown = "" if pair.arguments else " (its arguments: see the suite)"
        yield from _labelled("expected" if number == 0 else "", told + unknown, width)


def _table(case: Case) -> Grid:
    rows = []
    for row in case.rows:
        card = row.result.scorecard
        times = card.times if card else None
        rows.append(
            (
                _name(row, case),
                row.result.outcome,
                _figure(card.f1_names if card else None),
                _figure(card.argument_accuracy if card else None),
                _figure(times.first_response_latency_s if times else None),
                _figure(times.tool_call_latency_s if times else None),
                _figure(times.task_completion_latency_s if times else None),
            )
        )
    return Grid(title="Seconds after the end of the user's speech", head=HEAD, rows=rows)


def _figure(value: float | None) -> str:
    return UNMEASURED if value is None else f"{value:.2f}"


def _name(row: CaseRow, case: Case) -> str:
    """The agent, and what else tells its row from the others: speaker, run."""
    name, speaker = row.agent, row.result.facts.speaker
    others = [other for other in case.rows if other is not row and other.agent == name]
    parts = [f"speaker {speaker}"] if any(o.result.facts.speaker != speaker for o in others) else []
    parts += [row.run] if any(other.run != row.run for other in others) else []
    return f"{name} ({', '.join(parts)})" if parts else name


def _details(row: CaseRow, width: int) -> Iterator[str]:
    result, card, held = row.result, row.result.scorecard, row.held
    yield from _labelled("run", f"{row.run}, {row.mode}, {result.agent.clock} clock", width)
    if result.cause:
        yield from _labelled("cause", f"{result.error_kind or ''} {result.cause}".strip(), width)
    if held is None:
        yield from _labelled("evidence", row.unread, width)
        return
    if card is not None:
        yield from _calls(card, held, width)
        yield from _labelled("reply", _reply(card), width)
    yield from _labelled("heard", _heard(held), width)
    yield from _labelled("said", _said(held), width)


def _calls(card: Scorecard, held: Conversation, width: int) -> Iterator[str]:
    """What was called in order of time, each with what differs; then what was never called."""
    pairs = {pair.actual: pair for pair in card.pairs if pair.actual is not None}
    calls = held.counted_calls
    for number, call in enumerate(calls):
        label = "calls" if number == 0 else ""
        yield from _labelled(label, f"{_when(call, card)} {_call_text(call.name, call.arguments)}", width)
        yield from _labelled("", f"  {_judged(number, call, pairs.get(number), card)}", width)
        for argument in pairs[number].arguments if number in pairs else ():
            if argument.verdict != "match":
                yield from _labelled("", f"  {_differs(argument)}", width)
    for number, pair in enumerate(pair for pair in card.pairs if pair.actual is None):
        yield from _labelled("calls" if not calls and number == 0 else "", f"{pair.tool}: never called", width)


def _when(call: Call, card: Scorecard) -> str:
    at_s, end_s = to_seconds(call.at_ticks), card.times.user_end_s
    if not call.timed:
        return "(no time)"
    return f"at {at_s:.2f} s" if end_s is None else f"{at_s - end_s:+.2f} s"


def _judged(number: int, call: Call, pair: Pair | None, card: Scorecard) -> str:
    parts = ["EXTRA: nobody asked for it" if pair is None else "ok" if pair.matches else "WRONG"]
    if call.status != "executed":
        parts.append(f"{call.status} ({call.reason})" if call.reason else call.status)
    if number in card.premature_commits:
        parts.append("premature commit: a value that was taken back")
    return ", ".join(parts)


def _differs(argument: ArgumentScore) -> str:
    cause = CAUSES[argument.cause] if argument.cause else ""
    told = f"{argument.name}: expected {value_text(argument.expected, 40)}, got {value_text(argument.actual, 40)}"
    return f"{told}; {cause}" if cause else told


def _reply(card: Scorecard) -> str:
    times, end_s = card.times, card.times.user_end_s
    reply_s = None if end_s is None or times.reply_start_s is None else times.reply_start_s - end_s
    told = "none" if reply_s is None else f"{reply_s:+.2f} s"
    if times.interruption_depth_s is not None:
        return f"{told}; interrupted the user at {-times.interruption_depth_s:+.2f} s"
    return told if card.spoke else f"{told}: the agent never took the turn"


def _heard(held: Conversation) -> str:
    heard = " ".join(t.text for t in held.transcripts if t.speaker == "user")
    return heard or "(the agent gives no transcript of the user)"


def _said(held: Conversation) -> str:
    said = " ".join(t.text if t.heard_text is None else t.heard_text for t in held.transcripts if t.speaker == "agent")
    return said.strip() or "(the agent gives no transcript of itself)"


def _call_text(tool: str, arguments: Mapping[str, Json]) -> str:
    return f"{tool}({', '.join(f'{name}={value_text(value)}' for name, value in arguments.items())})"


def _labelled(label: str, text: str, width: int) -> list[str]:
    """The text behind its label, on a few lines, the rest left out with dots."""
    indent = " " * (len(text) - len(text.lstrip(" ")))
    wrapped = textwrap.wrap(
        one_line(text.strip()),
        width - LABEL_WIDTH - 2,
        initial_indent=indent,
        subsequent_indent=indent,
        max_lines=MOST_TEXT_LINES,
        placeholder=" ...",
    )
    return [
        one_line(f"  {label if number == 0 else '':<{LABEL_WIDTH}}{line}", width)
        for number, line in enumerate(wrapped or [""])
    ]
