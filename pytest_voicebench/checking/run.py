"""Holding the scenes with an agent, one after another: a provider may grant a single session."""

from __future__ import annotations

from collections.abc import Callable
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


def hold_scenes(scenes: tuple[Scene, ...], make: Make, tell: Tell) -> dict[SceneName, Held]:
    """What came of each scene; after a first one without a connection the others are not tried.

    `make` gives the agent for a scenario, `tell` learns every second how far a conversation has come.
    """
    held: dict[SceneName, Held] = {}
    runner = Runner()
    try:
        for scene in scenes:
            held[scene.name] = _hold(runner, scene, make(scene.scenario), tell)
            first = held[scene.name].conversation
            if first is not None and any(p.kind == "agent_absent" for p in first.problems) and len(held) == 1:
                break
    finally:
        runner.close()
    return held


def _hold(runner: Runner, scene: Scene, agent: Agent, tell: Tell) -> Held:
    future = runner.submit(scene.scenario, agent, progress=lambda at_s: tell(scene.name, at_s))
    while True:
        try:
            return Held(conversation=detect_speech(future.result(timeout=_GLANCE_S)))
        except Unsupported as reason:
            return Held(unsupported=str(reason))
        except NotYet:  # so that Ctrl-C is heard in between
            continue
