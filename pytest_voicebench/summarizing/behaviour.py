"""What agents did beside right and wrong: silence, pre-emption, surplus calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_voicebench.result import Result
from pytest_voicebench.scorecard import Scorecard
from pytest_voicebench.summarizing.figures import rate_of
from pytest_voicebench.summarizing.groups import by_difficulty, scorecards, scored
from pytest_voicebench.summary import Behaviour, Silence, SilenceRow, SurplusRow


def silence(results: Sequence[Result]) -> Silence:
    """Items whose turn was not taken: with calls, without, with perfect calls; all and by difficulty."""
    return Silence(
        overall=_silence_row(results),
        by_difficulty={name: _silence_row(members) for name, members in by_difficulty(results).items()},
    )


def _silence_row(results: Sequence[Result]) -> SilenceRow:
    cards = scorecards(results)
    silent = [c for c in cards if not c.manners.turn_taken]
    calling = [c for c in silent if calls_made(c)]
    return SilenceRow(
        items=len(cards),
        silent=len(silent),
        with_calls=len(calling),
        without_calls=len(silent) - len(calling),
        with_perfect_calls=sum(c.tools_ok and c.args_ok for c in calling),
    )


def calls_made(card: Scorecard) -> int:
    """The number of counted calls of an item."""
    return sum(p.actual is not None for p in card.pairs) + len(card.surplus)


def behaviour(results: Sequence[Result]) -> Behaviour:
    """Pre-emptive calls against interruptions, over items with a call."""
    calling = [(r, c) for r, c in scored(results) if c.manners.preemptive is not None]
    spoke = [(r, c.manners.spoke_before_first_call) for r, c in calling]
    cells = Counter((c.manners.preemptive, c.manners.interrupted) for _, c in calling)
    return Behaviour(
        preemptive_interrupted=cells[True, True],
        preemptive_only=cells[True, False],
        interrupted_only=cells[False, True],
        neither=cells[False, False],
        spoke_before_first_call=rate_of((r, flag) for r, flag in spoke if flag is not None),
    )


def wrong_arguments(results: Sequence[Result]) -> dict[str, int]:
    """Wrong arguments by cause."""
    total: Counter[str] = Counter()
    for card in scorecards(results):
        total.update(card.wrong_causes)
    return dict(sorted(total.items()))


def surplus_calls(results: Sequence[Result]) -> tuple[SurplusRow, ...]:
    """Surplus calls by the scenario's domain and the tool's."""
    homes: dict[str, set[str | None]] = {}
    found: Counter[tuple[str | None, str]] = Counter()
    for result in results:
        for card in scorecards([result]):
            for pair in card.pairs:
                homes.setdefault(pair.tool, set()).add(result.facts.domain)
            found.update((result.facts.domain, tool) for tool in card.surplus_tools)
    return tuple(
        SurplusRow(domain=domain, tool=tool, tool_domain=_only(homes.get(tool, set())), calls=calls)
        for (domain, tool), calls in sorted(found.items(), key=lambda item: (item[0][0] or "", item[0][1]))
    )


def _only(homes: set[str | None]) -> str | None:
    return next(iter(homes)) if len(homes) == 1 else None
