"""Why an item did not pass, in one line from its result alone, and which items failed by most."""

from __future__ import annotations

from pytest_voicebench.result import Result
from pytest_voicebench.scorecard import Scorecard
from pytest_voicebench.writers.plain_text import value_text

MOST_REASONS = 3


def why(result: Result) -> str:
    """What of Pass is missing, or the error's kind and cause. Values are the agent's own: escape before showing."""
    if result.scorecard is None:
        return ": ".join(part for part in (result.error_kind, result.cause) if part) or "no cause was noted"
    reasons = _reasons(result.scorecard)
    return "; ".join(reasons[:MOST_REASONS]) or "unknown reason"


def _reasons(card: Scorecard) -> list[str]:
    found = [] if card.spoke else ["never took the turn"]
    missing = [pair.tool for pair in card.pairs if pair.actual is None]
    found += [f"not called: {', '.join(missing)}"] if missing else []
    found += [f"nobody asked for: {', '.join(card.surplus_tools)}"] if card.surplus_tools else []
    for pair in card.pairs:
        for one in pair.arguments if pair.actual is not None else ():
            if one.verdict != "match":
                cause = f" ({one.cause})" if one.cause and one.cause != "other" else ""
                found.append(f"{pair.tool}.{one.name} {value_text(one.actual)}, not {value_text(one.expected)}{cause}")
    return found + [f"required {name} not met" for name, met in card.requirements.items() if not met]


def severity(result: Result) -> tuple[bool, float, float, str, str]:
    """Sorts what failed by most first, errors last: by argument accuracy, then F1, then the id."""
    card = result.scorecard
    accuracy = (card.argument_accuracy or 0.0) if card else 0.0
    f1 = card.f1_names if card else 0.0
    return card is None, accuracy, f1, result.item_id, result.agent.name
