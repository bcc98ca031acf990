"""A turn with what it mentions and what of that is used; and what is meant in the end where something is taken back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from pytest_voicebench.agents.local.understanding.intents import Request
from pytest_voicebench.agents.local.understanding.mentions import Mention, joined, negated, taken_back
from pytest_voicebench.agents.local.understanding.words import Token


@dataclass(slots=True, kw_only=True)
class Turn:
    """A tokenized turn with its mentions; `used` holds the tokens that already fill an argument."""

    tokens: Sequence[Token]
    mentions: Sequence[Mention]
    used: set[int] = field(default_factory=set)

    def of_kind(self, kind: str, request: Request | None) -> list[Mention]:
        """Unused mentions of a kind, in order; of one request or, with None, of the whole turn."""
        return [
            m
            for m in self.mentions
            if m.kind == kind
            and (request is None or request.covers(m.start))
            and not self.used & set(range(m.start, m.end))
            and not negated(self.tokens, m.start)
        ]

    def use(self, mentions: Iterable[Mention]) -> None:
        """Mark mentions as filling an argument."""
        for mention in mentions:
            self.used.update(range(mention.start, mention.end))


def settle(tokens: Sequence[Token], candidates: Sequence[Mention], several: bool) -> list[Mention]:
    """What is meant in the end: corrections replace what they take back, "and" adds where `several` is allowed."""
    values: list[Mention] = []
    for candidate in candidates:
        if not values:
            values.append(candidate)
            continue
        before = values[-1]
        more = joined(tokens, before.end, candidate.start) and not taken_back(tokens, before.end, candidate.start)
        if several and more:
            if candidate.value != before.value:
                values.append(candidate)
        else:
            values[-1] = candidate
    return values


def inherit_bounds(tokens: Sequence[Token], numbers: Sequence[Mention]) -> list[Mention]:
    """A number right after a correction keeps the bound and unit of the one it corrects."""
    result: list[Mention] = []
    for number in numbers:
        before = result[-1] if result else None
        if before and number.start - before.end <= 8 and _revised(tokens, before.end, number.start):
            number = replace(
                number,
                bound=number.bound or (before.bound and not number.unit.isalpha()) or before.bound,
                unit=number.unit or before.unit,
            )
        result.append(number)
    return result


def _revised(tokens: Sequence[Token], start: int, end: int) -> bool:
    """Taken back, or said again at once in other words: "ninety, well, a hundred and ten"."""
    return taken_back(tokens, start, end) or (end - start <= 4 and "well" in {t.low for t in tokens[start:end]})
