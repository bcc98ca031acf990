"""What stands above every table: what was run, on what, how much of it was scored, and what the figures are not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pytest_voicebench.counted import counted
from pytest_voicebench.summarizing.agents import distinct_names
from pytest_voicebench.summary import AgentSummary, Cost, Counts, Summary
from pytest_voicebench.timeline import RATE_HZ
from pytest_voicebench.writers.grid import Paint
from pytest_voicebench.writers.plain_text import columns, one_line

Json = Any

LABEL_WIDTH = 9
SHORT_LINES = 6
NOT_COMPARABLE = "not comparable with published figures"


def header_lines(summary: Summary, *, width: int, paint: Paint) -> list[str]:
    """The header, one fact a line; facts that the caller did not give are left out, `judge: none` never is.

    Read from `summary.header`: run, mode, started_at, suites (name to sha256), judge, shard, shards, merged, words
    (texts), given (agent to settings), rescored_from (with held_at, scored_before, scored_now), withheld, workers,
    concurrency, versions (name to version).
    """
    lines = _head_lines(summary, width, paint)
    for label, text in _facts(summary):
        lines += _wrapped(label, text, width)
    return lines


def short_header_lines(summary: Summary, *, width: int, paint: Paint) -> list[str]:
    """The header in at most six lines: title with the judge, stimulus, items, agents with settings given, notices.

    Notices that do not fit are counted; `header_lines` has them all.
    """
    title = f"{_title(summary)}, judge: {summary.header.get('judge') or 'none'}"
    stimulus, *others = notices_of(summary)
    items = f"{'items':<{LABEL_WIDTH}}{outcomes_text(summary.counts, with_kinds=True)}"
    agents = "; ".join(_short_agent_text(agent, summary.header) for agent in summary.agents)
    facts = [items, *_in_two("agent", agents, width)] if agents else [items]
    room = SHORT_LINES - 2 - len(facts)
    if len(others) > room:
        left = len(others) - room + 1
        others = [*others[: room - 1], f"and {left} more notices: see -v"]
    lines = [paint(one_line(title, width), "bold")]
    lines += [paint(one_line(notice, width), "yellow") for notice in (stimulus, *others)]
    return lines + [one_line(fact, width) for fact in facts]


def official_header_lines(summary: Summary, *, width: int, paint: Paint) -> list[str]:
    """The header of the official scores: the same facts, under the rules that made those."""
    lines = _head_lines(summary, width, paint)
    bare = replace(summary, official=None)  # whose facts do not point to these very scores
    facts = [("scores", official_rules(summary)) if fact[0] == "scores" else fact for fact in _facts(bare)]
    return lines + [line for label, text in facts for line in _wrapped(label, text, width)]


def _head_lines(summary: Summary, width: int, paint: Paint) -> list[str]:
    """Title and notices, whole."""
    lines = [paint(line, "bold") for line in _broken(_title(summary), width)]
    return lines + [paint(line, "yellow") for notice in notices_of(summary) for line in _broken(notice, width)]


def official_rules(summary: Summary) -> str:
    """Set, version and mode behind official figures."""
    official = summary.official
    made = f"{official.score_set} {official.score_version}, {official.mode} mode" if official else "official: none"
    return f"{made}: the rules of the FDB-v3 scripts with their known faults, judge: none"


def _short_agent_text(agent: AgentSummary, header: Mapping[str, Json]) -> str:
    parts = [*([f"model {agent.model}"] if agent.model else []), f"{agent.clock} clock"]
    recognised = agent.transcript_sources.get("recognised", 0)
    parts += [f"transcript_source recognised in {counted(recognised, 'item')}"] if recognised else []
    parts += [cost_text(agent.cost)] if agent.cost.usd is not None else []
    given = [f"{key}={value}" for key, value in _mapping(_mapping(header.get("given")).get(agent.name)).items()]
    return f"{' '.join([agent.name, *given])} ({', '.join(parts)})"


def with_given_settings(summary: Summary) -> Summary:
    """Of several agents each is named with the settings it was given: `simulated stale_commit`, `local endpoint_s=1.5`.

    Not where its name holds them already, as that of two agents of one kind does.
    """
    given = _mapping(summary.header.get("given"))
    if len(summary.agents) < 2 or not given:
        return summary
    agents = [
        replace(agent, name=_with_settings(agent.name, _mapping(given.get(agent.name)))) for agent in summary.agents
    ]
    return replace(summary, agents=tuple(agents))


def _with_settings(name: str, given: Mapping[str, Json]) -> str:
    held = re.sub(r"[^A-Za-z0-9]+", "_", "_".join(map(str, given.values()))).strip("_")
    if held and held in name:
        return name
    return " ".join([name, *(v if isinstance(v, str) else f"{k}={v}" for k, v in given.items())])


def with_distinct_names(summary: Summary) -> Summary:
    """Agents that share a name are told apart by what differs: `simulated behaviour=slow`."""
    named = zip(summary.agents, distinct_names(summary.agents), strict=True)
    return replace(summary, agents=tuple(replace(agent, name=name) for agent, name in named))


def outcomes_text(counts: Counts, *, with_kinds: bool = False) -> str:
    """`planned 5 = 2 passed + 1 failed + 1 error + 0 skipped + 1 not run`; the kinds of error behind them, if asked."""
    kinds = _error_kinds(counts) if with_kinds else ""
    return (
        f"planned {counts.planned} = {counts.passed} passed + {counts.failed} failed + {counts.error} error"
        f"{f' ({kinds})' if kinds else ''} + {counts.skipped} skipped + {counts.not_run} not run"
    )


def _error_kinds(counts: Counts) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in sorted(counts.error_kinds.items()) if number)


def _title(summary: Summary) -> str:
    scored = f"{summary.counts.valid}/{summary.counts.planned} scored"
    run = [f"run {summary.header['run']}"] if summary.header.get("run") else []
    run += [str(summary.header["shard"])] if summary.header.get("shard") else []
    run += [f"rescored from {summary.header['rescored_from']}"] if summary.header.get("rescored_from") else []
    return "voicebench: " + ", ".join([" + ".join(summary.suites) or "no suite", scored, *run])


def notices_of(summary: Summary) -> list[str]:
    """The stimulus first, whatever it is, with the mode, then what else must be known before a figure is read."""
    comparable = "" if summary.stimulus == "human" else f" - {NOT_COMPARABLE}"
    others = [notice for notice in summary.notices if NOT_COMPARABLE not in notice]
    mode = f"; mode: {summary.header['mode']}" if summary.header.get("mode") else ""
    return [f"stimulus: {summary.stimulus}{comparable}{mode}", *others]


def _facts(summary: Summary) -> Iterator[tuple[str, str]]:
    header = summary.header
    yield "items", outcomes_text(summary.counts)
    kinds = _error_kinds(summary.counts)
    if kinds:
        yield "errors", kinds
    for agent in summary.agents:
        yield "agent", agent_text(agent)
        if len(summary.agents) > 1:
            yield "", outcomes_text(agent.overall.counts)
        for text in (words_text(agent), cost_text(agent.cost)):
            if text:
                yield "", text
    yield (
        "scores",
        (
            f"{summary.score_set} {summary.score_version}, judge: {header.get('judge') or 'none'}, "
            "numbers given as text are read and noted"
        ),
    )
    if summary.official and summary.official.agents:
        yield (
            "",
            f"{summary.official.score_set} {summary.official.score_version} beside them: report RUN --scores official",
        )
    for name, sha256 in _mapping(header.get("suites")).items():
        yield "suite", f"{name}, sha256 {sha256}"
    if header.get("shard"):
        yield "shard", str(header["shard"])
    for name in ("shards", "merged"):
        if header.get(name):
            yield name, str(header[name])
    for name, text in _mapping(header.get("prices")).items():
        yield "price", f"{name}: {text}"
    if header.get("rescored_from"):
        yield "rescored", how_rescored(header)
    made = how_made(header)
    if made:
        yield "run", ", ".join(made)


def words_text(agent: AgentSummary) -> str:
    """Whose words the agent's voice was judged by."""
    sources = [f"{source} {items}" for source, items in agent.transcript_sources.items()]
    text = f"transcript_source: {', '.join(sources)}" if sources else ""
    if agent.words_dropped:
        text += f"{'; ' if text else ''}{agent.words_dropped} recognised words outside detected speech dropped"
    return text


def cost_text(cost: Cost) -> str:
    """`cost: 0.43 USD for 97 items, unknown for 3 (no price)`; empty where there was no session."""
    unknown = ", ".join(f"{number} ({reason})" for reason, number in cost.unknown.items())
    if cost.usd is None:
        return f"cost: unknown for {unknown}" if unknown else ""
    known = f"cost: {cost.usd:.2f} USD for {counted(cost.priced, 'item')}"
    return f"{known}, unknown for {unknown}" if unknown else known


def how_rescored(header: Mapping[str, Json]) -> str:
    before = header.get("scored_before")
    then = " and ".join(map(str, before)) if isinstance(before, list | tuple) and before else "nothing"
    return (
        f"conversations of {header['rescored_from']}, held {header.get('held_at') or 'at an unknown time'}; "
        f"scored there by {then}, here by {header.get('scored_now')}"
    )


def how_made(header: Mapping[str, Json]) -> list[str]:
    facts = [f"started {header['started_at']}"] if header.get("started_at") else []
    resumed = header.get("resumed")
    if isinstance(resumed, list | tuple) and resumed:
        facts.append(f"resumed {', '.join(map(str, resumed))}")
    if header.get("words"):
        facts.append(f"words {header['words']}")
    if header.get("withheld"):
        facts.append(f"withheld {withheld_text(header)}")
    if header.get("workers") is not None:
        facts.append(counted(header["workers"], "worker") if header["workers"] else "no workers")
    if header.get("concurrency"):
        facts.append(f"{counted(header['concurrency'], 'conversation')} at once")
    return facts + [f"{name} {version}" for name, version in _mapping(header.get("versions")).items()]


def withheld_text(header: Mapping[str, Json]) -> str:
    """`sound (--voicebench-no-audio) and text of 2 patterns (--voicebench-redact)`; empty where all was kept."""
    asked = _mapping(header.get("withheld"))
    parts = ["sound (--voicebench-no-audio)"] if asked.get("sound") else []
    number = asked.get("patterns")
    parts += [f"text of {counted(number, 'pattern')} (--voicebench-redact)"] if number else []
    return " and ".join(parts)


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def agent_text(agent: AgentSummary) -> str:
    parts = [f"model {agent.model}"] if agent.model else []
    parts += [f"transport {agent.transport}", f"{agent.clock} clock"]
    parts += [f"sent {agent.input_hz} Hz"] if agent.input_hz != RATE_HZ else []
    parts += [f"{key}={value}" for key, value in sorted(agent.settings.items())]
    return f"{agent.name} ({', '.join(parts)})"


def _wrapped(label: str, text: str, width: int) -> list[str]:
    """The text behind its label, broken at commas and spaces where it is too long for one line."""
    lines = _broken(text, width - LABEL_WIDTH)
    return [one_line(f"{head:<{LABEL_WIDTH}}{part}", width) for head, part in _labelled(label, lines)]


def _in_two(label: str, text: str, width: int) -> list[str]:
    """As `_wrapped`, in at most two lines: what does not fit into the second is cut."""
    first, *rest = _wrapped(label, text, width)
    return [first, *([one_line(f"{rest[0]} {' '.join(map(str.strip, rest[1:]))}".rstrip(), width)] if rest else [])]


def _broken(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, broken at spaces; a word that is longer is cut."""
    lines: list[str] = []
    line = ""
    for word in one_line(text).split(" "):
        longer = f"{line} {word}" if line else word
        if line and columns(longer) > width:
            lines.append(line)
            line = word
        else:
            line = longer
    return [one_line(part, width) for part in (*lines, line)]


def _labelled(label: str, lines: list[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines):
        yield ("" if number else label), line
