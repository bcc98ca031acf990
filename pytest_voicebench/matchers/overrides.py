"""`expect.compare`: the kind and the options of a parameter, as one scenario has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pytest_voicebench.matchers.verdict import Json
from pytest_voicebench.tools import Parameter, Toolset


def with_rules(parameter: Parameter, rules: Mapping[str, Json]) -> Parameter:
    """The parameter compared by `rules`: options, and with `kind` another matcher, whose options are then all."""
    options = {name: value for name, value in rules.items() if name != "kind"}
    if "kind" in rules:
        return replace(parameter, match=rules["kind"], options=options)
    return replace(parameter, options={**parameter.options, **options})


def overridden(tools: Toolset, compare: Mapping[str, Mapping[str, Json]]) -> Toolset:
    """The tools with the kinds and options that `compare` gives, by `tool.argument`. A new kind has no old options."""
    changed = dict(tools)
    for name, rules in compare.items():
        tool_name, _, argument = name.partition(".")
        tool = changed.get(tool_name)
        parameter = tool.parameters.get(argument) if tool else None
        if tool is not None and parameter is not None:
            one = with_rules(parameter, rules)
            changed[tool_name] = replace(tool, parameters={**tool.parameters, argument: one})
    return changed if compare else tools
