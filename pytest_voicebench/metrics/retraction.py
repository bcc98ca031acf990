"""Self-correction: calls made with values that the user had taken back."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_voicebench.conversation import Call, Json
from pytest_voicebench.matchers import compare_value
from pytest_voicebench.metrics.arguments import Rules
from pytest_voicebench.scenario import Retraction
from pytest_voicebench.scorecard import Pair


def premature_commits(
    retracted: Sequence[Retraction], calls: Sequence[Call], pairs: Sequence[Pair], rules: Rules
) -> tuple[int, ...]:
    """Indexes of the calls that match a retracted entry in all its arguments, calls that are right aside."""
    right = {p.actual for p in pairs if p.matches}
    return tuple(
        n
        for n, call in enumerate(calls)
        if n not in right
        and any(
            r.tool == call.name and r.args and all(is_retracted(r, k, call.arguments.get(k), rules) for k in r.args)
            for r in retracted
        )
    )


def is_retracted(retraction: Retraction, name: str, value: Json, rules: Rules) -> bool:
    """Whether an argument has the value that this entry took back; one left out has its tool's default."""
    tool = rules.tools.get(retraction.tool)
    parameter = tool.parameters.get(name) if tool else None
    if value is None and parameter is not None and parameter.has_default:
        value = parameter.default
    if name not in retraction.args or value is None:
        return False
    return compare_value(parameter, retraction.args[name], value, rules.today, rules.aliases).matches
