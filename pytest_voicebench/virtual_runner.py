"""Conversations on the virtual clock, one after another, in a thread that an agent may keep for good."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field

from pytest_voicebench.agent_side import STOP_TIMEOUT_S
from pytest_voicebench.agents.gate import parted
from pytest_voicebench.agents.protocol import Agent
from pytest_voicebench.blocking import blocked_by, limit_s, watched
from pytest_voicebench.clock import VirtualTimeLoop
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.duplex import Progress, converse
from pytest_voicebench.scenario import Scenario

BLOCKED_AFTER_S = 2 * STOP_TIMEOUT_S
"""A loop that has not cancelled its conversations by then is blocked by an agent, and its thread ends with Python."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Asked:
    scenario: Scenario
    agent: Agent
    name: str
    most_s: float
    progress: Progress | None
    future: Future[Conversation] = field(default_factory=Future)


class VirtualRunner:
    """Holds conversations in the order in which they were asked for, each on a fresh loop.

    Where an agent blocks the thread, that conversation ends with Blocked; the thread is left behind, and another one
    holds the next. Threads that are left behind end with Python.
    """

    def __init__(self) -> None:
        self._asked: deque[_Asked] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stop: Callable[[], object] | None = None
        self._closing = False

    def submit(self, scenario: Scenario, agent: Agent, progress: Progress | None) -> Future[Conversation]:
        """Start a conversation. The future holds it, or Unsupported, VirtualTimeError, Blocked."""
        most_s = limit_s(parted(agent)[0])
        asked = _Asked(scenario=scenario, agent=agent, name=agent.info.name, most_s=most_s, progress=progress)
        with self._changed:
            self._asked.append(asked)
            self._changed.notify()
            if self._thread is None:
                self._begin()
        return asked.future

    def close(self) -> None:
        """Cancel what runs and what was asked for, and end the thread; one that an agent blocks is left behind."""
        with self._changed:
            self._closing = True
            while self._asked:
                self._asked.popleft().future.cancel()
            self._changed.notify()
            stop, thread = self._stop, self._thread
        if stop is not None:
            with suppress(RuntimeError):  # it has just ended by itself
                stop()
        if thread is not None:
            thread.join(timeout=BLOCKED_AFTER_S)

    def _begin(self) -> None:
        self._thread = threading.Thread(target=self._work, name="voicebench-virtual", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while (asked := self._next()) is not None:
            if asked.future.set_running_or_notify_cancel():
                self._hold(asked)

    def _next(self) -> _Asked | None:
        """What to hold next, once it is there; None where this thread is to end, or was left behind."""
        with self._changed:
            while threading.current_thread() is self._thread and not self._closing:
                if self._asked:
                    return self._asked.popleft()
                self._changed.wait()
        return None

    def _hold(self, asked: _Asked) -> None:
        loop = VirtualTimeLoop()

        def leave(place: str) -> None:
            parted(asked.agent)[1].abandon()
            if self._end(asked, blocked_by(asked.name, asked.most_s, place)):
                with self._changed:
                    self._stop = None
                    self._begin()

        with watched(lambda: loop.rounds, lambda: asked.most_s, leave):
            try:
                with asyncio.Runner(loop_factory=lambda: loop) as runner:
                    held = runner.run(self._stoppable(asked))
            except (SystemExit, KeyboardInterrupt) as error:  # Ctrl-C reaches the main thread only: this is the agent's
                told = RuntimeError(f"a task of the agent raised {type(error).__name__}")
                told.__cause__ = error
                self._end(asked, told)
            except BaseException as error:  # noqa: BLE001 - it belongs to whoever asked
                self._end(asked, error)
            else:
                self._end(asked, held)

    def _end(self, asked: _Asked, outcome: Conversation | BaseException) -> bool:
        """Give the outcome to whoever asked; False where one was given before."""
        with self._changed:
            if asked.future.done():
                return False
            if isinstance(outcome, BaseException):
                asked.future.set_exception(outcome)
            else:
                asked.future.set_result(outcome)
            return True

    async def _stoppable(self, asked: _Asked) -> Conversation:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        with self._changed:
            self._stop = stop = lambda: loop.call_soon_threadsafe(task.cancel)
            if self._closing:
                raise asyncio.CancelledError
        try:
            return await converse(asked.scenario, asked.agent, progress=asked.progress)
        finally:
            with self._changed:
                if self._stop is stop:
                    self._stop = None
