"""The text of an item that did not pass: what an engineer needs, on one screen."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pytest_voicebench.conversation import Call, Conversation, to_seconds
from pytest_voicebench.conversation_files import AUDIO_NAME
from pytest_voicebench.scenario import Scenario
from pytest_voicebench.scorecard import ArgumentScore, Pair, Scorecard, TurnScore
from pytest_voicebench.writers.plain_text import one_line, pad, value_text
from pytest_voicebench.writers.rollback_text import rollback_sentence

Json = Any

WIDTH = 100
MOST_CALL_LINES = 10
MOST_TEXT_LINES = 3
MOST_WARNINGS = 2
MOST_ROLLBACKS = 2

NO_WORDS = "(the agent gives no transcript of itself)"

CAUSES = {
    "stale": "stale: the user said it, then took it back",
    "misheard": "misheard: the agent's own transcript of the user lacks the expected value",
    "invented": "invented: neither said by the user nor returned by a tool",
    "other": "",
}


def failure_text(
    scenario: Scenario, conversation: Conversation, scorecard: Scorecard, *, folder: Path, rerun_command: str
) -> str:
    """Expected and called side by side, the first difference and its cause, the times, where to hear it, how to rerun.

    At most 39 lines, mostly below 22, without colour. `folder` is the item's folder, written as it is given. Text of
    the agent and of the scenario is shown with control characters and line ends escaped, cut to the width; the path and
    the command are never cut.
    """
    lines = [
        # pytest repeats the first line in its short summary: the reason, since the item's id stands before it there.
        one_line("; ".join(reasons(conversation, scorecard)) or "unknown reason", WIDTH),
        one_line(f"{scenario.item_id}: {scenario.title}{_traits(scenario)}", WIDTH),
        "",
        *_call_lines(scenario, conversation, scorecard),
        "",
        *_difference(conversation, scorecard),
        *_rollback(scorecard),
        *_not_gating(conversation, scorecard),
        *_times(conversation, scorecard),
        *(one_line(f"  recording {text}", WIDTH) for text in conversation.warnings[:MOST_WARNINGS]),
        *_voices(scenario, conversation),
        f"  listen    {_listen(folder, conversation, scorecard)}",
        f"  again     {one_line(rerun_command)}",
    ]
    return "\n".join(line.rstrip() for line in lines)


def _traits(scenario: Scenario) -> str:
    traits = [t for t in (scenario.domain, scenario.difficulty, *scenario.disfluency) if t]
    return f" ({', '.join(traits)})" if traits else ""


def reasons(conversation: Conversation, card: Scorecard) -> list[str]:
    """What of Pass is missing."""
    found = [] if card.spoke else [_silence(conversation)]
    missing = [p.tool for p in card.pairs if p.actual is None]
    if missing:
        found.append(f"not called: {_counted(missing)}")
    if card.surplus:
        calls = conversation.counted_calls
        found.append(f"nobody asked for: {_counted(calls[i].name for i in card.surplus)}")
    wrong = [f"{p.tool}.{a.name}" for p in card.pairs if p.actual is not None for a in p.arguments if _is_wrong(a)]
    if wrong:
        found.append(f"wrong: {_counted(wrong)}")
    found += [f"{p.tool}: {_refusal(conversation, p)}" for p in card.pairs if _only_rejected(conversation, p)]
    for name, met in card.requirements.items():
        if not met:
            told = _with_source(name, conversation)
            found.append(f"required {told}: {'could not be checked' if met is None else 'not met'}")
    return found


def _only_rejected(conversation: Conversation, pair: Pair) -> bool:
    """Whether a pair fails for nothing but that its call was refused."""
    if pair.actual is None or pair.matches or any(map(_is_wrong, pair.arguments)):
        return False
    return conversation.counted_calls[pair.actual].status == "rejected"


def _refusal(conversation: Conversation, pair: Pair) -> str:
    reason = None if pair.actual is None else conversation.counted_calls[pair.actual].reason
    return f"rejected ({reason})" if reason else "rejected"


def _silence(conversation: Conversation) -> str:
    """That the agent did not speak; with how much sound it sent where none of that was speech."""
    sound_s = to_seconds(sum(chunk.heard_ticks for chunk in conversation.chunks))
    if sound_s and not conversation.agent_speech:
        return f"the agent never took the turn: the {sound_s:.1f} s of sound it sent holds no speech"
    return "the agent never took the turn"


def _counted(names: Iterable[str]) -> str:
    """`ping x3, weather`."""
    return ", ".join(f"{name} x{n}" if n > 1 else name for name, n in Counter(names).items())


def _is_wrong(argument: ArgumentScore) -> bool:
    return argument.verdict != "match"


def _call_lines(scenario: Scenario, conversation: Conversation, card: Scorecard) -> list[str]:
    calls = conversation.counted_calls
    lines = []
    for pair in card.pairs:
        lines += _missing(scenario, pair) if pair.actual is None else _paired(pair, calls, card)
    for index in card.surplus:
        lines.append(_row("(none)", _call_head(calls, index, card), "EXTRA"))
        lines += _arguments_line(calls[index].arguments)
    cancelled = [call.name for call in conversation.calls if call.status == "cancelled"]
    if cancelled:
        lines.append(one_line(f"  (taken back before it ran, not counted: {_counted(cancelled)})", WIDTH))
    if len(lines) > MOST_CALL_LINES:
        left = len(lines) - MOST_CALL_LINES + 1
        lines = [*lines[: MOST_CALL_LINES - 1], f"  ... and {left} more lines: see result.json"]
    since = "" if card.times.user_end_s is None else " (seconds after the user's end)"
    return [_row("expected", f"called{since}", ""), *(lines or [_row("(none)", "(none)", "ok")])]


def _missing(scenario: Scenario, pair: Pair) -> list[str]:
    """An expected call that was never made, with what it should have said."""
    calls = scenario.expect.calls
    arguments = calls[pair.expected].args if pair.expected < len(calls) else {}
    return [_row(pair.tool, "(not called)", "MISSING"), *_arguments_line(arguments)]


def _arguments_line(arguments: Mapping[str, Json]) -> list[str]:
    text = ", ".join(f"{name}={value_text(value)}" for name, value in arguments.items())
    return [one_line(f"    {text}", WIDTH)] if text else []


def _paired(pair: Pair, calls: tuple[Call, ...], card: Scorecard) -> list[str]:
    """One line where all matches, else one more for each argument."""
    assert pair.actual is not None
    lines = [_row(pair.tool, _call_head(calls, pair.actual, card), "ok" if pair.matches else "")]
    if not pair.matches:
        lines += [
            _row(f"  {a.name} = {value_text(a.expected)}", f"  {value_text(a.actual)}", _mark(a))
            for a in sorted(pair.arguments, key=_is_wrong, reverse=True)
        ]
    if pair.extra:
        lines.append(_row("", f"  not asked for: {', '.join(pair.extra)}", ""))
    return lines


def _mark(argument: ArgumentScore) -> str:
    verdict = {"match": "ok", "mismatch": "WRONG", "cannot_tell": "CANNOT TELL"}[argument.verdict]
    return ", ".join([verdict, *([argument.cause] if argument.cause else []), *argument.notes])


def _row(expected: str, called: str, mark: str) -> str:
    return f"  {pad(expected, 40)} {pad(called, 38)} {one_line(mark, 18)}"


def _call_head(calls: tuple[Call, ...], index: int, card: Scorecard) -> str:
    call = calls[index]
    at_s = to_seconds(call.at_ticks)
    user_end_s = card.times.user_end_s
    when = f"at {at_s:.2f}" if user_end_s is None else f"{at_s - user_end_s:+.2f}"
    parts = [call.name, when]
    if call.status != "executed":
        parts.append(f"{call.status} ({call.reason})" if call.reason else call.status)
    if index in card.premature_commits:
        parts.append("premature commit")
    return " ".join(parts)


def _difference(conversation: Conversation, card: Scorecard) -> list[str]:
    """The first expected call or argument that was not met, with its cause; nothing where all was met."""
    for pair in card.pairs:
        if pair.actual is None:
            return [one_line(f"  first     {pair.tool} was never called", WIDTH)]
        for argument in pair.arguments:
            if _is_wrong(argument):
                return _argument_difference(pair, argument)
        if _only_rejected(conversation, pair):
            return [one_line(f"  first     {pair.tool}: {_refusal(conversation, pair)}", WIDTH)]
    return []


def _argument_difference(pair: Pair, argument: ArgumentScore) -> list[str]:
    expected, actual = value_text(argument.expected, 26), value_text(argument.actual, 26)
    lines = [f"  first     {pair.tool}.{argument.name}: expected {expected}, got {actual}"]
    cause = CAUSES[argument.cause] if argument.cause else ""
    reason = "" if argument.reason.startswith("expected ") else argument.reason  # said on the line before
    because = "; ".join(part for part in (reason, cause) if part)
    if because:
        lines.append(f"            {because}")
    return [one_line(line, WIDTH) for line in lines]


def _with_source(check: str, conversation: Conversation) -> str:
    """A check by name, with whose words it rests on where it rests on the agent's."""
    source = conversation.transcript_source
    return f"{check} ({source} words)" if check == "mentions" and source else check


def _rollback(card: Scorecard) -> list[str]:
    """What became of values that were taken back, where the agent called with one."""
    told = [rollback_sentence(entry) for entry in card.rollback if entry.commits][:MOST_ROLLBACKS]
    return [line for sentence in told for line in _labelled("rollback", sentence)]


def _not_gating(conversation: Conversation, card: Scorecard) -> list[str]:
    """Diagnostics that failed without making the item fail."""
    failed = [
        _with_source(name, conversation)
        for name, met in card.diagnostics.items()
        if met is False and name not in card.requirements
    ]
    return [one_line(f"  also      not met, not gating: {', '.join(failed)}", WIDTH)] if failed else []


def _times(conversation: Conversation, card: Scorecard) -> list[str]:
    times = card.times
    calls = conversation.counted_calls
    parts = [f"user end {_seconds(times.user_end_s)}"]
    parts.append(f"first call {_seconds(to_seconds(calls[0].at_ticks) if calls else None, times.user_end_s)}")
    parts.append(f"reply {_seconds(times.reply_start_s, times.user_end_s)}")
    if times.interruption_depth_s is not None:
        parts.append(f"interrupted at {-times.interruption_depth_s:+.2f} s")
    elif times.cause and times.cause != "no_reply":
        parts.append(f"no latencies: {times.cause}")
    if conversation.ended != "settled":
        parts.append(f"ended: {conversation.ended}")
    lines = [f"  times     {', '.join(parts)}"]
    if len(card.turns) > 1:
        lines.append(f"  turns     {', '.join(f'{i} {_turn(turn)}' for i, turn in enumerate(card.turns, start=1))}")
    return [one_line(line, WIDTH) for line in lines]


def _turn(turn: TurnScore) -> str:
    if turn.interruptions:
        return "interrupted"
    return "silent" if turn.latency_s is None else f"{turn.latency_s:+.2f} s"


def _seconds(value_s: float | None, since_s: float | None = None) -> str:
    if value_s is None:
        return "none"
    return f"{value_s:.2f} s" if since_s is None else f"{value_s:.2f} s ({value_s - since_s:+.2f})"


def _voices(scenario: Scenario, conversation: Conversation) -> list[str]:
    """What the user said, what the agent heard, what it said."""
    spoken = " ".join(u.text for u in conversation.turns) or scenario.stimulus_text
    heard = " ".join(t.text for t in conversation.transcripts if t.speaker == "user")
    said = " ".join(_as_heard(t.heard_text, t.text) for t in conversation.transcripts if t.speaker == "agent")
    source, dropped = conversation.transcript_source, conversation.words_dropped
    remarks = [*([f"{source} words"] if source else []), *([f"{dropped} outside speech dropped"] if dropped else [])]
    heard = "(word for word)" if heard and heard == spoken else heard
    return [
        *_labelled("user", spoken or "(nothing)"),
        *_labelled("heard", heard or "(the agent gives no transcript of the user)"),
        *_labelled("said", " ".join([*([f"({', '.join(remarks)})"] if remarks else []), said]).strip() or NO_WORDS),
    ]


def _labelled(label: str, text: str) -> list[str]:
    """The text behind its label, on up to three lines."""
    lines = textwrap.wrap(one_line(text), WIDTH - 12, max_lines=MOST_TEXT_LINES, placeholder=" ...") or [""]
    return [one_line(f"  {label if i == 0 else '':<10}{line}", WIDTH) for i, line in enumerate(lines)]


def _as_heard(heard: str | None, text: str) -> str:
    return text if heard is None else heard


def _listen(folder: Path, conversation: Conversation, card: Scorecard) -> str:
    """Where the recording is and what in it is worth hearing; that there is none, where none was kept."""
    if "sound" in conversation.withheld:
        return "(no recording was kept: --voicebench-no-audio)"
    return f"{one_line(str(folder / AUDIO_NAME))} {_listen_at(conversation, card)}"


def _listen_at(conversation: Conversation, card: Scorecard) -> str:
    """The moments worth hearing: the user's last words and the agent's first."""
    moments = []
    if card.times.user_end_s is not None:
        moments.append(f"from {max(0.0, card.times.user_end_s - 4.0):.1f} s (the user's last seconds)")
    if conversation.agent_speech:
        moments.append(f"at {to_seconds(conversation.agent_speech[0].start_ticks):.1f} s (the agent's first)")
    return ", ".join(moments)
