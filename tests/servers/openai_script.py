"""What the double of OpenAI's Realtime API is told to do: its dialect, its faults, and what its agent says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import stage

from pytest_voicebench.agents.protocol import AgentAudio, ToolCall, Transcript
from pytest_voicebench.audio import RATE_HZ, Audio

Json = Any


@dataclass(frozen=True, kw_only=True)
class Script:
    """One way of behaving. As it stands, the double does everything right."""

    dialect: str = "ga"
    key: str | None = None  # another one is refused with 401, and repeated in the message as servers do
    status: int | None = None  # refuses the handshake
    retry_after: str | None = None
    location: str | None = None  # of a redirect
    greets: bool = True
    first: Sequence[Json] = ()  # what happens as soon as the connection stands
    confirms: bool = True
    refuses_session: str | None = None
    changes: dict[str, Json] = field(default_factory=dict)  # of the session's turn detection, against what was asked
    late_transcript: bool = False  # the user's text comes after the reply
    cancels_first_call: bool = False  # the response of the first call ends cancelled, its arguments finished
    withdraws_first_call: bool = False  # its item is complete, its response then incomplete, and so the item
    pace: float = 0.0  # seconds a piece of audio waits, for each second of it
    piece_s: float = 0.1
    bits: int = 0  # characters of a delta of text or arguments; 0: all in one
    odd: bool = False  # pieces end in the middle of a sample
    twice: bool = False  # every event is sent twice, with its id
    unknown: bool = False  # events nobody has heard of, between the others
    pings: bool = False  # unsolicited {"type": "ping"} before anything else
    on_audio: Sequence[Json] = ()  # see Session.trouble: what happens after the second piece of audio
    on_turn: Sequence[Json] = ()  # what happens when the user's first turn ends
    speaks_anyhow: bool = False  # no response is cancelled when the user speaks
    malformed: bool = False  # response.done without its response: a fault for typed clients


@dataclass(frozen=True)
class Call:
    """The agent calls a tool."""

    name: str
    arguments: str = "{}"
    call_id: str = ""


@dataclass(frozen=True)
class Say:
    """The agent speaks: a tone of that length, or one of the package's short voices by name; and words for it."""

    seconds: float = 0.6
    text: str = "All done."
    voice: str | None = None

    def sound(self) -> np.ndarray:
        return stage.voice(self.voice) if self.voice else tone(self.seconds)


def tone(seconds: float) -> np.ndarray:
    """A hum that no voice detector needs to like."""
    at = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    return (6000 * np.sin(2 * np.pi * 220 * at)).astype(np.int16)


class Recited:
    """An agent that answers the n-th turn with the n-th list of acts; neighbouring calls are made together.

    It has the methods of a Line, and `heard_turn`, which the double calls when its voice detection ends a turn.
    """

    def __init__(self, turns: Sequence[Sequence[Call | Say]], heard: Sequence[str], after_s: float) -> None:
        self._turns = list(turns)
        self._heard = list(heard)
        self._after_s = after_s
        self._events: asyncio.Queue = asyncio.Queue()
        self._answers: dict[str, Json] = {}
        self._answered = asyncio.Event()
        self._work: asyncio.Task | None = None
        self._number = 0

    async def send(self, audio: Audio) -> None:
        """Nothing is learnt from it."""

    async def receive(self):
        while True:
            yield await self._events.get()

    async def answer(self, results) -> None:
        self._answers |= {r.call_id: r.result for r in results}
        self._answered.set()

    def heard_turn(self) -> None:
        """Begin the next list of acts."""
        acts = self._turns.pop(0) if self._turns else []
        text = self._heard.pop(0) if self._heard else "words of the user"
        self._events.put_nowait(Transcript(speaker="user", text=text))
        self._work = asyncio.create_task(self._act(acts))

    def interrupted(self) -> None:
        """Act no more in this turn."""
        if self._work is not None:
            self._work.cancel()

    async def _act(self, acts: Sequence[Call | Say]) -> None:
        await asyncio.sleep(self._after_s)
        waiting: list[str] = []
        for act in acts:
            if isinstance(act, Say):
                await self._results(waiting)
                self._speak(act)
                continue
            self._number += 1
            call_id = act.call_id or f"call_{self._number}"
            waiting.append(call_id)
            self._events.put_nowait(ToolCall(call_id=call_id, name=act.name, arguments=act.arguments))
        await self._results(waiting)

    async def _results(self, waiting: list[str]) -> None:
        while not all(call_id in self._answers for call_id in waiting):
            self._answered.clear()
            await self._answered.wait()
        waiting.clear()

    def _speak(self, act: Say) -> None:
        self._number += 1
        item_id = f"say_{self._number}"
        self._events.put_nowait(Transcript(speaker="agent", text=act.text, item_id=item_id))
        self._events.put_nowait(AgentAudio(item_id=item_id, audio=Audio(samples=act.sound(), rate_hz=RATE_HZ)))


def recite(*turns: Sequence[Call | Say], heard: Sequence[str] = (), after_s: float = 0.0):
    """What opens a Recited for each conversation; it takes the Setup that the double makes of `session.update`."""

    @asynccontextmanager
    async def open_line(_setup):
        line = Recited(turns, heard, after_s)
        try:
            yield line
        finally:
            line.interrupted()

    return open_line


def setup_of(session: dict[str, Json], tools_by_name: dict[str, Any]):
    """The Setup that a session describes. Declarations that are known in full stand for what came over the wire."""
    import re
    from datetime import datetime

    from pytest_voicebench.agents.protocol import Setup

    text = session.get("instructions") or ""
    found = re.search(r"Today is \w+, (\d+ \w+ \d{4})\.", text)
    today = datetime.strptime(found[1], "%d %B %Y").date() if found else datetime(2026, 1, 1).date()
    tools = tuple(tools_by_name.get(t["name"]) or _tool(t) for t in session.get("tools") or [])
    return Setup(conversation_id="double", instructions=text, tools=tools, today=today)


def _tool(declared: dict[str, Json]):
    from pytest_voicebench.tools import Parameter, Tool

    schema = declared.get("parameters") or {}
    required = schema.get("required") or []
    parameters = {
        name: Parameter(
            name=name,
            type=p.get("type", "string"),
            required=name in required,
            description=p.get("description", ""),
            default=p.get("default"),
            has_default="default" in p,
            enum=tuple(p.get("enum") or ()),
            format=p.get("format"),
        )
        for name, p in (schema.get("properties") or {}).items()
    }
    return Tool(name=declared["name"], description=declared.get("description", ""), parameters=parameters)


def arguments_text(arguments: Json) -> str:
    """Arguments as the wire has them."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments)
