"""A parameter's `options`: only what its matcher reads, in the form in which it reads it."""

from __future__ import annotations

from collections.abc import Callable

from pytest_voicebench.loading.document import Json, Listing, Mapping, Node, Scalar, plain
from pytest_voicebench.loading.fields import Fields, as_flag, as_items, as_number, as_text, as_texts, describe
from pytest_voicebench.loading.mistakes import Report, did_you_mean, quoted
from pytest_voicebench.matchers import kind_of
from pytest_voicebench.matchers.currency import CODES
from pytest_voicebench.tools import Parameter


def read_options(node: Node | None, parameter: Parameter, where: str, report: Report) -> dict[str, Json]:
    """The options of a parameter; empty where there are none, or where they hold a mistake."""
    if node is None:
        return {}
    if not isinstance(node, Mapping):
        report.add(node.line, where, f"expected a mapping, got {describe(node)}")
        return {}
    before = len(report.mistakes)
    fields = Fields(node, where, report, known_options(parameter))
    for name, value in node.entries.items():
        if name in _CHECKS:
            _CHECKS[name](value, fields.at(name), report)
    return plain(node) if len(report.mistakes) == before else {}


def known_options(parameter: Parameter) -> tuple[str, ...]:
    """The options that the parameter's matcher reads."""
    kind = kind_of(parameter, "")
    names = ["aliases"]
    if kind != "exact":
        names.append("set")  # how lists are compared
    # Figures are compared as numbers even where the kind is one of words.
    if kind in ("number", "money") or (
        kind in ("text", "place", "enum") and parameter.type not in ("string", "boolean")
    ):
        names.append("approx")
    if kind == "currency":
        names.append("names")
    if kind == "enum" and not parameter.enum:
        names.append("enum")
    return tuple(names)


def _aliases(node: Node, where: str, report: Report) -> None:
    """By expected value, `{Las Vegas: [Vegas]}`, or one list for whatever is expected."""
    if isinstance(node, Scalar):
        report.add(node.line, where, f"expected a mapping such as {{Las Vegas: [Vegas]}}, got {describe(node)}")
    elif isinstance(node, Listing):
        as_texts(node, where, report)
    else:
        for name, value in node.entries.items():
            as_texts(value, f"{where}.{name}", report)


def _names(node: Node, where: str, report: Report) -> None:
    """By the name people use, a code of ISO 4217 or a list of them."""
    if not isinstance(node, Mapping):
        report.add(node.line, where, f"expected a mapping such as {{dollars: USD}}, got {describe(node)}")
        return
    for name, value in node.entries.items():
        at = f"{where}.{name}"
        for item, place in as_items(value, at, report) if isinstance(value, Listing) else [(value, at)]:
            code = as_text(item, place, report)
            if code is not None and code not in CODES:
                hint = did_you_mean(code, [code.upper()]) if code.upper() in CODES else ""
                report.add(item.line, place, f"{quoted(code)} is no currency code of ISO 4217 such as USD{hint}")


def _approx(node: Node, where: str, report: Report) -> None:
    as_number(node, where, report, least=0, most=1)


_CHECKS: dict[str, Callable[[Node, str, Report], object]] = {
    "aliases": _aliases,
    "approx": _approx,
    "enum": as_texts,
    "names": _names,
    "set": as_flag,
}
