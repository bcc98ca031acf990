"""One turn of the cascade: what was said is written down, answered by the model with its calls, and spoken."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from pytest_voicebench.agents.briefing import function_tools
from pytest_voicebench.agents.cascaded.endpoints import Endpoint
from pytest_voicebench.agents.cascaded.history import History, Reply, Sentence
from pytest_voicebench.agents.cascaded.sentences import SentenceSplitter
from pytest_voicebench.agents.cascaded.speaking import Emit, Mouth
from pytest_voicebench.agents.cascaded.streamed_calls import StreamedCalls
from pytest_voicebench.agents.openai_realtime.usage import usage_counts
from pytest_voicebench.agents.protocol import Fault, Setup, ToolCall, ToolResult, Transcript, TurnEnd, Usage

Json = Any

MOST_RESPONSES = 24
"""In one turn: a model that calls without end is stopped."""


@dataclass(slots=True, kw_only=True)
class Answering:
    """Takes turns one at a time; a turn that is cancelled leaves the history as far as it came."""

    setup: Setup
    stt: Endpoint
    llm: Endpoint
    mouth: Mouth
    history: History
    emit: Emit
    _results: asyncio.Event = field(default_factory=asyncio.Event)
    _responses: int = 0
    _sentences: int = 0

    async def write_down(self, number: int, wav: bytes, seconds: float) -> None:
        """The user's words join the history. Raises Unreachable."""
        self.emit(Usage(counts={"stt_requests": 1, "stt_audio_s": round(seconds, 3)}))
        text, counts = await self.stt.transcribe(wav)
        if counts:
            self.emit(Usage(counts=counts))
        if text.strip():
            self.history.heard(text.strip())
            self.emit(Transcript(speaker="user", text=text.strip(), item_id=f"user_{number}"))

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
        """One completion: its sentences go to the queue as they come, its calls are made at its end; whether any."""
        messages, tools = self.history.messages(), _nested(function_tools(self.setup))
        reply, splitter, calls = self.history.begin(), SentenceSplitter(), StreamedCalls()
        finish, length = None, 0
        async with aclosing(self.llm.chat(messages, tools)) as chunks:
            async for chunk in chunks:
                if counts := usage_counts(chunk.get("usage"), "llm_"):
                    self.emit(Usage(counts=counts))
                choice = _first(chunk.get("choices"))
                delta = choice.get("delta")
                delta = delta if isinstance(delta, dict) else {}
                content = delta.get("content")
                content = content if isinstance(content, str) else ""
                calls.add(delta.get("tool_calls"))
                length += len(content)
                self.llm.check_length(length + calls.length)
                self._say(reply, splitter.feed(content), queue)
                finish = choice.get("finish_reason") or finish
        self._say(reply, splitter.rest(), queue)
        self._check_end(finish)
        self._call(reply, calls, response_id)
        return bool(reply.calls)

    def _say(self, reply: Reply, texts: Sequence[str], queue: asyncio.Queue[Sentence | None]) -> None:
        for text in texts:
            self._sentences += 1
            sentence = Sentence(item_id=f"sentence_{self._sentences}", text=text)
            reply.sentences.append(sentence)
            queue.put_nowait(sentence)

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
            await self.mouth.speak(sentence)


def _nested(tools: Sequence[dict[str, Json]]) -> list[dict[str, Json]]:
    """Declarations in the form of chat completions."""
    return [{"type": "function", "function": {k: v for k, v in t.items() if k != "type"}} for t in tools]


def _first(choices: Json) -> dict[str, Json]:
    """The first choice; the chunk with the usage has none."""
    found = choices[0] if isinstance(choices, list) and choices else None
    return found if isinstance(found, dict) else {}
