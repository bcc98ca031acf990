"""What the agent did, as it comes in: its calls with their answers, and the texts it gave."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pytest_voicebench.agents.protocol import ToolCall, ToolRan, ToolResult, Transcript
from pytest_voicebench.conversation import Call, Transcribed, Word, to_ticks
from pytest_voicebench.phrases import without_control_tokens
from pytest_voicebench.playback import Loudspeaker
from pytest_voicebench.toolbox import Answer


@dataclass(slots=True)
class CallBook:
    """All calls of a conversation in order of arrival, by a key: the call's id, or `id#2` where an id was used again.

    The same call sent twice with one id is one call; another call with a used id is another call, and counts.
    """

    calls: dict[str, Call] = field(default_factory=dict)
    _events: dict[str, ToolCall] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)
    _results: dict[str, ToolResult] = field(default_factory=dict)
    _on_their_way: set[str] = field(default_factory=set)
    _ended_responses: set[str] = field(default_factory=set)

    def open(self, event: ToolCall, now_ticks: int) -> str | None:
        """Enter a call and return its key; None where it repeats one that is known."""
        key, number = event.call_id, 1
        while key in self.calls:
            known = self._events.get(key)
            same = known is not None and (known.name, known.arguments) == (event.name, event.arguments)
            if same and self.calls[key].status != "cancelled":
                return None
            number += 1
            key = f"{event.call_id}#{number}"
        self._events[key] = event
        self.calls[key] = Call(
            call_id=key,
            name=event.name,
            arguments={},  # until the toolbox has read them
            status="failed",
            at_ticks=now_ticks,
            reason="the conversation ended before the tool answered",
            response_id=event.response_id,
        )
        self._open.add(key)
        return key

    def note(self, event: ToolRan, answer: Answer, now_ticks: int) -> None:
        """Enter a call that the agent's own tool has answered, told now. One with a used id is another call."""
        key, number = event.call_id, 1
        while key in self.calls:
            number += 1
            key = f"{event.call_id}#{number}"
        self.calls[key] = Call(
            call_id=key,
            name=event.name,
            arguments=answer.arguments,
            arguments_text=answer.arguments_text,
            status=answer.status,
            at_ticks=max(0, now_ticks - to_ticks(event.took_s or 0.0)),
            finished_ticks=now_ticks,
            answered_ticks=now_ticks,
            acknowledged_ticks=now_ticks,
            result=answer.result,
            reason=answer.reason,
            self_reported=True,
            timed=event.took_s is not None,
        )

    def is_open(self, key: str) -> bool:
        """Whether a call still waits for its tool."""
        return key in self._open

    @property
    def pending(self) -> bool:
        """Whether any call has no answer yet, or one that the agent's adapter has not taken."""
        return bool(self._open or self._results or self._on_their_way)

    def finish(self, key: str, answer: Answer, now_ticks: int) -> None:
        """Enter what the tool said."""
        self._open.discard(key)
        call = self.calls[key]
        self.calls[key] = replace(
            call,
            arguments=answer.arguments,
            arguments_text=answer.arguments_text,
            status=answer.status,
            result=copy.deepcopy(answer.result),  # the agent is given the other one, and may change it
            reason=answer.reason,
            finished_ticks=now_ticks,
        )
        self._results[key] = ToolResult(
            call_id=self._events[key].call_id, name=call.name, result=answer.result, is_error=answer.is_error
        )

    def cancel(self, call_ids: tuple[str, ...]) -> set[str | None]:
        """Take back calls that have not run; one that has run stays executed, its result is no longer handed over.

        Returns the responses they belong to, whose other results may now be complete.
        """
        responses = set()
        for key in [key for key, event in self._events.items() if event.call_id in call_ids]:
            responses.add(self._events[key].response_id)
            self._results.pop(key, None)
            if key in self._open:
                self._open.discard(key)
                self.calls[key] = replace(
                    self.calls[key], status="cancelled", reason="taken back by the agent before it ran"
                )
        return responses

    def end_response(self, response_id: str) -> None:
        """No more calls will come in this response."""
        self._ended_responses.add(response_id)

    def take_answers(self, response_id: str | None) -> dict[str, ToolResult]:
        """Results by key that can be handed over now: one response's together, and only when all of them are there."""
        if response_id is not None and response_id not in self._ended_responses:
            return {}
        keys = [key for key, event in self._events.items() if event.response_id == response_id]
        if response_id is not None and any(key in self._open for key in keys):
            return {}
        return {key: self._results.pop(key) for key in keys if key in self._results}

    def answered(self, keys: Iterable[str], now_ticks: int) -> None:
        """Enter when results were handed over."""
        for key in keys:
            self._on_their_way.add(key)
            self.calls[key] = replace(self.calls[key], answered_ticks=now_ticks)

    def acknowledged(self, keys: Iterable[str], now_ticks: int) -> None:
        """Enter when the agent's adapter had taken them."""
        for key in keys:
            self._on_their_way.discard(key)
            self.calls[key] = replace(self.calls[key], acknowledged_ticks=now_ticks)


@dataclass(slots=True)
class TranscriptBook:
    """The latest text of each item, in order of first arrival."""

    entries: dict[tuple[str, str], Transcribed] = field(default_factory=dict)

    def add(self, event: Transcript, now_ticks: int) -> None:
        """Replace or extend the text of an item; texts without an item stand alone."""
        item = event.item_id or f"#{len(self.entries)}"
        key = (event.speaker, item)
        known = self.entries.get(key)
        before = known.text if known and event.delta else ""
        words = (known.words if known and event.delta else ()) + event.words
        self.entries[key] = Transcribed(
            speaker=event.speaker,
            text=before + event.text,
            at_ticks=known.at_ticks if known else now_ticks,
            item_id=event.item_id,
            words=words,
        )

    def heard(self, loudspeaker: Loudspeaker, now_ticks: int) -> tuple[Transcribed, ...]:
        """All entries; those of the agent with the part that was heard by now, its words where they were heard."""
        return tuple(
            _with_words_in_place(_with_heard_text(entry, loudspeaker, now_ticks), loudspeaker, now_ticks)
            for entry in self.entries.values()
        )


def _with_heard_text(entry: Transcribed, loudspeaker: Loudspeaker, now_ticks: int) -> Transcribed:
    if entry.speaker != "agent":
        return entry
    if entry.item_id is None:  # nothing says which sound it belongs to
        return replace(entry, heard_text=entry.text, estimated=True)
    received = loudspeaker.received_ticks(entry.item_id)
    if not received:
        return replace(entry, heard_text="")
    heard = loudspeaker.heard_ticks(entry.item_id, now_ticks)
    if heard >= received:
        return replace(entry, heard_text=entry.text)
    if entry.words:
        return replace(entry, heard_text=_words_until(entry.words, heard))
    words = without_control_tokens(entry.text).split()
    return replace(entry, heard_text=" ".join(words[: len(words) * heard // received]), estimated=True)


def _with_words_in_place(entry: Transcribed, loudspeaker: Loudspeaker, now_ticks: int) -> Transcribed:
    """The agent counts its words from the start of an item's sound; on the timeline they lie where they were played."""
    if entry.speaker != "agent" or entry.item_id is None or not entry.words:
        return entry
    heard = loudspeaker.heard_ticks(entry.item_id, now_ticks)
    words = [word for word in entry.words if word.end_ticks <= heard]
    bounds = [loudspeaker.played_at(entry.item_id, w.start_ticks, w.end_ticks) for w in words]
    placed = (replace(w, start_ticks=a, end_ticks=b) for w, (a, b) in zip(words, bounds, strict=True))
    return replace(entry, words=tuple(placed))


def _words_until(words: tuple[Word, ...], ticks: int) -> str:
    return " ".join(w.text for w in words if w.end_ticks <= ticks)


def added(totals: Mapping[str, float], counts: Mapping[str, float]) -> dict[str, float]:
    """Usage counts added up by name."""
    return {name: totals.get(name, 0.0) + float(counts.get(name, 0)) for name in {**totals, **counts}}
