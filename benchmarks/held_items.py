"""The items of a finished run, each as what a wire could change of it: scores of tools, times, what was heard."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_voicebench.conversation import Conversation, to_seconds
from pytest_voicebench.conversation_files import load_conversation
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import read_results


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

    `results_waited_s`: how long, before the first response, results of tools lay ready until the adapter might give
    them back, which is when the response that asked for them has ended. `latency_s` is None without a response.
    """

    tools: Tools | str
    latency_s: float | None
    results_waited_s: float
    heard: str

    @property
    def passed(self) -> bool:
        """Whether the item passed."""
        return isinstance(self.tools, Tools) and self.tools.passed

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
        return Held(tools=reason, latency_s=None, results_waited_s=0.0, heard="")
    conversation = load_conversation(folder)
    return Held(
        tools=Tools(
            passed=card.passed,
            tools_ok=card.tools_ok,
            args_ok=card.args_ok,
            f1_strict=card.f1_strict,
            argument_accuracy=card.argument_accuracy,
        ),
        latency_s=card.times.first_response_latency_s,
        results_waited_s=_results_waited_s(conversation),
        heard=" / ".join(said.text for said in conversation.transcripts if said.speaker == "user"),
    )


def _results_waited_s(conversation: Conversation) -> float:
    """Calls that wait together wait once."""
    speech = conversation.agent_speech or ()
    first = min((span.start_ticks for span in speech), default=conversation.duration_ticks)
    waits = sorted(
        (call.finished_ticks, call.answered_ticks)
        for call in conversation.calls
        if call.finished_ticks is not None and call.answered_ticks is not None and call.answered_ticks <= first
    )
    waited = until = 0
    for start, end in waits:
        waited += max(0, end - max(start, until))
        until = max(until, end)
    return to_seconds(waited)
