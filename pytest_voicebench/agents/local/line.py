"""The local agent at work in one conversation: listen, recognise, plan, call, speak; and stop when spoken to."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pytest_voicebench.agents.blocks import Blocks
from pytest_voicebench.agents.hearing import INPUT_HZ, Hearing
from pytest_voicebench.agents.local.recognition import Transcriber
from pytest_voicebench.agents.local.reply import reply_text
from pytest_voicebench.agents.local.settings import LocalSettings
from pytest_voicebench.agents.local.understanding.planner import Step, plan
from pytest_voicebench.agents.local.understanding.references import Known, Reference, resolve
from pytest_voicebench.agents.local.understanding.unfinished import is_unfinished
from pytest_voicebench.agents.protocol import (
    AgentAudio,
    AgentEvent,
    Fault,
    PlaybackClear,
    Ready,
    Setup,
    ToolCall,
    ToolResult,
    Transcript,
    Unsupported,
    Usage,
)
from pytest_voicebench.agents.voice import Voice
from pytest_voicebench.audio import Audio, Samples
from pytest_voicebench.clock import VirtualTimeLoop

Json = Any

_In = TypeVar("_In")
_Out = TypeVar("_Out")

_CHUNK_S = 0.2
_NOISE_S = 2.0  # a sound too short for speech is forgotten after this much silence


@functools.cache
def _beside() -> ThreadPoolExecutor:
    """The thread in which this process recognises and speaks where time is real."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="voicebench-local")


@dataclass(slots=True, kw_only=True)
class _Asked:
    """A call that was made in this turn; `known` is None until it is answered."""

    tool: str
    arguments: dict[str, Json]
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    known: Known | None = None


@dataclass(slots=True, kw_only=True)
class _Turn:
    """What the user said since the last complete answer; `unread` is still being written down, and follows `text`.

    `reply` is when the answer plays, by the loop's clock.
    """

    number: int
    text: str = ""
    unread: list[asyncio.Future[str]] = field(default_factory=list)
    asked: dict[str, _Asked] = field(default_factory=dict)
    reply: tuple[float, float] | None = None
    open_steps: bool = False


class LocalLine:
    """An open line. Made inside the running loop; all work is inline, all waiting is charged to the loop's clock.

    On the wall clock, behind a double of a provider, work is done in another thread, beside the loop's other
    conversations, and the time that it took is part of what is charged for it.
    """

    def __init__(
        self, setup: Setup, settings: LocalSettings, hearing: Hearing, recognizer: Transcriber, voice: Voice
    ) -> None:
        self._setup = setup
        self._settings = settings
        self._recognizer = recognizer
        self._voice = voice
        self._hearing = hearing
        self._blocks = Blocks(settings.input_hz, INPUT_HZ)
        self._events: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        self._events.put_nowait(Ready())
        self._work: asyncio.Task[None] | None = None
        self._turn = _Turn(number=1)
        self._asked: dict[str, _Asked] = {}
        self._known: list[Known] = []

    async def send(self, audio: Audio) -> None:
        """Hear a piece of sound. Raises ValueError if it is not at the rate of the settings."""
        if audio.rate_hz != self._settings.input_hz:
            raise ValueError(f"agent local hears {self._settings.input_hz} Hz, not {audio.rate_hz} Hz")
        for block in self._blocks.of(audio.samples):
            self._hear(block.samples)

    def _hear(self, block: Samples) -> None:
        hearing, settings = self._hearing, self._settings
        hearing.feed(block)
        if hearing.run_s > settings.barge_in_s:
            self._give_way()
        elif hearing.speech_s < settings.least_speech_s:
            if hearing.silence_s > _NOISE_S:
                hearing.forget()
        elif hearing.silence_s >= settings.endpoint_s or hearing.speech_s > settings.longest_turn_s:
            self._start_work()

    async def receive(self) -> AsyncIterator[AgentEvent]:
        """Events until the line closes."""
        while (event := await self._events.get()) is not None:
            yield event

    async def answer(self, results: Sequence[ToolResult]) -> None:
        """Results of calls. They are remembered for the whole conversation; unknown ids are ignored."""
        for result in results:
            asked = self._asked.pop(result.call_id, None)
            if asked is not None:
                asked.known = Known(tool=asked.tool, arguments=asked.arguments, result=result.result)
                self._known.append(asked.known)
                asked.answered.set()

    async def played(self, item_id: str, seconds: float) -> None:
        """Not needed: the agent knows by its own clock how much of a reply was heard."""

    async def inject(self, text: str) -> None:
        """Raises Unsupported: the rules read only what the user says."""
        raise Unsupported("agent local takes no text into its context")

    async def close(self) -> None:
        """Stop all work and end `receive`."""
        if self._work is not None and not self._work.done():
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
        self._events.put_nowait(None)

    def _start_work(self) -> None:
        if self._work is None or self._work.done():
            self._work = asyncio.get_running_loop().create_task(self._respond())
            self._work.add_done_callback(self._report)

    def _give_way(self) -> None:
        """The user speaks: drop the reply that is being made or heard; after an answer, a new turn begins."""
        if self._work is not None and not self._work.done():
            self._work.cancel()
        if self._turn.reply is None:
            return
        start_s, end_s = self._turn.reply
        now = self._now_s()
        if now < end_s:
            self._events.put_nowait(PlaybackClear())
        self._turn.reply = None
        if now - start_s >= self._settings.continued_s:
            self._next_turn()

    def _next_turn(self) -> None:
        """A fresh turn; one that asked something back goes on, since the next words are its answer."""
        before = self._turn
        self._turn = _Turn(number=before.number + 1)
        if before.open_steps:
            self._turn.text, self._turn.unread, self._turn.asked = before.text, before.unread, before.asked

    async def _respond(self) -> None:
        turn, settings = self._turn, self._settings
        await self._listen(turn)
        if not turn.text:
            return
        began_s = self._now_s()
        steps = plan(turn.text, self._setup.tools, self._setup.today, self._known)
        await self._charge(settings.cost_think_s, began_s)
        if is_unfinished(turn.text) or not steps or any(step.missing for step in steps):
            await asyncio.sleep(max(0.0, settings.endpoint_open_s - settings.endpoint_s))
        done: list[Known] = []
        for step in steps:
            if not step.missing:
                done.append(await self._call(turn, step, times=sum(s == step for s in steps[: len(done)])))
        left = [step for step in steps if step.missing]
        await self._speak(turn, reply_text(done, left))
        turn.open_steps = bool(left)

    async def _listen(self, turn: _Turn) -> None:
        """Adds to the turn's text what was said since last time."""
        speech = self._hearing.speech()
        self._hearing.forget()
        seconds, began_s = len(speech) / INPUT_HZ, self._now_s()
        if seconds:
            turn.unread.append(asyncio.ensure_future(self._computed(self._recognizer.transcribe, speech)))
            await self._read(turn)
            self._events.put_nowait(Usage(counts={"recognized_s": round(seconds, 3)}))
            await self._charge(self._settings.cost_hear_s * seconds, began_s)
        await self._read(turn)
        self._events.put_nowait(Transcript(speaker="user", text=turn.text, item_id=f"user-{turn.number}"))

    async def _read(self, turn: _Turn) -> None:
        """Wait for words that are still being written down; who is spoken to meanwhile does not lose them."""
        while turn.unread:
            text = await asyncio.shield(turn.unread[0])
            del turn.unread[0]
            turn.text = f"{turn.text} {text}".strip()

    async def _call(self, turn: _Turn, step: Step, *, times: int) -> Known:
        """The result of a step, asked for once a turn; `times` says how often the plan has had the same step before."""
        arguments = {}
        for name, value in step.arguments.items():
            found = resolve(value, self._known) if isinstance(value, Reference) else value
            if found is not None:
                arguments[name] = found
        key = f"{step.tool} {json.dumps(arguments, sort_keys=True)} {times}"
        asked = turn.asked.get(key)
        if asked is None:
            asked = turn.asked[key] = _Asked(tool=step.tool, arguments=arguments)
            call_id = f"call-{turn.number}-{len(turn.asked)}"
            self._asked[call_id] = asked
            self._events.put_nowait(ToolCall(call_id=call_id, name=step.tool, arguments=arguments))
        await asked.answered.wait()
        assert asked.known is not None
        return asked.known

    async def _speak(self, turn: _Turn, text: str) -> None:
        began_s = self._now_s()
        audio = await self._computed(self._voice.say, text)
        self._events.put_nowait(Usage(counts={"spoken_s": round(audio.duration_s, 3)}))
        await self._charge(self._settings.cost_speak_s * audio.duration_s, began_s)
        item_id = f"agent-{turn.number}"
        self._events.put_nowait(Transcript(speaker="agent", text=text, item_id=item_id))
        size = round(_CHUNK_S * audio.rate_hz)
        for start in range(0, len(audio.samples), size):
            piece = Audio(samples=audio.samples[start : start + size], rate_hz=audio.rate_hz)
            self._events.put_nowait(AgentAudio(item_id=item_id, audio=piece))
        now = self._now_s()
        turn.reply = (now, now + audio.duration_s)

    async def _charge(self, cost_s: float, began_s: float) -> None:
        """Wait until work that began then has taken what it costs; on the virtual clock computing took nothing."""
        await asyncio.sleep(max(0.0, began_s + cost_s - self._now_s()))

    @staticmethod
    async def _computed(work: Callable[[_In], _Out], on: _In) -> _Out:
        """What work makes of something. One at a time: recognition takes a whole core."""
        if isinstance(asyncio.get_running_loop(), VirtualTimeLoop):
            return work(on)
        return await asyncio.get_running_loop().run_in_executor(_beside(), work, on)

    @staticmethod
    def _now_s() -> float:
        return asyncio.get_running_loop().time()

    def _report(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._events.put_nowait(Fault(kind="agent", message=f"agent local: {type(problem).__name__}: {problem}"))
