"""Where a user's steps come from: the scenario's list, or a generator that chooses them at run time."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_voicebench.agents.checks import audio_flaw
from pytest_voicebench.folder_code import load_functions
from pytest_voicebench.scenario import Scenario, Step


@dataclass(slots=True, kw_only=True)
class StepView:
    """What a simulated user knows when it chooses its next step: what the agent said, as far as it was heard.

    Brought up to date before each step is asked for. `agent_texts` is empty for agents that give no transcripts.
    """

    scenario: Scenario
    now_s: float = 0.0
    agent_texts: tuple[str, ...] = ()


async def steps_of(scenario: Scenario, view: StepView) -> AsyncGenerator[Step, None]:
    """The user's steps, one at a time, each asked for when the one before is over.

    A generator is a plain or an async generator function `f(view)` of Step in the suite's folder. To hear the agent's
    answer before it chooses what to say, it yields a `wait` with a trigger (`after_agent`) first. Silence is sent while
    an async one chooses; a plain one must not wait for anything.
    """
    if scenario.generator is None:
        for step in scenario.steps:
            yield step
        return
    made: Any = load_functions(scenario.suite.folder, [scenario.generator])[scenario.generator](view)
    steps: Any = made if inspect.isasyncgen(made) else _plain(made)
    async for step in steps:
        if flaw := _flaw(step):
            raise TypeError(f"{scenario.generator} {flaw}")
        yield step


async def _plain(steps: Iterable[Step]) -> AsyncGenerator[Step, None]:
    for step in steps:
        yield step


def _flaw(step: object) -> str | None:
    """Why a step made at run time cannot be played, or None."""
    if not isinstance(step, Step):
        return f"yielded {type(step).__name__}, not a Step"
    speaks = step.kind in ("say", "backchannel", "insert")
    if not speaks or isinstance(step.audio, Path):
        return None
    flaw = audio_flaw(step.audio)
    return f"yielded a {step.kind} whose audio is no Path and no sound: {flaw}" if flaw else None
