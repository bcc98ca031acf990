"""The tables of a run as grids of text: the benchmark's, numbered 2 to 6, and those that lie beneath."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_voicebench.summary import AgentSummary, Mean, Scores
from pytest_voicebench.writers.cells import (
    difference_text,
    rate_cells,
    score_cells,
    seconds_text,
    share_cells,
    value_text,
)
from pytest_voicebench.writers.grid import Grid

MOST_WARNINGS = 8
_HEX_ID = re.compile(r"[0-9a-f]{16,}")

OVERALL = (
    ("Pass@1", "pass_at_1"),
    ("  all tools right", "tools_ok"),
    ("  all arguments right", "args_ok"),
    ("F1, tool names", "f1"),
    ("F1, names + arguments", "f1_match"),
    ("F1, names + strict arguments", "f1_strict"),
    ("argument accuracy", "argument_accuracy"),
    ("argument accuracy, strict", "argument_accuracy_strict"),
    ("turn-take / items", "turn_take_rate"),
    ("task completion latency, mean", "task_completion_latency_s"),
    ("interruption / turns taken", "interruption_rate"),
    ("filler / clean turns", "filler_rate"),
    ("pre-emptive / items with a call", "preemptive_rate"),
)
OTHER_DENOMINATORS = (
    ("Pass@1 / turns taken", "pass_at_1_turn_taken"),
    ("F1, tool names / turns taken", "f1_turn_taken"),
    ("argument accuracy / turns taken", "argument_accuracy_turn_taken"),
    ("interruption / all items", "interruption_rate_all"),
    ("filler / all items", "filler_rate_all"),
    ("pre-emptive / all items", "preemptive_rate_all"),
)
PER_SCENARIO = (
    ("Pass@1 / scenarios", "pass_at_1"),
    ("F1, tool names / scenarios", "f1"),
    ("argument accuracy / scenarios", "argument_accuracy"),
)
LATENCIES = (
    ("first response", "first_response_latency_s"),
    ("tool call, signed", "tool_call_latency_s"),
    ("tool call, not before the end", "tool_call_latency_non_negative_s"),
    ("task completion", "task_completion_latency_s"),
    ("interruption, before the end", "interruption_depth_s"),
)
CAUSES = (
    ("stale: said, then taken back", "stale"),
    ("misheard: not in the agent's own transcript", "misheard"),
    ("invented: neither said nor returned", "invented"),
    ("other", "other"),
)


def overall(agents: Sequence[AgentSummary]) -> Grid:
    """Table 2: every score of each agent, with the difference of two."""
    rows = [_score_row(label, name, agents) for label, name in OVERALL]
    clocks = " and ".join(dict.fromkeys(f"{agent.clock} clock" for agent in agents))
    notes = ["diff.: second minus first; of percentages, in points"] if len(agents) == 2 else []
    if not _same_clock(agents):
        notes.append("latencies of a virtual and of a wall clock are not compared")
    return _side_by_side(f"Table 2. Overall ({clocks})", "", agents, rows, notes)


def _same_clock(agents: Sequence[AgentSummary]) -> bool:
    return len({agent.clock for agent in agents}) == 1


def _score_row(label: str, name: str, agents: Sequence[AgentSummary]) -> tuple[str, ...]:
    cells = [cell for agent in agents for cell in score_cells(agent.overall, name)]
    if len(agents) == 2:
        comparable = _same_clock(agents) or not name.endswith("_s")
        cells.append(difference_text(name, agents[0].overall, agents[1].overall) if comparable else "")
    return (label, *cells)


def _side_by_side(
    title: str, first: str, agents: Sequence[AgentSummary], rows: Sequence[tuple[str, ...]], notes: Sequence[str] = ()
) -> Grid:
    """Three columns an agent, and one for the difference where the rows have it."""
    head = (first, *("Pass@1" if first else "value", "95 % int.", "k/n") * len(agents), "diff.")
    groups = [(agent.name, 3) for agent in agents]
    return Grid(title=title, groups=groups, head=head[: len(rows[0])], rows=rows, notes=notes)


def other_denominators(agents: Sequence[AgentSummary]) -> Grid:
    """Scores over the turns taken, over all items, and over scenarios."""
    rows = [_score_row(label, name, agents) for label, name in OTHER_DENOMINATORS]
    for label, name in PER_SCENARIO:
        means: list[Mean] = [getattr(agent.per_scenario, name) for agent in agents]
        cells = [cell for mean in means for cell in (value_text(name, mean.value), "", f"(n={mean.n})")]
        rows.append((label, *cells, *("",) * (len(agents) == 2)))
    notes = ["per scenario: mean over scenarios of the mean of their speakers"]
    return _side_by_side("The same over other denominators", "", agents, rows, notes)


def breakdown(key: str, title: str, blocks: Sequence[Sequence[AgentSummary]]) -> Iterator[Grid]:
    """Pass@1 by group: one agent with its other scores, several side by side."""
    for agents in blocks:
        groups = list(dict.fromkeys(group for agent in agents for group in agent.by.get(key, {})))
        if groups and len(blocks) == len(agents) == 1:
            yield _one_agent_breakdown(key, title, agents[0])
        elif groups:
            rows = [(group, *_pass_cells(key, group, agents)) for group in groups]
            yield _side_by_side(title, _words(key), agents, rows)


def by_speaker(title: str, blocks: Sequence[Sequence[AgentSummary]]) -> Iterator[Grid]:
    """Speakers with several items, long ids cut short; a note counts the others, since one item makes no rate."""
    groups = [
        (name, s.counts.planned) for block in blocks for a in block for name, s in a.by.get("speaker", {}).items()
    ]
    shown = list(dict.fromkeys(name for name, items in groups if items > 1))
    single = len({name for name, _ in groups}) - len(shown)
    if groups and not shown:
        yield Grid(title=f"{title}: no speaker has more than one item", head=("",), rows=[])
        return
    ids = _short_ids(shown)
    notes = [f"and {single} more with one item each"] if single else []
    for grid in breakdown("speaker", title, [[_of_speakers(a, ids) for a in block] for block in blocks]):
        yield replace(grid, notes=[*grid.notes, *notes])


def _of_speakers(agent: AgentSummary, ids: Mapping[str, str]) -> AgentSummary:
    found = agent.by.get("speaker", {})
    return replace(agent, by={**agent.by, "speaker": {new: found[old] for old, new in ids.items() if old in found}})


def _short_ids(names: Sequence[str]) -> dict[str, str]:
    """Long hexadecimal ids by their first eight digits where these tell them apart; other names as they are."""
    short = {name: name[:8] if _HEX_ID.fullmatch(name) else name for name in names}
    return short if len(set(short.values())) == len(short) else {name: name for name in names}


def _words(key: str) -> str:
    return key.replace("_", " ")


def _pass_cells(key: str, group: str, agents: Sequence[AgentSummary]) -> list[str]:
    scores = [agent.by.get(key, {}).get(group) for agent in agents]
    cells = [cell for s in scores for cell in (score_cells(s, "pass_at_1") if s else ("n/a", "", "(n=0)"))]
    if len(scores) == 2:
        cells.append(difference_text("pass_at_1", scores[0], scores[1]) if scores[0] and scores[1] else "")
    return cells


def _one_agent_breakdown(key: str, title: str, agent: AgentSummary) -> Grid:
    return Grid(
        title=title,
        head=(_words(key), "Pass@1", "95 % int.", "k/n", "F1", "args", "turn-take", "k/n", "interruption", "k/n"),
        rows=[(group, *_group_cells(scores)) for group, scores in agent.by[key].items()],
    )


def _group_cells(scores: Scores) -> tuple[str, ...]:
    taken, _, taken_of = score_cells(scores, "turn_take_rate")
    interrupted, _, interrupted_of = score_cells(scores, "interruption_rate")
    means = (value_text("f1", scores.f1.value), value_text("argument_accuracy", scores.argument_accuracy.value))
    return (*score_cells(scores, "pass_at_1"), *means, taken, taken_of, interrupted, interrupted_of)


def latencies(agent: AgentSummary, suffix: str) -> Grid:
    """Table 6: how long after the user."""
    rows = []
    for label, name in LATENCIES:
        d = getattr(agent.overall, name)
        rows.append((label, *(seconds_text(v) for v in (d.mean, d.p50, d.p95, d.stdev)), f"(n={d.n})"))
    causes_of = agent.overall.latency_causes
    causes = ", ".join(f"{number} {_words(cause)}" for cause, number in sorted(causes_of.items()) if number)
    return Grid(
        title=f"Table 6. Seconds after the end of the user's speech ({agent.clock} clock){suffix}",
        head=("", "mean", "p50", "p95", "stdev", "n"),
        rows=rows,
        notes=[f"items without a first response latency: {causes}"] if causes else [],
    )


def silence(agent: AgentSummary, suffix: str) -> Grid:
    """Whose turn was not taken, and what was called even so."""
    rows = []
    for label, row in (("all", agent.silence.overall), *agent.silence.by_difficulty.items()):
        share, _, of = share_cells(row.silent, row.items)
        rows.append((label, share, of, str(row.with_calls), str(row.without_calls), str(row.with_perfect_calls)))
    head = ("difficulty", "silent", "k/n", "with calls", "without calls", "with perfect calls")
    return Grid(title=f"Silence: items whose turn was not taken{suffix}", head=head, rows=rows)


def behaviour(agents: Sequence[AgentSummary]) -> Grid:
    """Calls before the end of the turn against interruptions."""
    counted = (
        ("pre-emptive and interrupting", "preemptive_interrupted"),
        ("pre-emptive only", "preemptive_only"),
        ("interrupting only", "interrupted_only"),
        ("neither", "neither"),
    )
    rows = []
    for label, name in counted:
        cells = [share_cells(getattr(a.behaviour, name), _items_with_call(a)) for a in agents]
        rows.append((label, *(cell for triple in cells for cell in triple)))
    spoke = [rate_cells(agent.behaviour.spoke_before_first_call, percent=True) for agent in agents]
    rows.append(("spoke before the first call", *(cell for triple in spoke for cell in triple)))
    return _side_by_side("Behaviour: of items with a call", "", agents, rows)


def has_retractions(agent: AgentSummary) -> bool:
    """Whether an item of this agent held something that was said and taken back."""
    return agent.commits.premature_commit_rate.n > 0


def rollback(agents: Sequence[AgentSummary]) -> Grid:
    """What became of values that the user took back."""
    rates = (
        ("premature commit / items with a retraction", "premature_commit_rate"),
        ("  made before the correction was heard / calls", "before_correction"),
        ("  repaired / items with such a commit", "repaired_rate"),
        ("  side effect left / items with such a commit", "side_effects_left"),
    )
    rows = []
    for label, name in rates:
        cells = [rate_cells(getattr(agent.commits, name), percent=True) for agent in agents]
        rows.append((label, *(cell for triple in cells for cell in triple)))
    for label, name in (("rollback latency, p50", "p50"), ("rollback latency, p95", "p95")):
        measured = [agent.commits.rollback_latency_s for agent in agents]
        texts = [(value_text("latency_s", getattr(m, name)), "", f"(n={m.n})") for m in measured]
        rows.append((label, *(cell for triple in texts for cell in triple)))
    notes = ["latency: from when a call could be repaired (made, and the correction heard) to the corrected call"]
    return _side_by_side("Self-correction: calls with values that the user took back", "", agents, rows, notes)


def _items_with_call(agent: AgentSummary) -> int:
    b = agent.behaviour
    return b.preemptive_interrupted + b.preemptive_only + b.interrupted_only + b.neither


def wrong_arguments(agents: Sequence[AgentSummary]) -> Grid:
    """Where wrong arguments come from, one column an agent."""
    rows = [(label, *(str(agent.wrong_arguments.get(cause, 0)) for agent in agents)) for label, cause in CAUSES]
    head = ("", *(agent.name for agent in agents))
    return Grid(title="Causes of wrong arguments (arguments, not items)", head=head, rows=rows)


def surplus(agent: AgentSummary, suffix: str, most: int) -> Grid:
    """The calls that no expected call was paired with, at most `most` rows."""
    shown = sorted(agent.surplus_calls, key=lambda s: (-s.calls, s.tool, s.domain or ""))
    rows = [(s.tool, s.domain or "-", s.tool_domain or "-", str(s.calls)) for s in shown[:most]]
    left = sum(s.calls for s in shown[most:])
    return Grid(
        title=f"Calls that nobody asked for{suffix}",
        head=("tool", "called in domain", "belongs to", "calls"),
        rows=rows,
        notes=[f"and {left} more"] if left else [],
    )


def warnings(agent: AgentSummary, suffix: str) -> Grid:
    """Figures that rest on little."""
    left = len(agent.warnings) - MOST_WARNINGS
    notes = [f"and {left} more"] if left > 0 else []
    rows = [(warning,) for warning in agent.warnings[:MOST_WARNINGS]]
    return Grid(title=f"Warnings{suffix}", head=("",), rows=rows, notes=notes)
