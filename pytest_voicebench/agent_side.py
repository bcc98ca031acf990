"""The agent's side of a conversation: its events become sound, calls and texts on the timeline."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pytest_voicebench.agents.checks import event_flaw
from pytest_voicebench.agents.credentials import known_secrets, scrubbed
from pytest_voicebench.agents.protocol import (
    AgentAudio,
    AgentEvent,
    Fault,
    Line,
    PlaybackClear,
    Ready,
    ToolCall,
    ToolCancelled,
    ToolRan,
    ToolResult,
    Transcript,
    TurnEnd,
    Unsupported,
    Usage,
)
from pytest_voicebench.agents.turns import Turns, turns_of_this_loop
from pytest_voicebench.audio import RATE_HZ, Audio
from pytest_voicebench.clock import Clock
from pytest_voicebench.conversation import Problem, to_seconds
from pytest_voicebench.exchange import CallBook, TranscriptBook, added
from pytest_voicebench.hidden import without_secrets
from pytest_voicebench.playback import Loudspeaker, ResampledItem
from pytest_voicebench.stats import Waits
from pytest_voicebench.toolbox import MockError, Toolbox, answer_of_another

STOP_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 20.0

_PACKAGE = Path(__file__).parent

ProblemKind = Literal["agent_absent", "infrastructure", "invalid_measurement", "suite", "agent"]


@dataclass(slots=True, kw_only=True)
class AgentSide:
    """Takes what the agent sends and answers its calls. Problems are collected, never raised."""

    toolbox: Toolbox
    clock: Clock
    loudspeaker: Loudspeaker = field(default_factory=Loudspeaker)
    calls: CallBook = field(default_factory=CallBook)
    transcripts: TranscriptBook = field(default_factory=TranscriptBook)
    usage: dict[str, float] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unsupported: Unsupported | None = None
    reads: Waits = field(default_factory=Waits)
    """How long what the agent sent had lain here before it was read, where its line says so."""
    answer_late_s: float | None = None
    """The longest such wait of what was answered."""
    turns: Turns = field(default_factory=turns_of_this_loop)
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    said_ready: bool = False
    closed: bool = False
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _resampled: ResampledItem | None = None

    @property
    def broken(self) -> bool:
        """Whether something went wrong that is not the agent's own error."""
        if not self.problems:  # asked for every block
            return self.unsupported is not None
        return self.unsupported is not None or any(p.kind != "agent" for p in self.problems)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something beside the conversation until it ends."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Cancel whatever still runs; what does not let itself be cancelled is left behind."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_TIMEOUT_S)

    def problem(self, kind: ProblemKind, message: str) -> None:
        """Note something that went wrong, with its time. Whoever worded it: no key or address in it lets anybody in."""
        message = without_secrets(scrubbed(message, known_secrets()))
        at = self.clock.now_ticks() if self.clock.started else None
        self.problems.append(Problem(kind=kind, message=message, at_ticks=at))

    async def guarded(self, what: str, call: Coroutine[Any, Any, None]) -> None:
        """Call the agent's code; what it raises becomes a problem, unless the line has closed already."""
        if not inspect.isawaitable(call):
            self.problem("infrastructure", f"the agent's {what}() gave nothing to await: write it 'async def'")
            return
        try:
            await call
        except Unsupported as reason:
            self.unsupported = reason
        except BaseException as error:  # an adapter's bug must not take the run down
            if is_our_cancelling(error, self.clock):
                raise
            if not self.closed:
                self.problem("infrastructure", f"the agent's {what}() raised {named(error)}")

    async def receive(self, line: Line) -> None:
        """Handle events until the line closes."""
        try:
            async for event in line.receive():
                if flaw := event_flaw(event):
                    self.problem("infrastructure", f"the agent broke the protocol: {flaw}")
                    return
                await self._handle(line, event)
        except BaseException as error:  # an adapter's bug must not take the run down
            if is_our_cancelling(error, self.clock):
                raise
            self.problem("infrastructure", f"the agent's receive() raised {named(error)}")
        finally:
            self.closed = True
            self.ready.set()

    def _arrival(self, line: Line, event: AgentEvent) -> tuple[int, float | None]:
        """When an event that has just come happened, and how long it had waited to be read.

        It happened now, and nobody knows whether it waited, unless the line says when it arrived.
        """
        arrived_s: float | None = getattr(line, "arrived_s", None)
        now = self.clock.now_ticks()
        if arrived_s is None:
            return now, None
        arrived = min(now, self.clock.ticks_at(arrived_s))
        waited_s = to_seconds(now - arrived)
        if self.clock.started and not isinstance(event, Fault):  # a line that breaks off is no message
            self.reads.add(waited_s)
        return arrived, waited_s

    def _answers(self, waited_s: float | None) -> None:
        """What is handled now is answered, after it had waited so long."""
        if waited_s is not None:
            self.answer_late_s = max(waited_s, self.answer_late_s or 0.0)

    async def _handle(self, line: Line, event: AgentEvent) -> None:
        now, waited_s = self._arrival(line, event)
        match event:
            case Ready():
                self.said_ready = True
                self.ready.set()
            case AgentAudio(item_id=item_id, audio=audio):
                self._play(item_id, audio, now)
            case PlaybackClear():
                self.finish_sound()
                for item_id, heard in self.loudspeaker.clear(now).items():
                    self._answers(waited_s)
                    await self.guarded("played", line.played(item_id, to_seconds(heard)))
            case ToolCall():
                key = self.calls.open(event, now)
                if key is not None:
                    self.spawn(self._run_call(line, key, event, waited_s))
            case ToolRan():
                answer = answer_of_another(event.arguments, event.result, is_error=event.is_error)
                self.calls.note(event, answer, now)
            case ToolCancelled(call_ids=call_ids):
                for response in self.calls.cancel(call_ids):
                    await self._answer(line, response)
            case Transcript():
                self.transcripts.add(event, now)
            case TurnEnd(response_id=response_id):
                if response_id is not None:
                    self.calls.end_response(response_id)
                    if await self._answer(line, response_id):
                        self._answers(waited_s)
            case Usage(counts=counts):
                self.usage = added(self.usage, counts)
            case Fault(kind=kind, message=message):
                self.problem(kind, message)

    async def _run_call(self, line: Line, key: str, call: ToolCall, waited_s: float | None) -> None:
        if latency_s := self.toolbox.latency_s(call.name):
            await asyncio.sleep(latency_s)
        due = self.clock.now_ticks()
        await self.turns.take()  # what takes the call back may have come together with it
        if not self.calls.is_open(key):
            return
        self._answers(None if waited_s is None else waited_s + to_seconds(self.clock.now_ticks() - due))
        try:
            answer = self.toolbox.call(call.name, call.arguments)
        except MockError as error:
            self.problem("suite", str(error))
        except BaseException as error:  # noqa: BLE001 - nothing waits in call(): whatever it raises is the mock's doing
            self.problem("suite", f"{call.name}: the mock tool raised {named(error)}")
        else:
            self.calls.finish(key, answer, self.clock.now_ticks())
            await self._answer(line, call.response_id)

    async def _answer(self, line: Line, response_id: str | None) -> bool:
        """Hand over what can be, and say whether there was anything."""
        results = self.calls.take_answers(response_id)
        if results:
            self.calls.answered(results, self.clock.now_ticks())
            await self.guarded("answer", self._hand_over(line, results))
        return bool(results)

    async def _hand_over(self, line: Line, results: dict[str, ToolResult]) -> None:
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S) as limit:
                await line.answer(list(results.values()))
        except TimeoutError:
            if not limit.expired():
                raise
            raise TimeoutError(f"took no result within {ANSWER_TIMEOUT_S:.0f} s") from None
        self.calls.acknowledged(results, self.clock.now_ticks())

    def _play(self, item_id: str, audio: Audio, now: int) -> None:
        if self._resampled and self._resampled.key != (item_id, audio.rate_hz):
            self.finish_sound()
        if audio.rate_hz == RATE_HZ:
            self.loudspeaker.queue(item_id, audio.samples, now)
            return
        if self._resampled is None:
            self._resampled = ResampledItem(self.loudspeaker, item_id, audio.rate_hz)
        self._resampled.queue(audio.samples, now)

    def finish_sound(self) -> None:
        """Let the resampler give what it still holds."""
        if self._resampled:
            self._resampled.finish()
            self._resampled = None


def is_our_cancelling(error: BaseException, clock: Clock) -> bool:
    """Whether an exception is this conversation being ended, and not one that somebody else's code raised.

    A task that is cancelled gets CancelledError; a coroutine that is thrown away with its loop gets GeneratorExit.
    """
    if isinstance(error, GeneratorExit):
        return not clock.is_running()
    task = asyncio.current_task() if clock.is_running() else None
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def named(error: BaseException) -> str:
    """An exception in one line: type, text, and the file and line of the agent's or the suite's code that raised it."""
    text = " ".join(str(error).split())
    return (f"{type(error).__name__}: {text}" if text else type(error).__name__) + _raised_at(error)


def _raised_at(error: BaseException) -> str:
    """` (file.py:12)`: the last place outside this package and the standard library's event loop; empty if none."""
    place = ""
    trace = error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if not file.is_relative_to(_PACKAGE) and "asyncio" not in file.parts and file.name != "contextlib.py":
            place = f" ({file.name}:{trace.tb_lineno})"
        trace = trace.tb_next
    return place
