"""An agent that knows the scenario and behaves as told: it proves that the harness measures what happened."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pytest_voicebench.agents.behaviours import BEHAVIOURS, Act, Plan, plan
from pytest_voicebench.agents.protocol import (
    AgentAudio,
    AgentEvent,
    PlaybackClear,
    Ready,
    Setup,
    ToolCall,
    ToolResult,
    Transcript,
)
from pytest_voicebench.audio import BLOCK_S, RATE_HZ, Audio, Samples
from pytest_voicebench.audio_files import read_audio
from pytest_voicebench.conversation import AgentInfo, to_seconds, to_ticks
from pytest_voicebench.references import is_reference, parse, resolve
from pytest_voicebench.scenario import Scenario, Step
from pytest_voicebench.user import load_clip

Json = Any

_VOICES = Path(__file__).with_name("voices")
_LOUD_POWER = (32768.0 * 10 ** (-38 / 20)) ** 2
"""A block above this level is speech: rooms are quieter, the recordings louder."""

_REACTION_S = 0.2
"""How long a simulated agent that is interrupted goes on speaking; one that stopped at once was never interrupted."""

_TALK_ON_S = 0.5
"""How much longer than the user's patience a reply lasts that is to be interrupted."""

_SEARCHED_BLOCKS = 400
"""How far into a recording its first loud block may lie."""


def build(scenario: Scenario, *, behaviour: str = "oracle", delay_s: float = 0.0) -> SimulatedAgent:
    """The simulated agent of one scenario. `delay_s` makes everything later. Raises ValueError for a wrong setting."""
    if behaviour not in (*BEHAVIOURS, "slow", "mix"):
        raise ValueError(f"unknown behaviour '{behaviour}': one of {', '.join((*BEHAVIOURS, 'slow', 'mix'))}")
    if behaviour == "slow" and not delay_s:
        delay_s = 1.0
    info = AgentInfo(
        name="simulated", transport="process", clock="virtual", settings={"behaviour": behaviour, "delay_s": delay_s}
    )
    return SimulatedAgent(info=info, scenario=scenario, plan=plan(behaviour, scenario, delay_s=delay_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedAgent:
    """Acts out a plan after the user's last turn, and answers the turns before it with a plain reply."""

    info: AgentInfo
    scenario: Scenario
    plan: Plan

    @asynccontextmanager
    async def connect(self, _: Setup) -> AsyncIterator[SimulatedLine]:
        """Open a line on the running loop, virtual or not."""
        line = SimulatedLine(self.scenario, self.plan)
        try:
            yield line
        finally:
            await line.close()


class SimulatedLine:
    """Finds the scenario's recordings in what it hears, and acts relative to their ends."""

    def __init__(self, scenario: Scenario, acts: Plan) -> None:
        self._scenario = scenario
        self._plan = acts
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        self._ear = _Ear([s for s in scenario.steps if s.kind in ("say", "backchannel", "insert")])
        self._turns_left = sum(s.kind == "say" for s in scenario.steps)
        self._reply_s = max((s.trigger.seconds for s in scenario.steps if s.trigger.kind == "into_agent"), default=0.0)
        self._greets = _speaks_first(scenario.steps) and any(act.kind == "reply" for act in acts)
        self._zero_s = math.inf
        self._blocks = 0
        self._spoken = 0
        self._results: dict[int, Json] = {}
        self._got_result = asyncio.Event()
        self._acting: asyncio.Task[None] | None = None
        self._told: list[str] = []
        self._events.put_nowait(Ready())

    async def send(self, audio: Audio) -> None:
        """Listen to one block."""
        # Blocks come late but never early: the earliest of them tells best when the first one left.
        self._zero_s = min(self._zero_s, self._loop.time() - self._blocks * BLOCK_S)
        if self._greets and self._blocks == 0:
            self._speak("reply")
        found = self._ear.hear(audio.samples)
        if found and found[0].kind == "say":
            step, blocks_ago = found
            start_s = self._zero_s + (self._blocks - blocks_ago) * BLOCK_S
            await self._hear_turn(step, start_s)
        self._blocks += 1

    async def receive(self) -> AsyncIterator[AgentEvent]:
        """Events until the line is closed."""
        while (event := await self._events.get()) is not None:
            yield event

    async def answer(self, results: Sequence[ToolResult]) -> None:
        """Remember results by the expected call they belong to."""
        for result in results:
            if result.call_id.startswith("expected-"):
                self._results[int(result.call_id.removeprefix("expected-"))] = result.result
        self._got_result.set()

    async def played(self, item_id: str, seconds: float) -> None:
        """Nothing to learn from."""

    async def inject(self, text: str) -> None:
        """Every text is welcome: the next reply repeats it."""
        self._told.append(text)

    async def close(self) -> None:
        """Stop acting."""
        if self._acting:
            self._acting.cancel()
            await asyncio.gather(self._acting, return_exceptions=True)
        self._events.put_nowait(None)

    async def _hear_turn(self, step: Step, start_s: float) -> None:
        """A turn has begun at `start_s`: stop talking, and act out what follows it."""
        again = self._acting is not None or self._greets
        if self._acting:
            self._acting.cancel()
        self._turns_left -= 1
        acts = self._plan if self._turns_left <= 0 else _reply_only(self._plan)
        end_s = start_s + to_seconds(to_ticks(step.timing.speech[-1][1])) if step.timing else start_s
        self._acting = asyncio.create_task(self._act(acts, step, end_s, speaking=again))

    async def _act(self, acts: Plan, step: Step, end_s: float, *, speaking: bool) -> None:
        if speaking:
            await asyncio.sleep(_REACTION_S)
            self._events.put_nowait(PlaybackClear())
        self._events.put_nowait(Transcript(speaker="user", text=step.text, item_id=f"user-{self._turns_left}"))
        for act in acts:
            await asyncio.sleep(max(0.0, end_s + to_seconds(act.at_ticks) - self._loop.time()))
            if act.kind == "call":
                await self._call(act)
            else:
                self._speak(act.kind)

    async def _call(self, act: Act) -> None:
        arguments = {name: await self._resolved(value) for name, value in (act.arguments or {}).items()}
        call_id = f"extra-{act.tool}" if act.expected is None else f"expected-{act.expected}"
        self._events.put_nowait(ToolCall(call_id=call_id, name=act.tool, arguments=json.dumps(arguments)))

    async def _resolved(self, value: Json) -> Json:
        if not is_reference(value):
            return value
        reference = parse(value)
        assert reference is not None
        while reference.call not in self._results:
            self._got_result.clear()
            await self._got_result.wait()
        return resolve(reference, self._results)[0]

    def _speak(self, kind: str) -> None:
        self._spoken += 1
        item_id = f"{kind}-{self._spoken}"
        text = "One moment, please."
        if kind == "reply":
            text = " ".join(["All done. Here is what I found for you.", *self._scenario.expect.mentions, *self._told])
            self._told.clear()
        sound = _voice(kind)
        if kind == "reply":
            sound = np.tile(sound, max(1, math.ceil((self._reply_s + _TALK_ON_S) * RATE_HZ / len(sound))))
        self._events.put_nowait(AgentAudio(item_id=item_id, audio=Audio(samples=sound, rate_hz=RATE_HZ)))
        self._events.put_nowait(Transcript(speaker="agent", text=text, item_id=item_id))


class _Ear:
    """Finds the next recording in a stream of blocks: by the first loud block, then by the block it resembles most."""

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps
        self._quiet_blocks_needed = 0

    def hear(self, block: Samples) -> tuple[Step, int] | None:
        """The step that has just been recognised, and how many blocks ago its recording began."""
        if self._quiet_blocks_needed:
            self._quiet_blocks_needed -= 1
            return None
        if not self._steps or _power(block) < _LOUD_POWER:
            return None
        step = self._steps.pop(0)
        clip = _clip(step, len(block))
        blocks = clip[: len(clip) // len(block) * len(block)].reshape(-1, len(block))[:_SEARCHED_BLOCKS]
        distance = ((blocks - block.astype(np.float64)) ** 2).sum(axis=1)
        at = int(distance.argmin())
        self._quiet_blocks_needed = len(clip) // len(block) - at
        return step, at


def _clip(step: Step, block_size: int) -> Samples:
    if step.audio is None or isinstance(step.audio, Audio):
        raise ValueError("a simulated agent needs steps with recordings")
    return load_clip(step.audio, block_size * 50, step.channel).samples


def _power(block: Samples) -> float:
    wide = block.astype(np.float64)
    return float(wide @ wide) / len(wide)


def _speaks_first(steps: Sequence[Step]) -> bool:
    """Whether the user's first words wait for the agent."""
    first = next((s for s in steps if s.kind in ("say", "backchannel", "insert")), None)
    return first is not None and any(s.trigger.kind != "start" for s in steps[: steps.index(first) + 1])


def _reply_only(acts: Plan) -> Plan:
    return tuple(act for act in acts if act.kind == "reply")


@cache
def _voice(kind: str) -> Samples:
    return read_audio(_VOICES / f"{kind}.flac").audio.samples
