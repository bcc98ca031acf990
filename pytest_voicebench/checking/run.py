"""Holding the scenes with an agent, one after another: a provider may grant a single session."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import TimeoutError as NotYet

from pytest_voicebench.agents.protocol import Agent, Unsupported
from pytest_voicebench.checking.findings import Held
from pytest_voicebench.checking.scenes import Scene, SceneName
from pytest_voicebench.runner import Runner
from pytest_voicebench.scenario import Scenario
from pytest_voicebench.speech import detect_speech

Make = Callable[[Scenario], Agent]
Tell = Callable[[SceneName, float], None]

_GLANCE_S = 0.5


def hold_scenes(scenes: tuple[Scene, ...], make: Make, tell: Tell) -> Generator[tuple[SceneName, Held], None, None]:
    """What came of each scene, as soon as it is over; after a first one without a connection no other is tried.

    `make` gives the agent for a scenario, `tell` learns every second how far a conversation has come.
    """
    runner = Runner()
    try:
        for number, scene in enumerate(scenes):
            held = _hold(runner, scene, make(scene.scenario), tell)
            yield scene.name, held
            problems = held.conversation.problems if held.conversation else ()
            if number == 0 and any(p.kind == "agent_absent" for p in problems):
                break
    finally:
        runner.close()


def _hold(runner: Runner, scene: Scene, agent: Agent, tell: Tell) -> Held:
    future = runner.submit(scene.scenario, agent, progress=lambda at_s: tell(scene.name, at_s))
    while True:
        try:
            return Held(conversation=detect_speech(future.result(timeout=_GLANCE_S)))
        except Unsupported as reason:
            return Held(unsupported=str(reason))
        except NotYet:  # so that Ctrl-C is heard in between
            continue
