"""A matcher's name and options in a suite: only what it reads, in the form in which it reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from pytest_voicebench.loading.document import Json, Mapping, Node, Scalar, plain
from pytest_voicebench.loading.fields import Fields, as_flag, as_items, as_number, as_text, as_texts, describe
from pytest_voicebench.loading.mistakes import Report, did_you_mean, listed, nearest, quoted
from pytest_voicebench.matchers import KINDS, CustomMatcherError, Kind, find_kind, kind_of
from pytest_voicebench.matchers.currency import CODES
from pytest_voicebench.matchers.duration import UNITS as LENGTHS
from pytest_voicebench.matchers.unit_table import units_named
from pytest_voicebench.tools import Parameter


def read_kind(fields: Fields, name: str) -> str | None:
    """The kind that a key names, or a user's `package.module:function`, which is imported; None where it is neither."""
    found = fields.text(name)
    if found is None or found in KINDS:
        return found
    where, line = fields.at(name), fields.lines[name]
    if ":" in found:
        try:
            find_kind(found)
        except CustomMatcherError as error:
            fields.report.add(line, where, str(error))
            return None
        return found
    words = listed([*KINDS, "package.module:function"])
    fields.report.add(line, where, f"expected {words}, got {quoted(found)}{nearest(found, list(KINDS))}")
    return None


def read_options(node: Node | None, parameter: Parameter, where: str, report: Report) -> dict[str, Json]:
    """The options of a parameter; empty where there are none, or where they hold a mistake."""
    if node is None:
        return {}
    if not isinstance(node, Mapping):
        report.add(node.line, where, f"expected a mapping, got {describe(node)}")
        return {}
    return _checked(node, parameter, where, report, ())


def read_rules(node: Node, parameter: Parameter, where: str, report: Report) -> dict[str, Json]:
    """`{kind: date, approx: 2 days}`: options, and the kind that reads them (left out: the parameter's)."""
    if not isinstance(node, Mapping):
        report.add(node.line, where, f"expected a mapping such as {{kind: date}}, got {describe(node)}")
        return {}
    if "kind" in node.entries:
        known = [*node.entries]  # the kind alone is looked at here
        kind = read_kind(Fields(node, where, report, known), "kind")
        if kind is None:
            return {}
        parameter = replace(parameter, match=kind)
    elif not node.entries:
        report.add(node.line, where, "the mapping is empty")
    return _checked(node, parameter, where, report, ("kind",))


def _checked(node: Mapping, parameter: Parameter, where: str, report: Report, beside: Sequence[str]) -> dict[str, Json]:
    kind = find_kind(kind_of(parameter, ""))
    if kind.custom:
        return _plain(node)
    before = len(report.mistakes)
    known = known_options(parameter)
    fields = Fields(node, where, report, (*beside, *known))
    checks = _CHECKS | {"approx": partial(_approx, _kind_of_figures(kind, parameter)), "unit": partial(_unit, kind)}
    for name, value in node.entries.items():
        if name in known and name in checks:
            checks[name](value, fields.at(name), report)
    return _plain(node) if len(report.mistakes) == before else {}


def _plain(node: Mapping) -> dict[str, Json]:
    return {name: plain(value) for name, value in node.entries.items()}


def known_options(parameter: Parameter) -> tuple[str, ...]:
    """The options that the parameter's matcher reads."""
    kind = find_kind(kind_of(parameter, ""))
    names = ["aliases"]
    if not kind.whole:
        names.append("set")  # how lists are compared
        names += ["fields"] if parameter.type in ("object", "array") else []
    figures = _kind_of_figures(kind, parameter)
    if figures.share or figures.tolerance:
        names.append("approx")
    names += [name for name in kind.options if name != "enum" or not parameter.enum]
    return tuple(names)


def _kind_of_figures(kind: Kind, parameter: Parameter) -> Kind:
    """Figures are compared as numbers even where the kind is one of words."""
    return KINDS["number"] if kind.words and parameter.type not in ("string", "boolean") else kind


def _aliases(node: Node, where: str, report: Report) -> None:
    """By expected value, `{Las Vegas: [Vegas]}`: a plain list would be right for every value."""
    if not isinstance(node, Mapping):
        report.add(node.line, where, f"expected a mapping such as {{Las Vegas: [Vegas]}}, got {describe(node)}")
        return
    for name, value in node.entries.items():
        as_texts(value, f"{where}.{name}", report)


def _names(node: Node, where: str, report: Report) -> None:
    """By the name people use, a code of ISO 4217 or a list of them."""
    if not isinstance(node, Mapping):
        report.add(node.line, where, f"expected a mapping such as {{dollars: USD}}, got {describe(node)}")
        return
    for name, value in node.entries.items():
        at = f"{where}.{name}"
        for item, place in [(value, at)] if isinstance(value, Scalar | Mapping) else as_items(value, at, report):
            code = as_text(item, place, report)
            if code is not None and code not in CODES:
                hint = did_you_mean(code, [code.upper()]) if code.upper() in CODES else ""
                report.add(item.line, place, f"{quoted(code)} is no currency code of ISO 4217 such as USD{hint}")


def _approx(kind: Kind, node: Node, where: str, report: Report) -> None:
    """A share (0.05 = 5 %), or text such as `2 days` where the kind has tolerances in units."""
    why = why_no_tolerance(kind, plain(node))
    if why and kind.tolerance:
        report.add(node.line, where, f"{why}, got {describe(node)}")
    elif not kind.tolerance:
        as_number(node, where, report, least=0, most=1)


def why_no_tolerance(kind: Kind, value: Json) -> str | None:
    """What a kind's `approx` must be, where a value is not that."""
    if isinstance(value, str):
        right = kind.tolerance is not None and kind.tolerance(value)
    else:
        right = kind.share and isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    if right:
        return None
    forms = ["a number from 0 to 1"] if kind.share else []
    forms += ["an amount with its unit, such as 2 days"] if kind.tolerance else []
    return f"expected {' or '.join(forms)}" if forms else "values of this kind have no tolerance"


def _unit(kind: Kind, node: Node, where: str, report: Report) -> None:
    """The unit of bare numbers."""
    text = as_text(node, where, report)
    lengths = kind is KINDS["duration"]
    if text is not None and not (text.removesuffix("s") in LENGTHS if lengths else units_named(text)):
        what = f"expected {listed(LENGTHS)}" if lengths else "expected a unit such as km"
        report.add(node.line, where, f"{what}, got {quoted(text)}")


def _country(node: Node, where: str, report: Report) -> None:
    text = str(plain(node))
    if not (text.isascii() and text.isdigit() and len(text) <= 3) or text[0] == "0":
        report.add(node.line, where, f"expected a country's calling code such as 44, got {describe(node)}")


def _fields(node: Node, where: str, report: Report) -> None:
    """By key of the object, its own rules: `{when: {kind: date}}`."""
    if not isinstance(node, Mapping):
        report.add(node.line, where, f"expected a mapping such as {{when: {{kind: date}}}}, got {describe(node)}")
        return
    for name, value in node.entries.items():
        read_rules(value, Parameter(name=name, type="object", match="text"), f"{where}.{name}", report)


_CHECKS: dict[str, Callable[[Node, str, Report], object]] = {
    "aliases": _aliases,
    "country": _country,
    "enum": as_texts,
    "fields": _fields,
    "names": _names,
    "set": as_flag,
}
