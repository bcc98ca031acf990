"""The items of a finished run, each as what a wire could change of it: scores of tools, times, what was heard."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pytest_voicebench.conversation import Conversation, to_seconds
from pytest_voicebench.conversation_files import load_conversation, load_events
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import read_results

SERVICES = ("audio.transcriptions", "chat.completions", "audio.speech")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """The calls as they were scored."""

    passed: bool
    tools_ok: bool
    args_ok: bool
    f1_strict: float
    argument_accuracy: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One item. `tools` is the reason where there is no score. `heard` is the user's words as the agent took them.

    `results_s`: how long, before the first response, results of tools lay ready until the adapter might give them back,
    which is when the response that asked for them has ended. `services_s`: how long, between the user's end and the
    first response, requests to services were without an answer; `charged_s`: what `local` is charged for the same,
    which is hearing and thinking. `input_hz`: the rate at which the user's speech was sent. `latency_s` is None without
    a response.
    """

    tools: Tools | str
    input_hz: int
    latency_s: float | None = None
    results_s: float = 0.0
    services_s: float = 0.0
    charged_s: float = 0.0
    heard: str = ""

    @property
    def passed(self) -> bool:
        """Whether the item passed."""
        return isinstance(self.tools, Tools) and self.tools.passed

    def waited_s(self, expected: Held) -> dict[str, float]:
        """What explains a later response, in seconds, by what it is."""
        waits = {"of results' waits for the end of a response": self.results_s - expected.results_s}
        if self.services_s:
            waits["of services beyond what local is charged"] = self.services_s - expected.charged_s
        return waits

    def later_s(self, expected: Held) -> float | None:
        """Seconds by which the first response came later than expected; None where either has none."""
        if self.latency_s is None or expected.latency_s is None:
            return None
        return self.latency_s - expected.latency_s


def read_held(run: Path) -> dict[str, Held]:
    """The items of a run's folder, by id."""
    return {result.item_id: _held(result, run / "items" / result.item_id) for result in read_results(run).results}


def _held(result: Result, folder: Path) -> Held:
    card = result.scorecard
    if card is None:
        reason = f"{result.outcome} ({result.error_kind}: {result.cause})"
        return Held(tools=reason, input_hz=result.agent.input_hz)
    conversation, times = load_conversation(folder), card.times
    sound_s = _first_sound_s(conversation, times.user_end_s)
    return Held(
        tools=Tools(
            passed=card.passed,
            tools_ok=card.tools_ok,
            args_ok=card.args_ok,
            f1_strict=card.f1_strict,
            argument_accuracy=card.argument_accuracy,
        ),
        input_hz=result.agent.input_hz,
        latency_s=times.first_response_latency_s,
        results_s=_union_s(_results(conversation), 0.0, sound_s),
        services_s=_union_s(_requests(folder), times.user_end_s, sound_s),
        charged_s=_charged_s(conversation),
        heard=" / ".join(said.text for said in conversation.transcripts if said.speaker == "user"),
    )


def _first_sound_s(conversation: Conversation, after_s: float | None) -> float | None:
    arrived = (to_seconds(chunk.received_ticks) for chunk in conversation.chunks)
    return None if after_s is None else min((s for s in arrived if s > after_s), default=None)


def _results(conversation: Conversation) -> list[tuple[float, float]]:
    """From when a tool had answered to when the agent was told."""
    return [
        (to_seconds(call.finished_ticks), to_seconds(call.answered_ticks))
        for call in conversation.calls
        if call.finished_ticks is not None and call.answered_ticks is not None
    ]


def _requests(folder: Path) -> list[tuple[float, float]]:
    """From each request over HTTP to the first of its answer; a stream's later pieces are no answer to the next.

    An adapter's own voice is at work from the last of an answer until it notes what it spoke.
    """
    found: list[tuple[float, float]] = []
    open_s: dict[str, float] = {}
    written_s = 0.0
    for line in load_events(folder):
        told = json.loads(line)
        event = told["event"]
        if isinstance(event, str):
            if " spoke " in event:
                found.append((written_s, told["at_s"]))
            continue
        kind = "chat.completions" if "choices" in event else event.get("type")
        if told["way"] == "sent" and kind in SERVICES:
            open_s[kind] = told["at_s"]
        elif told["way"] == "received":
            written_s = told["at_s"]
            if kind in open_s:
                found.append((open_s.pop(kind), written_s))
    return found


def _charged_s(conversation: Conversation) -> float:
    settings, heard_s = conversation.agent.settings, conversation.usage.get("recognized_s", 0.0)
    return float(settings.get("cost_hear_s") or 0) * heard_s + float(settings.get("cost_think_s") or 0)


def _union_s(spans: Iterable[tuple[float, float]], begin_s: float | None, end_s: float | None) -> float:
    """How much of the time between is covered by spans; 0 where there is no between."""
    covered, until_s = 0.0, begin_s
    if until_s is None or end_s is None:
        return covered
    for start_s, stop_s in sorted(spans):
        stop_s = min(stop_s, end_s)
        covered += max(0.0, stop_s - max(start_s, until_s))
        until_s = max(until_s, stop_s)
    return covered
