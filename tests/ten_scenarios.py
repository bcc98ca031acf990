"""Ten short scenarios of the shipped suite, for agents of other people's software, with `local` as their model.

Of all four domains, with every disfluency and without one. `local` passes each, also where it hears it by telephone.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from suites_for_pytest import command, environment

from pytest_voicebench.result import Result
from pytest_voicebench.result_files import read_results

FDB3 = Path(__file__).parents[1] / "suites" / "fdb3"
TEN = (
    "ecommerce_05",
    "ecommerce_11",
    "finance_01-c",
    "finance_03",
    "finance_09",
    "housing_02-b",
    "housing_04",
    "housing_08",
    "travel_05",
    "travel_06",
)
FIVE_AT_ONCE = ("--voicebench-concurrency=5",)
"""Two rounds of half a minute, and a process of LiveKit for each of the five, in 1 GB."""

HANGS_AFTER_S = 1200.0


def hold_ten(
    reports: Path, agent: str, *how: str, plugins: Sequence[str] = (), **more: str
) -> tuple[Path, dict[str, Result]]:
    """The folder and the results of a run of the ten; nothing may have been wrong with the measurement of any."""
    asked = [f"{FDB3 / item.split('_')[0]}.yaml::scenario[{item}]" for item in TEN]
    done = subprocess.run(
        command(*asked, *how, f"--agent={agent}", f"--voicebench-reports={reports}", plugins=plugins),
        cwd=FDB3.parents[1],
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
        check=False,
    )
    text = done.stdout[-4000:] + done.stderr[-2000:]
    assert done.returncode in (0, 1), text
    run = reports / (reports / "latest").read_text().strip()
    results = {r.item_id: r for r in read_results(run).results}
    assert set(results) == set(TEN), text
    assert {r.outcome for r in results.values()} <= {"passed", "failed"}, text
    return run, results
