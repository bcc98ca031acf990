"""Trials: how often each scenario is held in a run, and in which order."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_voicebench.plugin.options import TRIALS, rescored_run
from pytest_voicebench.plugin.resume import begun
from pytest_voicebench.whole_numbers import whole_number

MOST_TRIALS = 100
"""Each is an item: a hundred scenarios so often take pytest 5 s to collect, and give pass rates to 5 points each."""


def trials(config: pytest.Config) -> int:
    """How many conversations are held of each item: as asked, else as in the run that is resumed or judged again.

    Raises pytest.UsageError, also where that run has another number.
    """
    given = config.getoption("voicebench_trials")
    earlier = _earlier_trials(config)
    text = given if given is not None else "" if earlier else config.getini("voicebench_trials")
    name = TRIALS if given is not None else "voicebench_trials"
    text = text or str(earlier or 1)
    try:
        number = whole_number(text, max(MOST_TRIALS, earlier or 1))
    except ValueError as error:
        raise pytest.UsageError(f"{name} {error}") from None
    if earlier and number != earlier:
        raise pytest.UsageError(f"{name} {number} beside a run of {earlier}: drop the option")
    return number


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
