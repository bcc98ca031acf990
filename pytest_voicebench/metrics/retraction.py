"""Values that the user took back: whether an argument holds one, and which calls were made with them."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_voicebench.conversation import Call, Json
from pytest_voicebench.matchers import compare_value
from pytest_voicebench.metrics.arguments import Rules
from pytest_voicebench.scenario import Retraction
from pytest_voicebench.scorecard import Pair


def stale_calls(retraction: Retraction, calls: Sequence[Call], pairs: Sequence[Pair], rules: Rules) -> tuple[int, ...]:
    """Indexes of the calls that match the retracted entry in all its arguments.

    Calls for which the same value is right are left out: the expected call they are paired with wants it. So are
    refused ones whose arguments nobody could read.
    """
    return tuple(
        n
        for n, call in enumerate(calls)
        if call.name == retraction.tool
        and call.arguments_text is None
        and retraction.args
        and all(is_retracted(retraction, name, call.arguments.get(name), rules) for name in retraction.args)
        and not any(pair.actual == n and _wants(pair, retraction) for pair in pairs)
    )


def _wants(pair: Pair, retraction: Retraction) -> bool:
    """Whether the expected call of a pair asks for the very values that were taken back elsewhere."""
    right = {a.name for a in pair.arguments if a.verdict == "match"}
    return pair.matches or right.issuperset(retraction.args)


def is_retracted(retraction: Retraction, name: str, value: Json, rules: Rules) -> bool:
    """Whether an argument has the value that this entry took back; one left out has its tool's default."""
    tool = rules.tools.get(retraction.tool)
    parameter = tool.parameters.get(name) if tool else None
    if value is None and parameter is not None and parameter.has_default:
        value = parameter.default
    if name not in retraction.args or value is None:
        return False
    return compare_value(parameter, retraction.args[name], value, rules.today, rules.aliases).matches
