"""The tables of a run with trials: passing in all of k or in one of k, and the items that pass at times."""

from __future__ import annotations

from pytest_voicebench.counted import counted
from pytest_voicebench.trial_summary import Estimate, TrialSummary
from pytest_voicebench.writers.cells import UNMEASURED
from pytest_voicebench.writers.grid import Grid


def passes_in_k(trials: TrialSummary, suffix: str) -> Grid:
    """pass^k and pass@k for each k, errors counted as not passed and left out."""
    rows = [
        (
            str(figures.k),
            *estimate_cells(figures.pass_hat),
            *estimate_cells(figures.pass_at),
            *estimate_cells(figures.pass_hat_valid)[:1],
            *estimate_cells(figures.pass_at_valid)[:1],
        )
        for figures in trials.passes
    ]
    return Grid(
        title=f"Trials: {counted(trials.items, 'item')}, up to {counted(trials.trials, 'trial')} each{suffix}",
        head=("k", "pass^k", "95 % int.", "pass@k", "95 % int.", "pass^k*", "pass@k*"),
        rows=rows,
        notes=[
            "pass^k: k trials of an item all pass; pass@k: at least one of k does",
            "errors and trials that did not run count as not passed; * leaves them out",
            f"in all trials measured: {trials.always} passed, {trials.never} failed, "
            + counted(len(trials.flaky), "was flaky", "were flaky")
            + (f"; {trials.unmeasured} not measured" if trials.unmeasured else ""),
        ],
    )


def flaky_items(trials: TrialSummary, suffix: str, most: int | None) -> Grid:
    """The items that passed at times, the most evenly split first; `most` of them, None for all."""
    shown = trials.flaky[:most]
    left = len(trials.flaky) - len(shown)
    return Grid(
        title=f"Flaky: passed in some trials, failed in others{suffix}",
        head=("item", "passed", "failed", "unmeasured"),
        rows=[(row.item, str(row.passed), str(row.failed), str(row.unmeasured)) for row in shown],
        notes=[f"and {left} more: see -v, or report"] if left else [],
    )


def estimate_cells(estimate: Estimate) -> tuple[str, str]:
    """`0.600` and `0.23-0.88`; `n/a` and nothing where no item has so many trials."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return UNMEASURED, ""
    return f"{estimate.value:.3f}", f"{estimate.low:.2f}-{estimate.high:.2f}"
