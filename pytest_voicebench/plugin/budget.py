"""What a run costs: prices, the estimate before the first call, `--voicebench-max-usd`, and the bill of each item."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from pytest_voicebench.counted import counted
from pytest_voicebench.plugin.attempt import attempt_key, had_session_key
from pytest_voicebench.plugin.options import MAX_USD, PRICES, RESUME, rescored_run
from pytest_voicebench.plugin.run_folder import run_folder

if TYPE_CHECKING:
    from pytest_voicebench.agents.gate import Gate
    from pytest_voicebench.conversation import AgentInfo
    from pytest_voicebench.pricing.ledger import Ledger
    from pytest_voicebench.pricing.prices import Price
    from pytest_voicebench.result import Result
    from pytest_voicebench.scenario import Scenario


NOT_COUNTED = "session not counted"
"""Why nobody knows what an item cost whose conversation was lost; a limit counts its estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The prices of this run, and what it may cost; None: whatever it costs."""

    prices: tuple[Price, ...]
    most_usd: float | None = None


_budget = pytest.StashKey[Budget]()
_spent = pytest.StashKey[float]()


def budget(config: pytest.Config) -> Budget:
    """Of this run. Raises pytest.UsageError, one line."""
    found = config.stash.get(_budget, None)
    if found is None:
        from pytest_voicebench.pricing.prices import SHIPPED, PricesError, load_prices

        given, ini = config.getoption("voicebench_prices"), config.getini("voicebench_prices")
        path = Path(config.invocation_params.dir, given) if given else Path(config.rootpath, ini) if ini else None
        try:
            own = load_prices(path) if path is not None else ()
        except PricesError as error:
            raise pytest.UsageError(f"{PRICES}: {error}") from None
        found = Budget(prices=(*load_prices(SHIPPED), *own), most_usd=_most_usd(config))
        config.stash[_budget] = found
    return found


def _most_usd(config: pytest.Config) -> float | None:
    text = config.getoption("voicebench_max_usd") or config.getini("voicebench_max_usd")
    if not text:
        return None
    try:
        most = float(text)
    except ValueError:
        most = math.nan
    if not 0 < most < math.inf:
        raise pytest.UsageError(f"{MAX_USD}: must be an amount of USD above 0, not {text!r}")
    return most


def ledger(config: pytest.Config) -> Ledger | None:
    """Where the money of this run is counted; None without `--voicebench-max-usd`."""
    from pytest_voicebench.pricing.ledger import LEDGER_NAME, Ledger

    most = budget(config).most_usd if limits_money(config) else None
    if most is None:
        return None
    return Ledger(path=run_folder(config).path / LEDGER_NAME, most_usd=most, already_usd=config.stash.get(_spent, 0.0))


def note_spent(config: pytest.Config, asked: Mapping[str, tuple[AgentInfo, Scenario]]) -> None:
    """Find what a run that is resumed has cost so far, which the ledger begins with; `asked` is by item."""
    from pytest_voicebench.plugin.resume import begun
    from pytest_voicebench.pricing.estimate import paid_usd
    from pytest_voicebench.pricing.prices import price_of

    run = begun(config)
    if run is None or not limits_money(config):
        return
    paid = []
    for row in run.attempts:
        info, scenario = asked.get(row.item_id, (row.agent, None))
        paid.append(paid_usd(row, price_of(info, budget(config).prices), scenario))
    config.stash[_spent] = math.fsum(paid)


def limits_money(config: pytest.Config) -> bool:
    """Whether this run may not cost whatever it costs."""
    return bool(config.getoption("voicebench_max_usd") or config.getini("voicebench_max_usd"))


def paid_gate(gate: Gate, config: pytest.Config, scenario: Scenario, info: AgentInfo, key: str) -> Gate:
    """The gate, and behind it the ledger where there is one."""
    book = ledger(config)
    if book is None:
        return gate
    from pytest_voicebench.pricing.estimate import estimate_usd
    from pytest_voicebench.pricing.paid_gate import PaidGate
    from pytest_voicebench.pricing.prices import price_of

    price = price_of(info, budget(config).prices)
    return PaidGate(gate, book, key=key, estimate_usd=estimate_usd(scenario, price) if price else None)


def leave_out(item: pytest.Item, reason: str) -> NoReturn:
    """The item is `not_run`, for that reason. To pytest it is skipped: it knows no other word for it."""
    from pytest_voicebench.plugin.record import record

    attempt = item.stash.get(attempt_key, None)
    if attempt is not None:
        record(item, attempt.close("not_run", cause=reason))
    pytest.skip(f"not run: {reason}")


def accounted(item: pytest.Item, result: Result) -> Result:
    """The result with what it cost, which the run's ledger learns."""
    from pytest_voicebench.pricing.cost import SESSION, Cost, cost_of
    from pytest_voicebench.pricing.prices import price_of

    config = item.config
    if rescored_run(config) is not None:
        return result
    cost = Cost(usd=None)
    if SESSION in result.usage:
        cost = cost_of(result.usage, price_of(item.stash[attempt_key].agent or result.agent, budget(config).prices))
    elif item.stash.get(had_session_key, False):  # nothing came back of it: it was cut off, or ended in an exception
        cost = Cost(usd=None, unknown=NOT_COUNTED)
    item.stash[had_session_key] = False
    book = ledger(config)
    if book is not None:
        with suppress(OSError):  # then the estimate goes on counting
            book.end(result.item_id, 0.0 if cost == Cost(usd=None) else cost.usd, cost.at_least)
    return replace(result, usd=cost.usd, usd_unknown=cost.unknown)


def with_unknown_cost(crash: Result) -> Result:
    """The result of an item whose worker died: whoever is called over a network may have had a session."""
    from pytest_voicebench.plan import UNKNOWN_AGENT

    called = crash.agent != UNKNOWN_AGENT and crash.agent.clock == "wall"
    return replace(crash, usd_unknown=NOT_COUNTED) if called else crash


def priced_header(config: pytest.Config, infos: Mapping[str, AgentInfo]) -> dict[str, str]:
    """Of each agent whose price is known, what it is and who said so when, under its name in `infos`."""
    known = {label: price for label, _, price in _prices(config, infos) if price is not None}
    return {label: price_text(price) for label, price in known.items()}


def price_text(price: Price) -> str:
    """`0.05 USD a minute (docs, 2026-05-25)`."""
    parts = [f"{price.per_minute:g} USD a minute"] if price.per_minute is not None else []
    parts += [f"{usd:g} USD per million {name}" for name, usd in price.per_million.items()]
    return f"{', '.join(parts)} ({price.source}, {price.date})"


def _prices(config: pytest.Config, infos: Mapping[str, AgentInfo]) -> list[tuple[str, AgentInfo, Price | None]]:
    from pytest_voicebench.pricing.prices import price_of

    called = {label: info for label, info in infos.items() if info.clock == "wall"}
    prices = budget(config).prices if called else ()
    return [(label, info, price_of(info, prices)) for label, info in called.items()]


def estimate_notices(
    config: pytest.Config, infos: Mapping[str, AgentInfo], planned: Sequence[tuple[str, Scenario]]
) -> tuple[str, ...]:
    """A line on what the items will cost, by the labels of their agents. Raises pytest.UsageError where there is a
    limit and no price."""
    from pytest_voicebench.pricing.estimate import ASSUMPTIONS, estimate_usd

    prices = {label: (info, price) for label, info, price in _prices(config, infos)}
    if limits_money(config):
        for info, price in prices.values():
            if price is None:
                raise pytest.UsageError(no_price(info))
    known = [
        estimate_usd(scenario, price)
        for label, scenario in planned
        if label in prices and (price := prices[label][1]) is not None
    ]
    if not known:
        return ()
    most = budget(config).most_usd
    limit = f" of at most {most:g}" if most is not None else ""
    return (
        f"estimate {math.fsum(known):.2f} USD{limit} for {counted(len(known), 'conversation')}, assuming {ASSUMPTIONS}",
    )


def no_price(info: AgentInfo) -> str:
    """What to do where an agent has no price."""
    model = f" (model {info.model})" if info.model else ""
    return (
        f"{MAX_USD}: no price is known for {info.name}{model}: give one with {PRICES}=FILE, as "
        f"- {{agent: {info.name}, per_minute: 0.05, date: 2026-01-31, source: my contract}}"
    )


def stopped_line(config: pytest.Config, results: Sequence[Result]) -> str | None:
    """One line where the money did not last for all items, None where it did."""
    book = ledger(config) if rescored_run(config) is None else None
    left = [row for row in results if row.outcome == "not_run" and row.cause]
    if book is None or not left:
        return None
    many = counted(len(left), "item")
    try:
        spent = f"{book.spent_usd:.2f} USD"
    except OSError as error:
        spent = f"nobody knows how much ({error.strerror})"
    return (
        f"stopped by {MAX_USD}={book.most_usd:g}: {spent} spent, {many} not run; "
        f"to finish, allow more and add {RESUME}={run_folder(config).path.name}"
    )
