"""Holding a conversation: the user's blocks go out on time while the agent's events come in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Protocol, TypeVar

import numpy as np

from pytest_voicebench.agent_side import AgentSide, is_our_cancelling, named
from pytest_voicebench.agents.checks import line_flaw, usage_while_closing
from pytest_voicebench.agents.gate import GateBroken, parted
from pytest_voicebench.agents.protocol import Agent, AgentAbsent, Line, Setup
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.audio import BLOCK_TICKS, RATE_HZ, Audio
from pytest_voicebench.audio_files import AudioError
from pytest_voicebench.clock import Clock, Ticker
from pytest_voicebench.connecting import CONNECT_TIMEOUT_S, connected
from pytest_voicebench.conversation import Conversation, Delivery, EndReason, Recording, to_seconds, to_ticks
from pytest_voicebench.exchange import added
from pytest_voicebench.playback import Listener, Loudspeaker
from pytest_voicebench.scenario import Scenario, Step
from pytest_voicebench.steps import StepView, steps_of
from pytest_voicebench.toolbox import Toolbox
from pytest_voicebench.user import PATIENCE_TICKS, User, first_tone, load_clips

CLOSE_TIMEOUT_S = 5.0
"""An agent that has more to leave may have a `close_timeout_s` of its own."""
STUCK_S = 15.0
"""An agent that takes less than a second of audio in this time has stopped listening for good."""

WINDOW_TICKS = to_ticks(30.0)
"""How long the recording goes on after the last user step, and how much longer a speaking agent is let finish."""

MOST_STEPS_AT_ONCE = 1_000
"""More steps than this in one block come from a generator that will never let time pass."""

Progress = Callable[[float], None]
T = TypeVar("T")


class Phases(Protocol):
    """Keeps the conversations of one loop out of each other's way."""

    ticker: Ticker

    async def wait(self) -> float:
        """Wait for the moment at which this conversation's first block shall leave, and say which it is."""

    async def aside(self, work: Callable[[], T]) -> T:
        """Do some work in another thread."""


async def converse(
    scenario: Scenario, agent: Agent, *, progress: Progress | None = None, phases: Phases | None = None
) -> Conversation:
    """Hold one conversation with an agent and return all that happened, speech not yet detected.

    Runs on the loop it is called from, virtual or not. Whatever goes wrong on the agent's side is in `problems`; a
    conversation that broke still holds what was recorded. `progress` is told the seconds of conversation, once a
    second; `phases` chooses when its blocks leave. Raises Unsupported when a step asks for what the agent cannot do,
    MockError when the suite's mock tools do not run, NotBegun when the gate before the agent says so.
    """
    duplex = _Duplex(scenario, agent, progress, phases)
    await duplex.hold()
    return await duplex.aside(duplex.conversation)


class _Duplex:
    """One conversation in progress."""

    def __init__(self, scenario: Scenario, agent: Agent, progress: Progress | None, phases: Phases | None) -> None:
        self.scenario = scenario
        self.agent, self.gate = parted(agent)
        self.progress = progress
        self.phases = phases
        self.clock = Clock(phases.ticker if phases else None)
        self.log = WireLog(asyncio.get_running_loop().time)
        self.toolbox = Toolbox(scenario.suite.tools, scenario.suite.folder)
        self.state_sha256_before = self.toolbox.state_sha256()
        self.most_ticks = to_ticks(scenario.max_duration_s or scenario.suite.max_duration_s)
        loudspeaker = Loudspeaker(self.most_ticks)
        self.side = AgentSide(toolbox=self.toolbox, clock=self.clock, loudspeaker=loudspeaker)
        self.listener = Listener()
        self.user = User(input_hz=agent.info.input_hz, tone=first_tone(scenario))
        self.view = StepView(scenario=scenario)
        self.steps = steps_of(scenario, self.view)
        self.next_step: asyncio.Task[Step | None] | None = None
        self.ended: EndReason = "problem"
        self.duration_ticks = 0
        self.settle_ticks = to_ticks(scenario.suite.settle_s)
        self.sent_blocks = 0
        self.asked_ticks = 0
        self.busy_ticks = 0
        self.lateness_ticks: list[int] = []
        self.warnings: tuple[str, ...] = ()
        self.session_s: float | None = None

    async def hold(self) -> None:
        """Connect, converse, hang up. Raises Unsupported."""
        if not await self._can_play():
            return
        try:
            async with self.gate.admitted():  # waits before t = 0, and on no deadline of ours
                if (opened := await self._connect()) is not None:
                    await self._talk(*opened)
        except GateBroken as broken:
            self.side.problem("infrastructure", str(broken))
        if self.side.unsupported:
            raise self.side.unsupported

    async def _talk(self, context: AbstractAsyncContextManager[Line], line: Line) -> None:
        now_s = asyncio.get_running_loop().time
        opened_s = now_s()
        try:
            if flaw := line_flaw(line):
                self.side.problem("agent_absent", flaw)
            elif await self._is_ready(line):
                self.clock.start(await self.phases.wait() if self.phases else None)
                await self._send_in_time(line)
        finally:
            await self._hang_up(context)
            self.side.usage = added(self.side.usage, usage_while_closing(line))
            if self.agent.info.clock == "wall":
                self.session_s = round(now_s() - opened_s, 3)

    async def aside(self, work: Callable[[], T]) -> T:
        """Do what takes 5 ms and more where it cannot make the blocks of other conversations late."""
        if self.agent.info.clock == "virtual":
            return work()
        return await (self.phases.aside(work) if self.phases else asyncio.to_thread(work))

    async def _can_play(self) -> bool:
        """Read the recordings before the agent is bothered: a file that cannot be played is the suite's fault."""
        try:
            await self.aside(self._prepare)
        except AudioError as error:
            self.side.problem("suite", str(error))
            return False
        self.warnings = tuple(text for clip in self.user.clips.values() for text in clip.warnings)
        return True

    def _prepare(self) -> None:
        self.user.clips = load_clips(self.scenario, self.user.input_hz)
        if self.agent.info.clock == "wall":
            self.toolbox.prepare()

    async def _connect(self) -> tuple[AbstractAsyncContextManager[Line], Line] | None:
        suite = self.scenario.suite
        setup = Setup(
            conversation_id=self.scenario.item_id,
            instructions=suite.instructions,
            tools=tuple(suite.tools.values()),
            today=suite.today,
            documents=suite.documents,
            log=self.log,
            trial=self.scenario.trial or 1,
        )
        try:
            return await connected(self.agent, setup, gate=self.gate, log=self.log, clock=self.clock)
        except AgentAbsent as absent:
            self.side.problem(*self.gate.told(absent))
        return None

    async def _is_ready(self, line: Line) -> bool:
        self.side.spawn(self.side.receive(line))
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await self.side.ready.wait()
        except TimeoutError:
            self.side.problem("agent_absent", f"the agent did not say Ready within {CONNECT_TIMEOUT_S:.0f} s")
        if self.side.closed and not self.side.said_ready and not self.side.broken:
            self.side.problem("agent_absent", "the line closed before the agent was ready")
        return not self.side.broken

    async def _hang_up(self, context: AbstractAsyncContextManager[Line]) -> None:
        await self._stop_choosing()
        await self.side.stop()
        try:
            async with asyncio.timeout(getattr(self.agent, "close_timeout_s", CLOSE_TIMEOUT_S)):
                await context.__aexit__(None, None, None)
        except BaseException as error:  # what was recorded counts, however the line ends
            if is_our_cancelling(error, self.clock):
                raise
            self.side.problem("agent", f"closing the line failed: {named(error)}")

    async def _stop_choosing(self) -> None:
        """End the generator of steps, so that what it opened is closed now and not by the garbage collector."""
        if self.next_step:
            self.next_step.cancel()
            await asyncio.wait([self.next_step], timeout=CLOSE_TIMEOUT_S)
        with suppress(Exception):  # the conversation is over; what a generator raises while it ends changes nothing
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self.steps.aclose()

    async def _send_in_time(self, line: Line) -> None:
        """Send blocks until the conversation ends, or until the agent takes no more of them."""
        try:
            async with asyncio.timeout(STUCK_S) as deadline:
                await self._send_blocks(line, deadline)
        except TimeoutError:
            self.side.problem("infrastructure", f"the agent's send() is stuck: it took no audio for {STUCK_S:.0f} s")

    async def _send_blocks(self, line: Line, deadline: asyncio.Timeout) -> None:
        """Send a block every 20 ms, on an absolute schedule, until the conversation ends."""
        loop, now = asyncio.get_running_loop(), 0
        while True:
            await self.clock.until(now)
            self.lateness_ticks.append(self.clock.now_ticks() - now)
            heard_from = max(0, now - BLOCK_TICKS)
            self.listener.hear(self.side.loudspeaker.between(heard_from, now), heard_from)
            await self._advance_user(line, now)
            self.duration_ticks = now
            if reason := self._end_reason(now):
                self.ended = reason
                return
            block = self.user.block(now)
            if not self.side.closed:
                await self.side.guarded("send", line.send(Audio(samples=block, rate_hz=self.user.input_hz)))
                self.sent_blocks += 1
                if (gone := self.clock.now_ticks() - now) >= BLOCK_TICKS:  # nobody knows when in between it left
                    self.lateness_ticks[-1] = gone
            if now % RATE_HZ == 0:
                deadline.reschedule(loop.time() + STUCK_S)
                if self.progress:
                    self.progress(to_seconds(now))
            now += BLOCK_TICKS

    async def _advance_user(self, line: Line, now: int) -> None:
        try:
            self.user.advance(now, self.listener)
            steps = 0
            while self.user.needs_step and not self.user.hung_up and await self._step_is_there(now):
                self.user.advance(now, self.listener)
                steps += 1
                if steps > MOST_STEPS_AT_ONCE:
                    self.side.problem("suite", f"the user's steps never wait: over {MOST_STEPS_AT_ONCE} at one moment")
                    return
        except AudioError as error:  # of a step made at run time; the others were read before the start
            self.side.problem("suite", str(error))
        for text in self.user.take_injections():
            self.side.spawn(self.side.guarded("inject", line.inject(text)))

    async def _step_is_there(self, now: int) -> bool:
        """Give the user its next step, unless a simulated user is still choosing it: then silence is sent meanwhile."""
        if self.next_step is None:
            self.view.now_s = to_seconds(now)
            heard = self.side.transcripts.heard(self.side.loudspeaker, now)
            self.view.agent_texts = tuple(t.heard_text or "" for t in heard if t.speaker == "agent")
            self.next_step = asyncio.ensure_future(anext(self.steps, None))
            self.asked_ticks = now
            await asyncio.sleep(0)
        if not self.next_step.done():
            if now - self.asked_ticks > PATIENCE_TICKS:
                self.side.problem("suite", "the user's steps chose nothing for 30 s")
            return False
        task, self.next_step = self.next_step, None
        step = None
        if error := asyncio.CancelledError() if task.cancelled() else task.exception():
            self.side.problem("suite", f"the user's steps broke: {named(error)}")
        else:
            step = task.result()
        self.user.give(step)
        return True

    def _end_reason(self, now: int) -> EndReason | None:
        """Why the conversation ends at this block, or None (design section 6)."""
        user, side = self.user, self.side
        if side.broken:
            return "problem"
        if side.closed and now >= side.loudspeaker.end_ticks:
            return "line_closed"
        if now >= self.most_ticks:
            return "max_duration"
        if user.hung_up:
            return "user_ended"
        if user.gave_up(now, self.listener):
            return "no_response"
        if not user.finished:
            return None
        if self.scenario.suite.window == "settle" and self._is_settled(now):
            return "settled"
        waited = now - user.last_step_end_ticks
        if waited >= WINDOW_TICKS and (not self.listener.speaks(now) or waited >= 2 * WINDOW_TICKS):
            return "window"
        return None

    def _is_settled(self, now: int) -> bool:
        """Whether, after a reply, neither speech nor queued audio nor an open call has been there for long enough."""
        if self.side.calls.pending or self.side.loudspeaker.end_ticks > now:
            self.busy_ticks = now
        quiet_since = max(self.busy_ticks, self.listener.last_heard_ticks or 0)
        return self.listener.answered(self.user.last_turn_end_ticks) and now - quiet_since >= self.settle_ticks

    def conversation(self) -> Conversation:
        """Everything that happened, as data."""
        duration, side = self.duration_ticks, self.side
        side.finish_sound()
        speaking = self.listener.speaks(duration) or side.loudspeaker.end_ticks > duration
        return Conversation(
            item_id=self.scenario.item_id,
            scenario_sha256=self.scenario.sha256,
            agent=self.agent.info,
            duration_ticks=duration,
            ended=self.ended,
            truncated=speaking and self.ended in ("window", "max_duration"),
            utterances=tuple(self.user.utterances),
            calls=tuple(side.calls.calls.values()),
            transcripts=side.transcripts.heard(side.loudspeaker, duration),
            chunks=side.loudspeaker.chunks(duration),
            clears_ticks=tuple(side.loudspeaker.clears_ticks),
            delivery=self._delivery(),
            problems=tuple(side.problems),
            warnings=(*self.warnings, *self._unheard()),
            usage=side.usage,
            session_s=self.session_s,
            state=self.toolbox.snapshot(),
            state_sha256_before=self.state_sha256_before,
            state_sha256_after=self.toolbox.state_sha256(),
            wire_events=self.log.lines(self.clock.zero_s),
            recording=Recording(user=self.user.track(duration), agent=side.loudspeaker.track(duration)),
        )

    def _unheard(self) -> tuple[str, ...]:
        """A remark where sound was left out that could only have played after the end."""
        beyond_s = to_seconds(self.side.loudspeaker.beyond_ticks)
        told = f"{beyond_s:.1f} s of the agent's sound would have played after max_duration_s, and were not kept"
        return (told,) if beyond_s else ()

    def _delivery(self) -> Delivery:
        """Blocks that hold the user's speech, and how many left; how late they left.

        On the virtual clock only an agent that waits inside send() makes blocks late: then, too, that is recorded.
        """
        planned = max((-(-u.end_ticks // BLOCK_TICKS) for u in self.user.utterances), default=0)
        p50 = p99 = longest = None
        late = self.agent.info.clock == "wall" or any(ticks > 0 for ticks in self.lateness_ticks)
        if late and self.lateness_ticks:
            p50, p99, longest = (
                round(float(v) / RATE_HZ, 6) for v in np.percentile(np.maximum(self.lateness_ticks, 0), [50, 99, 100])
            )
        return Delivery(
            planned_blocks=planned,
            sent_blocks=min(planned, self.sent_blocks),
            late_p50_s=p50,
            late_p99_s=p99,
            late_max_s=longest,
            read_late_p99_s=self.side.reads.at_most(0.99),
            answer_late_max_s=None if self.side.answer_late_s is None else round(self.side.answer_late_s, 6),
        )
