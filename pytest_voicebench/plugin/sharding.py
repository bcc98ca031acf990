"""`--voicebench-shard 3/8`: of the items selected, those that this run holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_voicebench.plugin.options import SHARD, rescored_run
from pytest_voicebench.plugin.resume import begun

if TYPE_CHECKING:
    from pytest_voicebench.result import Result
    from pytest_voicebench.sharding import Shard


def shard_asked(config: pytest.Config) -> tuple[int, int] | None:
    """Number and count of the shard: as asked, else that of the run that is resumed or judged again, None for all.

    Raises pytest.UsageError, also where that run is another shard.
    """
    from pytest_voicebench.sharding import parse_shard

    given, earlier = config.getoption("voicebench_shard"), earlier_shard(config)
    if given is None:
        return (earlier.number, earlier.of) if earlier is not None else None
    try:
        asked = parse_shard(given)
    except ValueError as error:
        raise pytest.UsageError(f"{SHARD}: {error}") from None
    if earlier is not None and asked != (earlier.number, earlier.of):
        raise pytest.UsageError(f"{SHARD} {given} beside a run that is {earlier.name}: drop the option")
    return asked


def earlier_shard(config: pytest.Config) -> Shard | None:
    """Which shard the run is that is resumed or judged again; None without such a run, or where it is none."""
    run = begun(config) or rescored_run(config)
    return run.saved.plan.shard if run is not None else None


def planned_shard(config: pytest.Config, rows: Sequence[Result]) -> Shard | None:
    """Which part of these items the run is. A shard that is judged again is of the selection that it was of, also where
    more can be selected now; none where some of that is not selected."""
    from pytest_voicebench.sharding import shard_of

    asked, earlier = shard_asked(config), earlier_shard(config)
    if asked is None:
        return None
    if earlier is None:
        return shard_of(*asked, rows)
    known = {row.item_id for row in earlier.selection}
    again = [row for row in rows if row.item_id in known]
    return shard_of(*asked, again) if len(again) == len(known) else None


def of_this_shard(items: Sequence[pytest.Item], config: pytest.Config) -> list[pytest.Item]:
    """Of scenario items, as selected, those of this run's shard; all of them where none was asked for."""
    asked = shard_asked(config)
    if asked is None:
        return list(items)
    from pytest_voicebench.plugin.planning import item_id, scenario_of
    from pytest_voicebench.pricing.estimate import session_s
    from pytest_voicebench.sharding import assign

    run = begun(config) or rescored_run(config)
    if run is not None and run.saved.plan.shard is not None:
        planned = {row.item_id for row in run.saved.plan.items}
        return [item for item in items if item_id(item) in planned]
    numbers = assign({item_id(item): session_s(scenario_of(item)) for item in items}, asked[1])
    return [item for item in items if numbers[item_id(item)] == asked[0]]
