"""What the trials of a run add up to: pass^k and pass@k, and the items that pass at times, as a frozen tree."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The mean over n items of a figure of each one's trials, with a 95 % interval over scenarios; None for n = 0."""

    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PassOfK:
    """Passing in k trials: `pass_hat` (pass^k, tau-bench) in all of them, `pass_at` (pass@k, Chen et al.) in one.

    An item's trials are those planned, but for skipped ones: an error and a trial that did not run count as not passed.
    In `pass_hat_valid` and `pass_at_valid` they are left out. An item with fewer than k trials is in no mean of k.
    """

    k: int
    pass_hat: Estimate
    pass_at: Estimate
    pass_hat_valid: Estimate
    pass_at_valid: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakyItem:
    """An item (scenario and speaker) that passed in some trials and failed in others; `unmeasured`: all other trials
    planned, but for skipped ones."""

    item: str
    suite: str
    scenario_id: str
    speaker: str | None
    passed: int
    failed: int
    unmeasured: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSummary:
    """The trials of one agent: at most `trials` of each of `items`. `passes` has an entry for each k from 1 on.

    `always` and `never` count the items of which every measured trial passed, or failed; of `unmeasured` ones none was.
    `flaky` are the others, the most evenly split first.
    """

    trials: int
    items: int
    always: int
    never: int
    unmeasured: int
    passes: tuple[PassOfK, ...]
    flaky: tuple[FlakyItem, ...]
