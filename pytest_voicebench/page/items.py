"""From a run's results and folders to the page's items. Whatever an item lacks is said by that item."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from pytest_voicebench.conversation import Conversation, Recording
from pytest_voicebench.conversation_files import (
    AUDIO_NAME,
    EVENTS_NAME,
    ConversationUnreadable,
    load_conversation,
    load_recording,
)
from pytest_voicebench.files import read_file
from pytest_voicebench.judgement import Judgement, judged_scores
from pytest_voicebench.page.data import Argument, Expected, Item, Line
from pytest_voicebench.page.evidence import LONGEST_VALUE, evidence_of
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import RunUnreadable, folder_of
from pytest_voicebench.saved_run import SavedRun
from pytest_voicebench.scorecard import ArgumentScore, Pair, Scorecard
from pytest_voicebench.summary import AgentSummary, Summary
from pytest_voicebench.writers.failure import CAUSES, reasons
from pytest_voicebench.writers.plain_text import one_line, value_text
from pytest_voicebench.writers.rollback_text import rollback_sentence

LONGEST_LOG = 200_000
"""Bytes of an event log that is put into the page."""

WITHHELD = {"sound": "sound (--voicebench-no-audio)", "text": "text (--voicebench-redact)"}

Address = Callable[[Path, Path], str | None]
"""Takes the run's folder and one of its files, gives an address for a browser; None where there is no such file."""


def linked(run_folder: Path, file: Path) -> str | None:
    """The file's place as seen from the page."""
    if not file.is_file():
        return None
    return "./" + quote(file.relative_to(run_folder).as_posix())


def _folder_address(run_folder: Path, result: Result) -> str:
    return f"./{quote(folder_of(run_folder, result).relative_to(run_folder).as_posix())}/"


def embedded_sound(run_folder: Path, file: Path) -> str | None:
    """The file itself, as it is: FLAC, sample for sample where the timeline says."""
    import base64

    try:
        return f"data:audio/flac;base64,{base64.b64encode(read_file(file)).decode()}"
    except OSError:
        return None


def page_items(run: SavedRun, summary: Summary, sound: Address) -> Iterator[Item]:
    """The items in the order of the plan, one at a time. `sound` finds a recording's address."""
    judgements: dict[str, list[Judgement]] = {}
    for one in run.judgements:
        judgements.setdefault(one.item_id, []).append(one)
    judge = summary.judge[0].judge if len(summary.judge) == 1 else None
    for result in run.results:
        response = None
        if judge is not None:
            response = judged_scores(result, judgements.get(result.item_id, []), judge).response_quality
        yield page_item(run.folder, result, _place(result, summary.agents), response, sound)


def _place(result: Result, agents: Sequence[AgentSummary]) -> int:
    info = result.agent
    for place, agent in enumerate(agents):
        known = (agent.name, agent.model, agent.transport, agent.clock, dict(agent.settings))
        if known == (info.name, info.model, info.transport, info.clock, dict(info.settings)):
            return place
    return 0


def page_item(run_folder: Path, result: Result, agent: int, response: int | None, sound: Address) -> Item:
    """One item with what could be read of its evidence."""
    run_folder = run_folder.resolve()
    folder, conversation, recording, missing = _read(run_folder, result)
    card = result.scorecard
    evidence = None if conversation is None else evidence_of(conversation, card, recording)
    embedded = sound is not linked
    audio = sound(run_folder, folder / AUDIO_NAME) if folder and recording is not None else None
    return Item(
        id=result.item_id,
        agent=agent,
        group="/".join((result.facts.suite, result.facts.scenario_id, result.facts.speaker or "")),
        title=result.facts.title,
        trial=result.trial,
        outcome=result.outcome,
        why=one_line(_why(result, conversation), LONGEST_VALUE),
        line=_line(card, response),
        missing=missing,
        audio=audio,
        events=linked(run_folder, folder / EVENTS_NAME) if folder and not embedded else None,
        folder=None if embedded or conversation is None else _folder_address(run_folder, result),
        events_text=_log(folder / EVENTS_NAME) if folder and embedded else (),
        expected=() if card is None else tuple(map(_expected, card.pairs)),
        retractions=() if card is None else tuple(map(rollback_sentence, card.rollback)),
        checks=() if card is None else tuple(_checks(card)),
        facts=tuple(_facts(result)),
        evidence=evidence,
    )


def _read(
    run_folder: Path, result: Result
) -> tuple[Path | None, Conversation | None, Recording | None, tuple[str, ...]]:
    """The item's folder and what could be read of it, with a line for each part that could not."""
    if result.folder is None:
        return None, None, None, ("no conversation was saved",) if result.scorecard else ()
    try:
        folder = folder_of(run_folder, result)
    except RunUnreadable as error:
        return None, None, None, (_within(run_folder, error),)
    missing = []
    conversation = recording = None
    try:
        conversation = load_conversation(folder)
    except ConversationUnreadable as error:
        missing.append(_within(run_folder, error))
    try:
        recording = None if _left_out(folder, conversation) else load_recording(folder)
    except (ConversationUnreadable, OSError, MemoryError) as error:
        missing.append(_within(run_folder, error))
    return folder, conversation, recording, tuple(missing)


def _left_out(folder: Path, conversation: Conversation | None) -> bool:
    """Whether there is no recording and nothing is wrong with that: none was to be kept, the conversation never began,
    or others held it, whose results may come without sound."""
    if conversation is None or (folder / AUDIO_NAME).exists():
        return False
    never_began, imported = conversation.duration_ticks == 0, conversation.reported is not None
    return never_began or imported or "sound" in conversation.withheld


def _within(run_folder: Path, error: BaseException) -> str:
    """What went wrong, with paths as seen from the run's folder."""
    return one_line(str(error).replace(f"{run_folder}{os.sep}", "").replace(str(run_folder), run_folder.name), 300)


def _why(result: Result, conversation: Conversation | None) -> str:
    """Why an item did not pass; empty where it did."""
    card = result.scorecard
    if card is None:
        kind, cause = result.error_kind or "", result.cause or ""
        return cause if cause.startswith(kind) else ": ".join(part for part in (kind, cause) if part)
    if card.passed:
        return ""
    if conversation is not None:
        try:
            return "; ".join(reasons(conversation, card))
        except IndexError:  # the saved conversation is not the one that was scored
            pass
    named = (("not all tools right", card.tools_ok), ("not all arguments right", card.args_ok), ("silent", card.spoke))
    return "; ".join(text for text, met in named if not met)


def _line(card: Scorecard | None, response: int | None) -> Line:
    if card is None:
        return Line(
            f1=None, arguments=None, response=None, first_response=None, tool_call=None, completion=None, wrong=""
        )
    times = card.times
    wrong = [f"{a.name} {value_text(a.actual, 40)}" for p in card.pairs for a in p.arguments if a.verdict != "match"]
    return Line(
        f1=_digits(card.f1_names),
        arguments=_digits(card.argument_accuracy),
        response=response,
        first_response=_digits(times.first_response_latency_s),
        tool_call=_digits(times.tool_call_latency_s),
        completion=_digits(times.task_completion_latency_s),
        wrong=wrong[0] if wrong else "",
    )


def _digits(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _expected(pair: Pair) -> Expected:
    return Expected(
        tool=pair.tool,
        call=pair.actual,
        matches=pair.matches,
        arguments=tuple(map(_argument, pair.arguments)),
        extra=pair.extra,
    )


def _argument(one: ArgumentScore) -> Argument:
    matches = one.verdict == "match"
    expected, actual = value_text(one.expected, LONGEST_VALUE), value_text(one.actual, LONGEST_VALUE)
    return Argument(
        name=one.name,
        expected=expected,
        actual="" if actual == expected else actual,
        wrong="" if matches else one.verdict,
        cause=None if one.cause is None else CAUSES[one.cause] or one.cause,
        reason=None if matches else one_line(one.reason, LONGEST_VALUE),
        notes=one.notes,
    )


def _checks(card: Scorecard) -> Iterator[tuple[str, bool | None, bool]]:
    """What makes up Pass, then what was looked at beside it."""
    yield from (("tools_ok", card.tools_ok, True), ("args_ok", card.args_ok, True), ("spoke", card.spoke, True))
    yield from ((name, met, True) for name, met in card.requirements.items())
    yield from ((name, met, False) for name, met in card.diagnostics.items() if name not in card.requirements)


def _facts(result: Result) -> Iterator[tuple[str, str]]:
    """What else there is to know of an item; only what was measured or met."""
    card, facts = result.scorecard, result.facts
    told: Mapping[str, object] = {
        "F1 with arguments": None if card is None else f"{card.f1_match:.3f}",
        "F1, strict": None if card is None else f"{card.f1_strict:.3f}",
        "no latencies because": None if card is None or card.times.cause is None else card.times.cause,
        "ended": None if result.ended == "settled" else result.ended,
        "attempts": ", ".join(result.attempts),
        "official scores": None if result.official is None else ("pass" if result.official.passed else "no pass"),
        "words": result.transcript_source,
        "words dropped outside speech": result.words_dropped,
        "cost": result.usd_unknown or (None if result.usd is None else f"{result.usd:.4f} USD"),
        "taken from": result.taken_from,
        "not kept": ", ".join(WITHHELD[name] for name in result.withheld),
        "known issue": facts.known_issue,
        "warnings": "; ".join(result.warnings),
        "notes": "; ".join(card.notes) if card else None,
        "test": result.nodeid,
    }
    yield from ((name, one_line(str(value), LONGEST_VALUE)) for name, value in told.items() if value not in (None, ""))


def _log(file: Path) -> tuple[str, ...]:
    """The event log, line by line, as much of it as a page should hold."""
    try:
        data = read_file(file)
    except OSError:
        return ()
    lines = data[:LONGEST_LOG].decode("utf-8", "replace").splitlines()
    return (*lines, f"... cut here: {len(data)} bytes in all") if len(data) > LONGEST_LOG else tuple(lines)
