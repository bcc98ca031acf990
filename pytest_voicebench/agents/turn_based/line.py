"""A conversation in turns: it listens all the time, answers when the user is silent, and gives way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pytest_voicebench.agents.hearing import INPUT_HZ, Hearing
from pytest_voicebench.agents.protocol import AgentEvent, Fault, PlaybackClear, Ready, ToolResult, Transcript
from pytest_voicebench.agents.refusals import Unreachable
from pytest_voicebench.agents.turn_based.answering import Answering
from pytest_voicebench.agents.turn_based.wav import wav_of
from pytest_voicebench.audio import Audio

_NOISE_S = 2.0
"""A sound too short for speech is forgotten after this much silence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTaking:
    """A turn begins after `start_s` of speech and ends after `silence_s` of silence. `barge_in`: it cuts a reply."""

    start_s: float
    silence_s: float
    barge_in: bool


class TurnBasedLine:
    """An open line. Made inside the running loop. Where the user speaks is found inline, block by block.

    `events` is what `answering` emits into; `name` is the agent's, for messages.
    """

    def __init__(
        self,
        name: str,
        taking: TurnTaking,
        ears: Hearing,
        answering: Answering,
        events: asyncio.Queue[AgentEvent | None],
    ) -> None:
        self._name = name
        self._taking = taking
        self._ears = ears
        self._answering = answering
        self._events = events
        self._loudspeaker = answering.loudspeaker
        self._history = answering.history
        self._work: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._unwritten: list[NDArray[np.float32]] = []
        self._turns = 0
        events.put_nowait(Ready())

    async def send(self, audio: Audio) -> None:
        """Hear one block at 16 kHz."""
        ears, taking = self._ears, self._taking
        ears.feed(audio.samples)
        if taking.barge_in and ears.run_s >= taking.start_s:
            self._give_way()
        elif ears.speech_s < taking.start_s:
            if ears.silence_s > _NOISE_S:
                ears.forget()
        elif ears.silence_s >= taking.silence_s and not self._busy:
            self._take_turn()

    async def receive(self) -> AsyncIterator[AgentEvent]:
        """Events until the line closes."""
        while (event := await self._events.get()) is not None:
            yield event

    async def answer(self, results: Sequence[ToolResult]) -> None:
        """All results of one response: the model is asked to go on when none is due."""
        self._answering.answer(results)

    async def played(self, item_id: str, seconds: float) -> None:
        """The model is told only what was heard."""
        self._history.played(item_id, seconds)

    async def inject(self, text: str) -> None:
        """A system message in the conversation; nothing is asked for."""
        self._history.told(text)

    async def close(self) -> None:
        """Stop all work and end `receive`."""
        self._stop_work()
        if self._ending:
            await asyncio.wait(self._ending)
        self._events.put_nowait(None)

    @property
    def _busy(self) -> bool:
        """Whether a turn is being answered; without barge-in also while the answer plays."""
        return self._work is not None or (not self._taking.barge_in and self._loudspeaker.playing)

    def _give_way(self) -> None:
        """The user speaks: the answer that is being made or heard ends here. Calls that were made stay."""
        if self._work is None and not self._loudspeaker.playing:
            return
        self._stop_work()
        if self._loudspeaker.playing:
            self._events.put_nowait(PlaybackClear())
        self._loudspeaker.stop()
        for sentence in self._history.stop():
            said = Transcript(speaker="agent", text=sentence.heard_text, item_id=sentence.item_id)
            self._events.put_nowait(said)

    def _stop_work(self) -> None:
        if self._work is not None:
            self._work.cancel()
            self._work = None

    def _take_turn(self) -> None:
        self._turns += 1
        self._unwritten.append(self._ears.speech())
        self._ears.forget()
        task = asyncio.get_running_loop().create_task(self._respond(self._turns))
        self._work = task
        self._ending.add(task)
        task.add_done_callback(self._done)

    async def _respond(self, number: int) -> None:
        """Speech that was broken off on its way into the history by more speech goes there together with it."""
        speech = np.concatenate(self._unwritten)
        if len(speech):  # else only clicks, each too short to be kept
            await self._answering.listening.take(number, wav_of(speech), len(speech) / INPUT_HZ)
        self._unwritten.clear()
        await self._answering.respond()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._ending.discard(task)
        if self._work is task:
            self._work = None
        if task.cancelled() or (problem := task.exception()) is None:
            return
        for one in _single(problem):
            known = isinstance(one, Unreachable)
            what = " ".join(str(one).split())[:400]
            told = what if known else f"agent {self._name}: {type(one).__name__}: {what}"
            self._events.put_nowait(Fault(kind="infrastructure", message=told))


def _single(problem: BaseException) -> list[BaseException]:
    """The exceptions of a group, or the one that is none."""
    if isinstance(problem, BaseExceptionGroup):
        return [one for inner in problem.exceptions for one in _single(inner)]
    return [problem]
