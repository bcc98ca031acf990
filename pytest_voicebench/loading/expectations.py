"""A scenario's `expect` and `retracted`: what should be called and said, and what was taken back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast

from pytest_voicebench.loading.arguments import read_arguments, texts_in
from pytest_voicebench.loading.document import Listing, Mapping, Node, Scalar, plain
from pytest_voicebench.loading.fields import Fields, as_items, as_text, as_texts, describe
from pytest_voicebench.loading.match_options import read_rules
from pytest_voicebench.loading.mistakes import Report, did_you_mean, listed, nearest, quoted
from pytest_voicebench.loading.readable import Readable
from pytest_voicebench.loading.templates import unreachable
from pytest_voicebench.matchers import overridden
from pytest_voicebench.phrases import count_phrase
from pytest_voicebench.references import parse, referred_calls
from pytest_voicebench.scenario import Expectation, ExpectedCall, Requirement, Retraction, Step
from pytest_voicebench.tools import Tool, Toolset

KEYS = ("calls", "mentions", "pass_requires", "ordered", "aliases", "compare")
RETRACTION_KEYS = ("tool", "args", "until")
REQUIREMENTS = ("mentions", "no_interruption", "order", "first_response_s")
SPOKEN_SIGNS = "$€£¥₹%"  # the signs that the metric `mentions` reads as words
_BOUND = re.compile(r"(first_response_s) *(<=|<) *([0-9]+(?:\.[0-9]+)?)")


def read_expectation(
    node: Node, where: str, tools: Toolset | None, report: Report, readable: Readable, labels: Report
) -> Expectation:
    """What a scenario expects. `tools` is None where the tool file itself is broken: calls are then not checked.

    What is wrong with the calls expected, though they are well written, goes to `labels`: a scenario with a known issue
    may expect what no agent can do, and then its arguments are kept as they are.
    """
    if not isinstance(node, Mapping):
        report.add(node.line, where, f"expected a mapping with calls, got {describe(node)}; no call: calls: []")
        return Expectation(calls=())
    fields = Fields(node, where, report, KEYS, ("calls",))
    aliases = _aliases(fields.get("aliases"), fields.at("aliases"), report)
    readable = readable.with_aliases(aliases)
    compare = _compare(fields.get("compare"), fields.at("compare"), tools, report)
    tools = overridden(tools, compare) if tools else tools
    calls: list[ExpectedCall] = []
    for item, at in fields.items("calls", empty=True):
        call = _call(item, at, tools, calls, report, readable, labels)
        calls.append(call or ExpectedCall(tool="", args={}))
    expectation = Expectation(
        calls=tuple(calls),
        mentions=_mentions(fields, report),
        pass_requires=_requirements(fields, report),
        ordered=fields.flag("ordered"),
        aliases=aliases,
        compare=compare,
    )
    _check_requirements(fields, expectation, report)
    return expectation


def _call(
    node: Node,
    where: str,
    tools: Toolset | None,
    before: Sequence[ExpectedCall],
    report: Report,
    readable: Readable,
    labels: Report,
) -> ExpectedCall | None:
    """One call: a mapping of the tool's name to its arguments, and `allow_extra` beside the name."""
    names = [name for name in node.entries if name != "allow_extra"] if isinstance(node, Mapping) else []
    if not isinstance(node, Mapping) or len(names) != 1:
        got = describe(node) if not names else f"{len(names)} names: {', '.join(names)}"
        report.add(node.line, where, f"expected one call, {{tool: {{argument: value}}}}, got {got}")
        return None
    name = names[0]
    if tools is None:
        return None
    tool = tools.get(name)
    if tool is None:
        labels.add(node.lines[name], where, f"there is no tool {quoted(name)}{did_you_mean(name, tools)}")
        written = node.entries[name]
        return ExpectedCall(tool=name, args=plain(written) if isinstance(written, Mapping) else {})
    at = f"{where}.{name}"
    if labels is not report and not _is_arguments(node.entries[name]):
        report.add(node.line, at, f"expected the arguments as a mapping, got {describe(node.entries[name])}")
    args = read_arguments(node.entries[name], tool, at, labels, len(before), readable)
    _check_complete(node.entries[name], tool, at, labels)
    _check_paths(node.entries[name], tools, before, at, labels)
    return ExpectedCall(tool=name, args=args, allow_extra=_allow_extra(node, tool, args, where, report))


def _is_arguments(node: Node) -> bool:
    return isinstance(node, Mapping) or (isinstance(node, Scalar) and node.value is None)


def _check_complete(node: Node, tool: Tool, where: str, report: Report) -> None:
    """An expected call must be one that the tool would accept."""
    given = node.entries if isinstance(node, Mapping) else {}
    for parameter in tool.parameters.values():
        if parameter.required and parameter.name not in given:
            report.add(node.line, where, f"{tool.name} needs the argument {quoted(parameter.name)}")


def _check_paths(node: Node, tools: Toolset, before: Sequence[ExpectedCall], where: str, report: Report) -> None:
    """References whose path the mock's answer cannot have."""
    for leaf, text, at in texts_in(node, where):
        reference = parse(text)
        called = tools.get(before[reference.call].tool) if reference and reference.call < len(before) else None
        reason = unreachable(reference, called) if reference and called else None
        if reason:
            report.add(leaf.line, at, f"{text} cannot be resolved: {reason}")


def _allow_extra(node: Mapping, tool: Tool, args: dict[str, object], where: str, report: Report) -> tuple[str, ...]:
    if "allow_extra" not in node.entries:
        return ()
    extra = as_texts(node.entries["allow_extra"], f"{where}.allow_extra", report)
    for name in extra:
        if name not in tool.parameters:
            what = f"{tool.name} has no argument {quoted(name)}{did_you_mean(name, tool.parameters)}"
            report.add(node.lines["allow_extra"], f"{where}.allow_extra", what)
        elif name in args:
            report.add(node.lines["allow_extra"], f"{where}.allow_extra", f"{quoted(name)} is expected, not extra")
    return extra


def _mentions(fields: Fields, report: Report) -> tuple[str, ...]:
    """Facts to be said; one without a letter, figure or sign that is read aloud is never heard."""
    node = fields.get("mentions")
    for index, item in enumerate(node.items if isinstance(node, Listing) else ()):
        text = plain(item)
        if isinstance(text, str) and text.strip() and not any(c.isalnum() or c in SPOKEN_SIGNS for c in text):
            what = f"{quoted(text)} holds no word: it can never be heard"
            report.add(item.line, f"{fields.at('mentions')}[{index}]", what)
    return fields.texts("mentions")


def _requirements(fields: Fields, report: Report) -> tuple[Requirement, ...]:
    node = fields.get("pass_requires")
    if node is None:
        return ()
    found: list[Requirement] = []
    for item, at in as_items(node, fields.at("pass_requires"), report):
        text = as_text(item, at, report)
        bound = _BOUND.fullmatch(text) if text else None
        if bound:
            operator = cast(Literal["<=", "<"], bound[2])
            found.append(Requirement(name="first_response_s", operator=operator, bound=float(bound[3]), text=bound[0]))
        elif text == "first_response_s":
            report.add(item.line, at, "first_response_s needs a bound: first_response_s <= 2.5")
        elif text in REQUIREMENTS:
            name = cast(Literal["mentions", "no_interruption", "order"], text)
            found.append(Requirement(name=name, text=text))
        elif text is not None:
            words = ["mentions", "no_interruption", "order", "first_response_s <= SECONDS"]
            report.add(item.line, at, f"expected {listed(words)}, got {quoted(text)}{nearest(text, REQUIREMENTS)}")
    return tuple(found)


def _check_requirements(fields: Fields, expectation: Expectation, report: Report) -> None:
    """A requirement that could never be checked would never pass."""
    node = fields.get("pass_requires")
    names = [requirement.name for requirement in expectation.pass_requires]
    if node is None:
        return
    if len(set(names)) < len(names):
        report.add(node.line, fields.at("pass_requires"), "a requirement stands twice")
    if "mentions" in names and not expectation.mentions:
        report.add(node.line, fields.at("pass_requires"), "mentions is required, but nothing stands under mentions")
    if "order" in names and len(expectation.calls) < 2:
        report.add(node.line, fields.at("pass_requires"), "order is required, but there are not two calls")
    elif "order" in names and not expectation.ordered and not _has_references(expectation):
        what = "order is required, but nothing sets one: `ordered: true`, or an argument that refers to a result"
        report.add(node.line, fields.at("pass_requires"), what)


def _has_references(expectation: Expectation) -> bool:
    return any(True for call in expectation.calls for _ in referred_calls(call.args))


def _aliases(node: Node | None, where: str, report: Report) -> dict[str, tuple[str, ...]]:
    if node is None:
        return {}
    if not isinstance(node, Mapping):
        report.add(node.line, where, f"expected a mapping such as {{Las Vegas: [Vegas]}}, got {describe(node)}")
        return {}
    return {name: as_texts(value, f"{where}.{name}", report) for name, value in node.entries.items()}


def _compare(node: Node | None, where: str, tools: Toolset | None, report: Report) -> dict[str, dict[str, object]]:
    """How single arguments are compared in this scenario, by `tool.argument`."""
    if node is None or tools is None:
        return {}
    if not isinstance(node, Mapping):
        report.add(
            node.line, where, f"expected a mapping such as {{tool.argument: {{kind: date}}}}, got {describe(node)}"
        )
        return {}
    found: dict[str, dict[str, object]] = {}
    for name, rules in node.entries.items():
        tool_name, _, argument = name.partition(".")
        tool = tools.get(tool_name)
        parameter = tool.parameters.get(argument) if tool else None
        if parameter is None:
            known = [f"{t.name}.{p}" for t in tools.values() for p in t.parameters]
            what = f"there is no argument {quoted(name)}{did_you_mean(name, known)}; write tool.argument"
            report.add(node.lines[name], where, what)
        else:
            found[name] = read_rules(rules, parameter, f"{where}.{name}", report)
    return found


def read_retractions(
    node: Node, where: str, tools: Toolset | None, report: Report, readable: Readable
) -> list[tuple[Retraction, int, str]]:
    """What was said and taken back, each with its line and where it stands, for `check_until`."""
    found: list[tuple[Retraction, int, str]] = []
    for item, at in as_items(node, where, report):
        if not isinstance(item, Mapping):
            report.add(item.line, at, f"expected {{tool, args, until}}, got {describe(item)}")
            continue
        fields = Fields(item, at, report, RETRACTION_KEYS, RETRACTION_KEYS)
        name, until = fields.text("tool"), fields.text("until")
        args = _retracted_args(fields, name, tools, report, readable)
        if name is not None and until is not None:
            line = fields.lines["until"]
            found.append((Retraction(tool=name, args=args, until=until), line, fields.at("until")))
    return found


def _retracted_args(
    fields: Fields, name: str | None, tools: Toolset | None, report: Report, readable: Readable
) -> dict[str, object]:
    node = fields.get("args")
    if name is None or tools is None or node is None:
        return {}
    tool = tools.get(name)
    if tool is None:
        what = f"there is no tool {quoted(name)}{did_you_mean(name, tools)}"
        report.add(fields.lines["tool"], fields.at("tool"), what)
        return {}
    if not isinstance(node, Mapping) or not node.entries:
        report.add(fields.lines["args"], fields.at("args"), "expected the arguments that were taken back")
        return {}
    return read_arguments(node, tool, fields.at("args"), report, None, readable)


def check_until(found: Sequence[tuple[Retraction, int, str]], steps: Sequence[Step], report: Report) -> None:
    """`until` must occur exactly once in what the user says, and once in the words that the timing files place."""
    if not found:
        return
    says = [step for step in steps if step.kind == "say"]
    said, placed_texts = [step.text for step in says], [_placed(step) for step in says]
    for retraction, line, where in found if says else ():
        count = sum(count_phrase(retraction.until, text) for text in said)
        placed = count if placed_texts == said else sum(count_phrase(retraction.until, text) for text in placed_texts)
        if count != 1:
            report.add(
                line, where, f"{quoted(retraction.until)} must occur exactly once in the words, not {count} times"
            )
        elif placed != 1:
            name = ", ".join(_timing_name(step) for step in says)
            what = f"{quoted(retraction.until)} must occur exactly once in the words of {name}, not {placed} times"
            report.add(line, where, what)


def _timing_name(step: Step) -> str:
    path = step.timing_file or (step.audio.with_suffix(".json") if isinstance(step.audio, Path) else None)
    return path.name if path else "its timing file"


def _placed(step: Step) -> str:
    return " ".join(word for word, _, _ in step.timing.words) if step.timing else step.text
