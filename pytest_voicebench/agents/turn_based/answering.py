"""One turn: the model is asked until it calls nothing more, and what it says is delivered to the user."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

from pytest_voicebench.agents.briefing import function_tools
from pytest_voicebench.agents.openai_realtime.usage import usage_counts
from pytest_voicebench.agents.protocol import UNREPORTED, Fault, Setup, ToolCall, ToolResult, TurnEnd, Usage
from pytest_voicebench.agents.turn_based.delivery import Delivery, InSentences, InSound
from pytest_voicebench.agents.turn_based.endpoints import Endpoint
from pytest_voicebench.agents.turn_based.history import History, Reply, Sentence
from pytest_voicebench.agents.turn_based.speaking import Emit, Loudspeaker, Mouth
from pytest_voicebench.agents.turn_based.spoken_answers import finish_of, parts_of
from pytest_voicebench.agents.turn_based.streamed_calls import StreamedCalls

Json = Any

MOST_RESPONSES = 24
"""In one turn: a model that calls without end is stopped."""


class Listening(Protocol):
    """How the user's speech reaches the model."""

    async def take(self, number: int, wav: bytes, seconds: float) -> None:
        """The speech of the user's turn of this number joins the history. Raises Unreachable."""


@dataclass(slots=True, kw_only=True)
class Answering:
    """Takes turns one at a time; a turn that is cancelled leaves the history as far as it came.

    `mouth` speaks what the model writes; without one the model's answers are sound.
    """

    setup: Setup
    listening: Listening
    llm: Endpoint
    loudspeaker: Loudspeaker
    mouth: Mouth | None
    history: History
    emit: Emit
    _results: asyncio.Event = field(default_factory=asyncio.Event)
    _responses: int = 0
    _item_ids: Iterator[str] = field(default_factory=lambda: map("sentence_{}".format, count(1)))

    async def respond(self) -> None:
        """Answer what the history ends with, unless it is settled. Raises Unreachable, alone or in groups."""
        if self.history.settled:
            return
        queue: asyncio.Queue[Sentence | None] = asyncio.Queue()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._speak(queue))
            response_id = await self._responses_of_turn(queue)
            queue.put_nowait(None)
        self.emit(TurnEnd(response_id=response_id))

    def answer(self, results: Sequence[ToolResult]) -> None:
        """Results of calls, also of a turn that was cancelled."""
        self.history.answered(results)
        self._results.set()

    async def _responses_of_turn(self, queue: asyncio.Queue[Sentence | None]) -> str:
        """Ask until a response calls nothing; the id of the last one."""
        for _ in range(MOST_RESPONSES):
            while self.history.waiting:
                self._results.clear()
                await self._results.wait()
            self._responses += 1
            response_id = f"response_{self._responses}"
            if not await self._response(response_id, queue):
                return response_id
        self.emit(Fault(kind="agent", message=f"the model still calls tools after {MOST_RESPONSES} responses"))
        return response_id

    async def _response(self, response_id: str, queue: asyncio.Queue[Sentence | None]) -> bool:
        """One completion: what it says is delivered as it comes, its calls are made at its end; whether any."""
        messages, tools = self.history.messages(), _nested(function_tools(self.setup))
        reply, calls = self.history.begin(), StreamedCalls()
        delivery = self._delivery(reply, queue)
        finish: Json = None
        counts: dict[str, float] = {}
        try:
            async with aclosing(self.llm.chat(messages, tools)) as chunks:
                async for chunk in chunks:
                    counts = usage_counts(chunk.get("usage"), "llm_") or counts
                    for part in parts_of(chunk):
                        calls.add(part.get("tool_calls"))
                        delivery.take(part)
                    self.llm.check_length(delivery.length + calls.length)
                    finish = finish_of(chunk) or finish
        finally:
            # Some servers repeat it with every chunk; of an answer that was cut off the last one never comes.
            self.emit(Usage(counts=counts or {UNREPORTED: 1.0}))
        self._check_end(finish)
        delivery.end(called=bool(calls.calls()))
        self._call(reply, calls, response_id)
        return bool(reply.calls)

    def _delivery(self, reply: Reply, queue: asyncio.Queue[Sentence | None]) -> Delivery:
        if self.mouth is not None:
            return InSentences(reply, self._item_ids, queue.put_nowait)
        return InSound(reply, next(self._item_ids), self.loudspeaker, self.emit, self.llm.broken)

    def _call(self, reply: Reply, calls: StreamedCalls, response_id: str) -> None:
        self.history.called(reply, calls.calls())
        for call in reply.calls:
            self.emit(ToolCall(call_id=call.call_id, name=call.name, arguments=call.arguments, response_id=response_id))
        if reply.calls:
            self.emit(TurnEnd(response_id=response_id))

    def _check_end(self, finish: Json) -> None:
        """A stream that just ends was cut; an answer may also be cut by a limit or a filter, which is the agent's."""
        if finish is None:
            raise self.llm.broken("the answer ended without finish_reason")
        if finish not in ("stop", "tool_calls", "function_call"):
            self.emit(Fault(kind="agent", message=f"the model's answer is incomplete: {str(finish)[:80]}"))

    async def _speak(self, queue: asyncio.Queue[Sentence | None]) -> None:
        while (sentence := await queue.get()) is not None:
            if self.mouth is not None:
                await self.mouth.speak(sentence)


def _nested(tools: Sequence[dict[str, Json]]) -> list[dict[str, Json]]:
    """Declarations in the form of chat completions."""
    return [{"type": "function", "function": {k: v for k, v in t.items() if k != "type"}} for t in tools]
