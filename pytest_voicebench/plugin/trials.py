"""Trials: how often each scenario is held in a run, and in which order."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_voicebench.plugin.options import TRIALS, rescored_run
from pytest_voicebench.plugin.resume import begun


def trials(config: pytest.Config) -> int:
    """How many conversations are held of each item: as asked, else as in the run that is resumed or judged again.

    Raises pytest.UsageError, also where that run has another number.
    """
    given = config.getoption("voicebench_trials")
    earlier = _earlier_trials(config)
    text = given if given is not None else "" if earlier else config.getini("voicebench_trials")
    name = TRIALS if given is not None else "voicebench_trials"
    text = text or str(earlier or 1)
    if not (text.isascii() and text.isdecimal() and int(text) >= 1):
        raise pytest.UsageError(f"{name} must be a whole number from 1 on, not {text!r}")
    if earlier and int(text) != earlier:
        raise pytest.UsageError(f"{name} {text} beside a run of {earlier}: drop the option")
    return int(text)


def _earlier_trials(config: pytest.Config) -> int | None:
    run = begun(config) or rescored_run(config)
    if run is None:
        return None
    return max((row.trial or 1 for row in run.saved.plan.selection), default=1)


def interleave(items: list[pytest.Item], trial_of: Sequence[int | None]) -> None:
    """Put all items of the first trial before those of the second, in place; those without a trial stay where they are.

    So what changes in the course of a run (an agent's load, the network) meets the trials of every item alike.
    `trial_of` has an entry for each item.
    """
    numbered = [(trial, item) for trial, item in zip(trial_of, items, strict=True) if trial is not None]
    ordered = iter([item for _, item in sorted(numbered, key=lambda pair: pair[0])])
    items[:] = [item if trial is None else next(ordered) for trial, item in zip(trial_of, items, strict=True)]
