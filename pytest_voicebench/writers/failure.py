"""The text of an item that did not pass: what an engineer needs, on one screen."""

from __future__ import annotations

from pathlib import Path

from pytest_voicebench.conversation import Call, Conversation, to_seconds
from pytest_voicebench.conversation_files import AUDIO_NAME
from pytest_voicebench.scenario import Scenario
from pytest_voicebench.scorecard import ArgumentScore, Pair, Scorecard
from pytest_voicebench.writers.plain_text import one_line, pad, value_text

WIDTH = 100
MOST_CALL_LINES = 12

CAUSES = {
    "stale": "the user said it, then took it back",
    "misheard": "the agent's own transcript of the user lacks it",
    "invented": "neither said by the user nor returned by a tool",
    "other": "no cause found",
}


def failure_text(
    scenario: Scenario, conversation: Conversation, scorecard: Scorecard, *, folder: Path, rerun_command: str
) -> str:
    """Expected and called side by side, the first difference and its cause, the times, where to hear it, how to rerun.

    At most 26 lines of text without colour. `folder` is the item's folder, written as it is given. Text of the agent
    and of the scenario is shown with control characters and line ends escaped, cut to the width; the path and the
    command are never cut.
    """
    lines = [
        one_line(f"{scenario.item_id}: {scenario.title}{_traits(scenario)}", WIDTH),
        one_line("not passed: " + ("; ".join(_reasons(conversation, scorecard)) or "unknown reason"), WIDTH),
        "",
        *_call_lines(scenario, conversation, scorecard),
        "",
        *_difference(scorecard),
        _times(conversation, scorecard),
        *_voices(scenario, conversation),
        f"  listen    {one_line(str(folder / AUDIO_NAME))} {_listen_at(conversation, scorecard)}",
        f"  again     {one_line(rerun_command)}",
    ]
    return "\n".join(line.rstrip() for line in lines)


def _traits(scenario: Scenario) -> str:
    traits = [t for t in (scenario.domain, scenario.difficulty, *scenario.disfluency) if t]
    return f" ({', '.join(traits)})" if traits else ""


def _reasons(conversation: Conversation, card: Scorecard) -> list[str]:
    """What of Pass is missing, in the order of its definition."""
    reasons = []
    missing = [p.tool for p in card.pairs if p.actual is None]
    if missing:
        reasons.append(f"not called: {', '.join(missing)}")
    if card.surplus:
        calls = conversation.counted_calls
        reasons.append(f"called too much: {', '.join(calls[i].name for i in card.surplus)}")
    wrong = [f"{p.tool}.{a.name}" for p in card.pairs if p.actual is not None for a in p.arguments if _is_wrong(a)]
    if wrong:
        reasons.append(f"wrong: {', '.join(wrong)}")
    if not card.spoke:
        reasons.append("the agent never took the turn")
    for name, met in card.requirements.items():
        if not met:
            reasons.append(f"required {name}: {'could not be checked' if met is None else 'not met'}")
    return reasons


def _is_wrong(argument: ArgumentScore) -> bool:
    return argument.verdict != "match"


def _call_lines(scenario: Scenario, conversation: Conversation, card: Scorecard) -> list[str]:
    calls = conversation.counted_calls
    lines = []
    for pair in card.pairs:
        lines += _pair_lines(pair, calls, card)
    for index in card.surplus:
        arguments = ", ".join(f"{k}={value_text(v)}" for k, v in calls[index].arguments.items())
        lines.append(_row("(no such call expected)", f"{_call_head(calls, index, card)} {arguments}", "EXTRA"))
    cancelled = [c.name for c in conversation.calls if c.status == "cancelled"]
    if cancelled:
        lines.append(_row("", f"taken back, not counted: {', '.join(cancelled)}", ""))
    if not lines:
        lines.append(_row("(no calls)", "(no calls)", "ok"))
    if len(lines) > MOST_CALL_LINES:
        left = len(lines) - MOST_CALL_LINES + 1
        lines = [*lines[: MOST_CALL_LINES - 1], f"  ... {left} more lines: see result.json"]
    return [_row("expected", "called (seconds after the user's end)", ""), *lines]


def _pair_lines(pair: Pair, calls: tuple[Call, ...], card: Scorecard) -> list[str]:
    if pair.actual is None:
        arguments = ", ".join(f"{a.name}={value_text(a.expected)}" for a in pair.arguments)
        return [_row(f"{pair.tool} {arguments}", "(not called)", "MISSING")]
    wrong = [a for a in pair.arguments if _is_wrong(a)]
    right = ", ".join(a.name for a in pair.arguments if not _is_wrong(a))
    lines = [_row(pair.tool, _call_head(calls, pair.actual, card), "" if wrong else "ok")]
    lines += [_row(f"  {a.name} = {value_text(a.expected)}", f"  {value_text(a.actual)}", _mark(a)) for a in wrong]
    if wrong and right:
        lines.append(_row(f"  {right}", "  as expected", "ok"))
    if pair.extra:
        lines.append(_row("", f"  not asked for: {', '.join(pair.extra)}", ""))
    return lines


def _mark(argument: ArgumentScore) -> str:
    verdict = "WRONG" if argument.verdict == "mismatch" else "CANNOT TELL"
    return f"{verdict}, {argument.cause}" if argument.cause else verdict


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
        parts.append("premature")
    return " ".join(parts)


def _difference(card: Scorecard) -> list[str]:
    """The first expected call or argument that was not met, with its cause; nothing where all was met."""
    for pair in card.pairs:
        if pair.actual is None:
            return [one_line(f"  first     {pair.tool} was never called", WIDTH)]
        for argument in pair.arguments:
            if _is_wrong(argument):
                return _argument_difference(pair, argument)
    return []


def _argument_difference(pair: Pair, argument: ArgumentScore) -> list[str]:
    expected, actual = value_text(argument.expected, 26), value_text(argument.actual, 26)
    lines = [f"  first     {pair.tool}.{argument.name}: expected {expected}, got {actual}"]
    cause = f"{argument.cause}: {CAUSES[argument.cause]}" if argument.cause else ""
    because = "; ".join(part for part in (argument.reason, cause) if part)
    if because:
        lines.append(f"            {because}")
    return [one_line(line, WIDTH) for line in lines]


def _times(conversation: Conversation, card: Scorecard) -> str:
    times = card.times
    calls = conversation.counted_calls
    end_s = times.user_end_s
    parts = [f"user end {_seconds(end_s)}"]
    parts.append(f"first call {_seconds(to_seconds(calls[0].at_ticks) if calls else None, end_s)}")
    parts.append(f"reply {_seconds(times.reply_start_s, end_s)}")
    if times.interruption_depth_s is not None:
        parts.append(f"interrupted {times.interruption_depth_s:.2f} s before the end")
    elif times.cause:
        parts.append(f"no latencies: {times.cause}")
    parts.append(f"ended: {conversation.ended}")
    return one_line(f"  times     {', '.join(parts)}", WIDTH)


def _seconds(value_s: float | None, since_s: float | None = None) -> str:
    if value_s is None:
        return "none"
    return f"{value_s:.2f} s" if since_s is None else f"{value_s:.2f} s ({value_s - since_s:+.2f})"


def _voices(scenario: Scenario, conversation: Conversation) -> list[str]:
    spoken = " ".join(u.text for u in conversation.turns) or scenario.stimulus_text
    heard = " ".join(t.text for t in conversation.transcripts if t.speaker == "user")
    said = " ".join(_as_heard(t.heard_text, t.text) for t in conversation.transcripts if t.speaker == "agent")
    lines = [f"  user      {spoken}"]
    lines.append(f"  heard     {heard or '(the agent gives no transcript of the user)'}")
    lines.append(f"  said      {said or '(the agent gives no transcript of itself)'}")
    return [one_line(line, WIDTH) for line in lines]


def _as_heard(heard: str | None, text: str) -> str:
    return text if heard is None else heard


def _listen_at(conversation: Conversation, card: Scorecard) -> str:
    """The moments worth hearing: the user's last words and the agent's first."""
    moments = []
    if card.times.user_end_s is not None:
        moments.append(f"at {max(0.0, card.times.user_end_s - 4.0):.1f} s (the user's last words)")
    if conversation.agent_speech:
        moments.append(f"at {to_seconds(conversation.agent_speech[0].start_ticks):.1f} s (the agent's first)")
    return ", ".join(moments)
