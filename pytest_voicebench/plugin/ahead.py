"""`--voicebench-concurrency N`: conversations of the items to come are held while this one waits for its own."""

from __future__ import annotations

import time
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voicebench.plugin.admission import Waited, gated, waited_key
from pytest_voicebench.plugin.collect import NAME
from pytest_voicebench.plugin.options import CONCURRENCY, agent_specs, concurrency, rescored_run
from pytest_voicebench.plugin.planning import agent_fixtures, is_ours, is_scenario, scenario_of
from pytest_voicebench.plugin.resume import is_done
from pytest_voicebench.plugin.run import AHEAD, shipped_agent

if TYPE_CHECKING:
    from pytest_voicebench.agents.protocol import Agent
    from pytest_voicebench.conversation import Conversation
    from pytest_voicebench.plugin.progress import ItemProgress
    from pytest_voicebench.runner import Runner
    from pytest_voicebench.scenario import Scenario


@dataclass(slots=True, kw_only=True, eq=False)
class Begun:
    """A conversation under way, or over. `future` holds it with the agent's speech detected; times are perf_counter."""

    future: Future[Conversation] = field(default_factory=Future)
    held: Future[Conversation] | None = None
    seconds: float | None = None
    waits: str = ""
    shown: ItemProgress | None = None
    begun_s: float = field(default_factory=time.perf_counter)
    asked_s: float | None = None
    over_s: float | None = None

    def tell(self, seconds: float) -> None:
        """Take note of the seconds of conversation so far."""
        self.seconds = seconds
        if self.shown is not None:
            self.shown.tell(seconds)

    def tell_waiting(self, reason: str) -> None:
        """Take note of what the conversation waits for before it begins."""
        self.waits = reason
        if self.shown is not None:
            self.shown.tell_waiting(reason)

    def unwaited_s(self, waited: Waited | None) -> float:
        """Seconds of the conversation that were over when its item asked for it, without those it `waited`."""
        if self.asked_s is None or self.over_s is None:
            return 0.0
        until_s = min(self.asked_s, self.over_s)
        waited_s = waited.within(self.begun_s, until_s) if waited is not None else 0.0
        return max(0.0, until_s - self.begun_s - waited_s)

    def cancel(self) -> None:
        """End it, wherever it is."""
        self.future.cancel()
        if self.held is not None:
            self.held.cancel()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Here:
    """The item that runs now, and what its conversation was begun with."""

    item: pytest.Item
    agent: Agent
    runner: Runner
    begun: Begun


class Ahead:
    """Hooks of a process that holds up to `most` conversations at once, all in its one Runner.

    Items run one after another all the same. While one waits for its conversation, those of the next items are begun,
    in order: at most `most` are under way, and none beyond the next 2 * `most` items, since those that are over wait in
    memory. What is over is searched for speech at once, one at a time and in another process.

    An item's reports say as its duration what it would have taken alone: its conversation and the work on it, waiting
    or not; the time in which that waited for its provider (`--voicebench-limit`) is no part of it. So the durations of
    a run add up to more than the run took, as with workers.
    """

    def __init__(self, config: pytest.Config, most: int) -> None:
        self.config = config
        self.most = most
        self._items: list[pytest.Item] = []
        self._places: dict[pytest.Item, int] = {}
        self._next = 0
        self._begun: dict[pytest.Item, Begun] = {}
        self._here: _Here | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """The items are in their final order."""
        from pytest_voicebench.speech_aside import SpeechAside

        self._items = list(session.items)
        self._places = {item: place for place, item in enumerate(self._items)}
        self._aside = SpeechAside()
        self._ears = ThreadPoolExecutor(max_workers=1, thread_name_prefix="voicebench-ears")

    def hold(
        self, item: pytest.Item, scenario: Scenario, agent: Agent, runner: Runner, shown: ItemProgress
    ) -> Future[Conversation]:
        """The item's conversation: the one begun ahead, else one that begins now, as for a rerun."""
        begun = self._begun.pop(item, None) or self._begin(item, scenario, agent, runner)
        begun.asked_s, begun.shown, shown.seconds = time.perf_counter(), shown, begun.seconds
        shown.waits = begun.waits
        self._here = _Here(item=item, agent=agent, runner=runner, begun=begun)
        return begun.future

    def go_on(self) -> None:
        """Begin conversations of the items after the one that runs, as far as there is room."""
        here = self._here
        if here is None or here.begun.shown is None:
            return
        first = self._places.get(here.item, -1) + 1
        self._next = max(self._next, first)
        while self._next < min(len(self._items), first + 2 * self.most) and self._in_progress() < self.most:
            other = self._items[self._next]
            if _can_begin(other):
                if _has_another_agent(other, here.item):
                    break  # which is not there before the first item that has it
                self._begin_ahead(other, here)
            self._next += 1
        here.begun.shown.in_progress = self._in_progress()

    def _begin_ahead(self, item: pytest.Item, here: _Here) -> None:
        """Begin an item's conversation, if its agent is there and on the wall clock."""
        agent = here.agent
        try:
            if is_ours(agent_fixtures(item)[0]):
                spec = item.callspec.params.get("agent") or agent_specs(self.config)[0]  # type: ignore[attr-defined]
                agent = shipped_agent(spec, scenario_of(item), self.config)
            on_the_wall_clock = agent.info.clock == "wall"
        except Exception:  # noqa: BLE001 - the item asks for the same agent, and tells
            return
        if on_the_wall_clock:
            self._begun[item] = self._begin(item, scenario_of(item), agent, here.runner)

    def _in_progress(self) -> int:
        begun = [*self._begun.values(), *([self._here.begun] if self._here else [])]
        return sum(b.over_s is None for b in begun)

    def _begin(self, item: pytest.Item, scenario: Scenario, agent: Agent, runner: Runner) -> Begun:
        begun = Begun()
        begun.held = runner.submit(scenario, gated(agent, item, scenario, begun.tell_waiting), progress=begun.tell)
        begun.held.add_done_callback(lambda held: self._listen(begun, held))
        return begun

    def _listen(self, begun: Begun, held: Future[Conversation]) -> None:
        """Called in the runner's thread when a conversation is over: have it listened to, elsewhere."""
        begun.over_s = time.perf_counter()
        begun.held = None  # its callback leads back to here: together they would stay until a full garbage collection
        with suppress(RuntimeError):  # the run has ended
            self._ears.submit(self._finish, begun, held)

    def _finish(self, begun: Begun, held: Future[Conversation]) -> None:
        if not begun.future.set_running_or_notify_cancel():
            return
        try:
            begun.future.set_result(self._aside.detect_speech(held.result()))
        except BaseException as error:  # noqa: BLE001 - it belongs to the item, which raises it
            begun.future.set_exception(error)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """An attempt begins, perhaps not the first one."""
        self._here = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Give the item the time back that it did not have to wait."""
        report = yield
        if report.when == "setup" and self._here is not None and self._here.item is item:
            report.duration += self._here.begun.unwaited_s(item.stash.get(waited_key, None))
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """A conversation that its item did not ask for, because it was skipped or broke before, is of no use."""
        result = yield
        if self._here is not None:
            self._here.begun.cancel()
            self._here = None
        if unused := self._begun.pop(item, None):
            unused.cancel()
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, object, object]:
        """End what is under way before anything waits: an interrupted run has its summary at once."""
        for begun in (*self._begun.values(), *([self._here.begun] if self._here else [])):
            begun.cancel()
        self._begun.clear()
        if self._items:
            self._ears.shutdown(wait=False, cancel_futures=True)
            self._aside.close()
        return (yield)


def check_concurrency(config: pytest.Config) -> None:
    """Take part where several conversations are asked for. Raises pytest.UsageError beside workers of xdist."""
    most = concurrency(config)
    if most == 1 or rescored_run(config) is not None:
        return
    workers = config.getoption("numprocesses", None) or len(config.getoption("tx", None) or [])
    if workers:
        raise pytest.UsageError(
            f"{CONCURRENCY} {most} (one process, many conversations) beside -n {workers} (many processes): choose one; "
            f"-n 0 or {CONCURRENCY}=1 turns the other off"
        )
    config.pluginmanager.register(Ahead(config, most), AHEAD)


def refuse_agents_of_an_item(items: list[pytest.Item]) -> None:
    """Raise pytest.UsageError for an `agent` fixture that makes an agent for each item: none is there beforehand."""
    for item in items:
        fixture = agent_fixtures(item)[0]
        if not is_ours(fixture) and fixture.scope != "session":
            raise pytest.UsageError(
                f"{CONCURRENCY} needs an agent that is there before its item: the `agent` fixture of {item.nodeid} "
                f"has the scope {fixture.scope!r}; write @pytest.fixture(scope='session'), or run it with -n"
            )


def _can_begin(item: pytest.Item) -> bool:
    """Whether an item asks for our conversation, as far as can be known before it runs."""
    fixtures: Any = item._fixtureinfo.name2fixturedefs.get("conversation", ())  # type: ignore[attr-defined]
    return is_scenario(item) and is_ours(fixtures[-1]) and not is_done(item) and not _will_not_run(item)


def _has_another_agent(item: pytest.Item, here: pytest.Item) -> bool:
    """Whether the users' own fixture gives an item another agent: it is another one, or any of its parameters is."""
    fixture = agent_fixtures(item)[0]
    if is_ours(fixture):
        return False
    return fixture is not agent_fixtures(here)[0] or _parameters(item) != _parameters(here)


def _will_not_run(item: pytest.Item) -> bool:
    """Whether the item's marks say that it is skipped, or is not even tried; a broken mark counts as such."""
    from _pytest.skipping import evaluate_skip_marks, evaluate_xfail_marks

    try:
        if evaluate_skip_marks(item) is not None:
            return True
        expected = evaluate_xfail_marks(item)
    except Exception:  # noqa: BLE001 - conditions are users' code; the item tells what they raise
        return True
    return expected is not None and not expected.run and not item.config.getoption("runxfail")


def _parameters(item: pytest.Item) -> dict[str, int]:
    """Which parameters the item's fixtures have, but for the scenario: any of them may make another agent."""
    indices: dict[str, int] = getattr(getattr(item, "callspec", None), "indices", {})
    return {name: index for name, index in indices.items() if name != NAME}
