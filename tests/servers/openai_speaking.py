"""The speaking side of the double of OpenAI's Realtime API: the agent's events become responses."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import dataclass, field
from typing import Any

from pytest_voicebench.agents.protocol import AgentAudio, PlaybackClear, ToolCall, Transcript
from pytest_voicebench.audio import RATE_HZ, resample
from tests.servers.openai_script import Script, arguments_text

Json = Any

GRACE_S = 0.03
"""A response ends when its agent has added nothing for so long."""

BETA_NAMES = {
    "response.output_audio.delta": "response.audio.delta",
    "response.output_audio.done": "response.audio.done",
    "response.output_audio_transcript.delta": "response.audio_transcript.delta",
    "response.output_audio_transcript.done": "response.audio_transcript.done",
    "conversation.item.added": "conversation.item.created",
}


@dataclass
class Response:
    """The response in progress."""

    id: str
    output: list[dict[str, Json]] = field(default_factory=list)
    cancelled: bool = False
    agent_item: str | None = None  # the agent's own name of the message that is open
    message: dict[str, Json] | None = None
    samples: int = 0
    metadata: Json = None


async def next_event(events: asyncio.Queue, ends: bool) -> Json:
    """The agent's next event, or None where what it adds may `end` and nothing came for a while."""
    try:
        return await asyncio.wait_for(events.get(), GRACE_S if ends else None)
    except TimeoutError:
        return None


class Speaking:
    """The response in progress and how it is told; the other half is Session."""

    def __init__(self, script: Script, socket) -> None:
        self.script, self.socket = script, socket
        self.numbers = 0
        self.response: Response | None = None
        self.sent_samples: dict[str, int] = {}
        self.known_items: list[str] = []
        self.open_calls: dict[str, str] = {}
        self.events: asyncio.Queue = asyncio.Queue()
        self.late: list[tuple[str, str]] = []
        self.pieces = 0
        self.user_item = ""
        self.cut_items: set[str] = set()
        self.lock = asyncio.Lock()

    def name(self, kind: str) -> str:
        self.numbers += 1
        return f"{kind}_{self.numbers:04}"

    async def send(self, kind: str, /, **fields: Json) -> None:
        """One event in the dialect's names."""
        if self.script.dialect == "beta":
            if kind == "conversation.item.done":
                return
            kind = BETA_NAMES.get(kind, kind)
        text = json.dumps({"type": kind, "event_id": self.name("event"), **fields})
        await self.socket.send(text)
        if self.script.twice:
            await self.socket.send(text)
        if self.script.unknown:
            await self.socket.send(
                json.dumps({"type": "response.mood.delta", "event_id": self.name("event"), "x": [1]})
            )

    async def speak(self) -> None:
        """Turn the agent's events into responses: one lasts as long as something comes."""
        while True:
            event = await next_event(self.events, self.busy())
            if event is None:
                async with self.lock:
                    if self.response is not None:
                        await self.finish("completed")
                continue
            if isinstance(event, AgentAudio):
                await self.say(event)
                continue
            async with self.lock:
                if isinstance(event, Transcript):
                    await self.tell(event)
                elif isinstance(event, ToolCall):
                    await self.call(event)
                elif isinstance(event, PlaybackClear) and self.response is not None:
                    await self.finish("cancelled", "turn_detected")

    def busy(self) -> bool:
        """Whether a response is under way that holds something."""
        return self.response is not None and bool(self.response.output or self.response.message)

    async def begin(self, metadata: Json = None) -> Response:
        if self.response is None:
            self.response = Response(id=self.name("resp"), metadata=metadata)
            await self.send("response.created", response=self.shown("in_progress"))
        return self.response

    def shown(self, status: str, reason: str | None = None) -> dict[str, Json]:
        response = self.response
        details = {"type": status, "reason": reason} if reason else None
        audio, text = response.samples // 1200, 10 + len(response.output)
        usage = {
            "total_tokens": 100 + audio + text,
            "input_tokens": 100,
            "output_tokens": audio + text,
            "input_token_details": {
                "text_tokens": 60,
                "audio_tokens": 40,
                "cached_tokens": 16,
                "cached_tokens_details": {"text_tokens": 16, "audio_tokens": 0},
            },
            "output_token_details": {"text_tokens": text, "audio_tokens": audio},
        }
        done = status != "in_progress"
        return {
            "id": response.id,
            "object": "realtime.response",
            "status": status,
            "status_details": details,
            "output": response.output if done else [],
            "output_modalities": ["audio"],
            "metadata": response.metadata,
            "usage": usage if done else None,
        }

    async def tell(self, event: Transcript) -> None:
        if event.speaker == "agent":
            await self.open_message(event.item_id)
            for bit in self.bits(event.text):
                await self.piece("response.output_audio_transcript.delta", delta=bit)
            self.response.message["content"][0]["transcript"] += event.text
        elif self.script.late_transcript:
            self.late.append((self.user_item, event.text))
        else:
            await self.user_text(self.user_item, event.text)

    def bits(self, text: str) -> list[str]:
        """What a text is sent as."""
        size = self.script.bits or max(1, len(text))
        return [text[at : at + size] for at in range(0, max(1, len(text)), size)]

    async def user_text(self, item_id: str, text: str) -> None:
        prefix = "conversation.item.input_audio_transcription"
        if self.script.dialect == "grok":
            await self.send(f"{prefix}.updated", item_id=item_id, transcript=text[: len(text) // 2])
        else:
            for bit in self.bits(text):
                await self.send(f"{prefix}.delta", item_id=item_id, content_index=0, delta=bit)
        usage = {"type": "duration", "seconds": 1.5}
        await self.send(f"{prefix}.completed", item_id=item_id, content_index=0, transcript=text, usage=usage)

    async def call(self, event: ToolCall) -> None:
        response = await self.begin()
        await self.close_message("completed")
        arguments = arguments_text(event.arguments)
        item_id, where = self.name("item"), {"response_id": response.id, "output_index": len(response.output)}
        item = {"id": item_id, "object": "realtime.item", "type": "function_call", "name": event.name}
        item |= {"call_id": event.call_id, "arguments": "", "status": "in_progress"}
        await self.send("response.output_item.added", item=item, **where)
        await self.send("conversation.item.added", item=item, previous_item_id=self.last_item())
        self.known_items.append(item_id)
        place = {**where, "item_id": item_id, "call_id": event.call_id}
        for bit in self.bits(arguments):
            await self.send("response.function_call_arguments.delta", delta=bit, **place)
        await self.send("response.function_call_arguments.done", arguments=arguments, name=event.name, **place)
        cancelled = self.script.cancels_first_call and not self.open_calls
        status = "incomplete" if cancelled else "completed"
        item = {**item, "arguments": arguments, "status": status}
        response.output.append(item)
        self.open_calls[event.call_id] = event.name
        await self.send("response.output_item.done", item=item, **where)
        await self.send("conversation.item.done", item=item, previous_item_id=None)
        if cancelled:
            await self.finish("cancelled", "turn_detected")

    async def say(self, event: AgentAudio) -> None:
        """The pieces of a chunk, each when its time has come; the user may cut in between them."""
        samples = resample(event.audio, RATE_HZ).samples
        data, step = samples.astype("<i2").tobytes(), round(self.script.piece_s * RATE_HZ) * 2
        for start in range(0, len(data), step):
            shift = 1 if self.script.odd else 0
            piece = data[
                max(0, start - shift) if start else 0 : start + step - shift if start + step < len(data) else None
            ]
            async with self.lock:
                if event.item_id in self.cut_items:
                    return
                await self.open_message(event.item_id)
                await self.piece("response.output_audio.delta", delta=base64.b64encode(piece).decode())
                self.response.samples += len(piece) // 2
                item_id = self.response.message["id"]
                self.sent_samples[item_id] = self.sent_samples.get(item_id, 0) + len(piece) // 2
                self.pieces += 1
                if self.pieces == 2:
                    await self.trouble(self.script.on_audio)
            await self.wait_for_sound(len(piece) // 2)

    async def wait_for_sound(self, samples: int) -> None:
        """As long as the script wants a piece of so many samples to take."""
        await asyncio.sleep(self.script.pace * samples / RATE_HZ)

    async def piece(self, kind: str, **fields: Json) -> None:
        response = self.response
        place = {"response_id": response.id, "item_id": response.message["id"], "content_index": 0}
        await self.send(kind, output_index=len(response.output), **place, **fields)

    async def open_message(self, agent_item: str | None) -> None:
        response = await self.begin()
        if response.message is not None and response.agent_item == agent_item:
            return
        await self.close_message("completed")
        message = {"id": self.message_id(), "object": "realtime.item", "type": "message", "role": "assistant"}
        message |= {"status": "in_progress", "content": []}
        where = {"response_id": response.id, "output_index": len(response.output)}
        await self.send("response.output_item.added", item=message, **where)
        await self.send("conversation.item.added", item=message, previous_item_id=self.last_item())
        self.known_items.append(message["id"])
        response.message, response.agent_item = {**message, "content": [self.content("")]}, agent_item
        await self.piece("response.content_part.added", part={"type": "audio", "transcript": ""})

    def message_id(self) -> str:
        """A name for the next message of the response."""
        return self.name("item")

    def content(self, transcript: str) -> dict[str, Json]:
        kind = "audio" if self.script.dialect == "beta" else "output_audio"
        return {"type": kind, "transcript": transcript}

    async def close_message(self, status: str) -> None:
        response = self.response
        if response is None or response.message is None:
            return
        text = response.message["content"][0]["transcript"]
        await self.piece("response.output_audio.done")
        await self.piece("response.output_audio_transcript.done", transcript=text)
        await self.piece("response.content_part.done", part={"type": "audio", "transcript": text})
        item = {**response.message, "status": status}
        where = {"response_id": response.id, "output_index": len(response.output)}
        await self.send("response.output_item.done", item=item, **where)
        await self.send("conversation.item.done", item=item, previous_item_id=None)
        response.output.append(item)
        response.message = None

    async def finish(self, status: str, reason: str | None = None) -> None:
        """End the response, and send what waited for it."""
        response = self.response
        if status == "cancelled" and response.agent_item:
            self.cut_items.add(response.agent_item)
        await self.close_message("completed" if status == "completed" else "incomplete")
        if self.script.malformed:
            await self.send("response.done")
        else:
            await self.send("response.done", response=self.shown(status, reason))
        self.response = None
        limit = {"name": "requests", "limit": 1000, "remaining": 999, "reset_seconds": 60.0}
        await self.send("rate_limits.updated", rate_limits=[limit])
        if not any(i["type"] == "function_call" for i in response.output):
            late, self.late = self.late, []
            for item_id, text in late:
                await self.user_text(item_id, text)
