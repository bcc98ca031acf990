"""One call against one expected call: every expected argument judged, extra ones listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from pytest_voicebench.conversation import Call, Json
from pytest_voicebench.matchers import compare_value, overridden
from pytest_voicebench.matchers.exact import json_equal
from pytest_voicebench.references import Unresolvable, expand
from pytest_voicebench.scenario import ExpectedCall, Scenario
from pytest_voicebench.scorecard import ArgumentScore
from pytest_voicebench.tools import Parameter, Tool, Toolset


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What judging an argument needs to know beside the two calls."""

    tools: Toolset
    today: date
    aliases: Mapping[str, tuple[str, ...]]


def rules_of(scenario: Scenario) -> Rules:
    """The rules that a scenario gives; what `expect.compare` says of a parameter stands in its declaration."""
    tools = overridden(scenario.suite.tools, scenario.expect.compare)
    return Rules(tools=tools, today=scenario.suite.today, aliases=scenario.expect.aliases)


def judge_arguments(
    expected: ExpectedCall, call: Call, results: Mapping[int, Json], rules: Rules
) -> tuple[ArgumentScore, ...]:
    """Every expected argument against the call's, defaults of the tool filled in on both sides.

    A reference is resolved against `results` (by index of expected call); one that cannot be is cannot_tell.
    """
    tool = rules.tools.get(expected.tool)
    return tuple(
        _judge(name, value, call.arguments.get(name), tool.parameters.get(name) if tool else None, results, rules)
        for name, value in expected.args.items()
    )


def _judge(
    name: str, wanted: Json, given: Json, parameter: Parameter | None, results: Mapping[int, Json], rules: Rules
) -> ArgumentScore:
    if parameter is not None and parameter.has_default:
        wanted = parameter.default if wanted is None else wanted
        given = parameter.default if given is None else given
    try:
        readings = expand(wanted, results)
    except Unresolvable as problem:
        return ArgumentScore(
            name=name,
            expected=wanted,
            actual=given,
            verdict="cannot_tell",
            strict=False,
            reason=str(problem),
            notes=("unresolved_reference",),
        )
    found = [(one, compare_value(parameter, one, given, rules.today, rules.aliases)) for one in readings]
    value, best = next(((one, m) for one, m in found if m.matches), found[0])
    return ArgumentScore(
        name=name,
        expected=value,
        actual=given,
        verdict=best.verdict,
        strict=best.matches and "type_mismatch" not in best.notes,
        reason=best.reason,
        notes=best.notes,
    )


def extra_arguments(expected: ExpectedCall, call: Call, tool: Tool | None) -> tuple[str, ...]:
    """Arguments nobody asked for: not expected, not null, not the tool's default, not in `allow_extra`; sorted."""
    return tuple(
        sorted(
            name
            for name, value in call.arguments.items()
            if value is not None
            and name not in expected.args
            and name not in expected.allow_extra
            and not _is_default(value, tool.parameters.get(name) if tool else None)
        )
    )


def _is_default(value: Json, parameter: Parameter | None) -> bool:
    return parameter is not None and parameter.has_default and json_equal(value, parameter.default)
