"""Reads the keys of a mapping with a closed list of names, and says in plain words what does not fit."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Sequence

from pytest_voicebench.loading.document import Listing, Mapping, Node, Scalar
from pytest_voicebench.loading.mistakes import Report, did_you_mean, listed, nearest, quoted

NAME = re.compile(r"[a-z][a-z0-9_]*")
MAX_NAME = 80

RESERVED = frozenset(keyword.kwlist) | {
    *("skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings", "tryfirst", "trylast"),
    *("asyncio", "anyio", "flaky", "timeout", "xdist_group", "scenario", "conversation", "agent", "voicebench"),
    *("none", "true", "false"),
}
"""Names that Python, pytest's -k and -m, or a well-known marker use for something else."""


def describe(node: Node) -> str:
    """What stands there, for a message."""
    if isinstance(node, Mapping):
        return "a mapping"
    if isinstance(node, Listing):
        return "a list"
    if node.value is None:
        return "nothing"
    if isinstance(node.value, bool):
        return node.raw
    return f"text {quoted(node.raw)}" if isinstance(node.value, str) else f"the number {node.raw}"


def as_text(node: Node, where: str, report: Report) -> str | None:
    """The node's text; a mistake where it is empty or of another type, with advice to quote."""
    if isinstance(node, Scalar):
        if isinstance(node.value, str):
            if node.value.strip():
                return node.value
            report.add(node.line, where, "the text is empty")
            return None
        if node.value is None:
            report.add(node.line, where, 'expected text, got nothing; text that starts with # must be quoted: "#..."')
            return None
        report.add(node.line, where, f'expected text, got {describe(node)}; quote it: "{node.raw}"')
        return None
    report.add(node.line, where, f"expected text, got {describe(node)}")
    return None


def as_number(node: Node, where: str, report: Report, *, least: float, most: float) -> float | None:
    """The node's number within bounds, both inclusive."""
    if not isinstance(node, Scalar) or isinstance(node.value, bool) or not isinstance(node.value, int | float):
        report.add(node.line, where, f"expected a number, got {describe(node)}")
        return None
    if not least <= node.value <= most:
        report.add(node.line, where, f"expected a number from {least:g} to {most:g}, got {node.raw}")
        return None
    return float(node.value)


def as_whole(node: Node, where: str, report: Report, *, least: int, most: int) -> int | None:
    """The node's whole number within bounds, both inclusive."""
    if not isinstance(node, Scalar) or isinstance(node.value, bool) or not isinstance(node.value, int):
        report.add(node.line, where, f"expected a whole number, got {describe(node)}")
        return None
    if not least <= node.value <= most:
        report.add(node.line, where, f"expected a whole number from {least} to {most}, got {node.raw}")
        return None
    return node.value


def as_flag(node: Node, where: str, report: Report) -> bool:
    """True or false; false where it is neither."""
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        return node.value
    report.add(node.line, where, f"expected true or false, got {describe(node)}")
    return False


def as_choice(node: Node, where: str, report: Report, allowed: Sequence[str]) -> str | None:
    """One of the allowed words."""
    text = as_text(node, where, report)
    if text is None or text in allowed:
        return text
    report.add(node.line, where, f"expected {listed(allowed)}, got {quoted(text)}{nearest(text, allowed)}")
    return None


def as_name(node: Node, where: str, report: Report, *, digit_first: bool = False) -> str | None:
    """A name that can stand in a test id and after pytest's -k and -m: `[a-z][a-z0-9_]*`, and no reserved word.

    `digit_first`: it may begin with a digit, as speakers' ids do in the official release. Such a name is no marker.
    """
    text = as_text(node, where, report)
    if text is None:
        return None
    if not NAME.fullmatch(f"s{text}" if digit_first and text[:1].isdigit() else text) or len(text) > MAX_NAME:
        rule = f"small letters, digits and _, a letter first, at most {MAX_NAME}"
        report.add(node.line, where, f"{quoted(text)} is not a name: {rule}{_suggestion(text)}")
        return None
    if text in RESERVED:
        report.add(node.line, where, f"{quoted(text)} is a word that Python or pytest uses; choose another name")
        return None
    return text


def _suggestion(text: str) -> str:
    near = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return f'; did you mean "{near}"?' if NAME.fullmatch(near) and len(near) <= MAX_NAME else ""


def as_items(node: Node, where: str, report: Report, *, empty: bool = False) -> list[tuple[Node, str]]:
    """The items of a list, each with where it stands; a mistake where it is no list, or empty and must not be."""
    if not isinstance(node, Listing):
        report.add(node.line, where, f"expected a list, got {describe(node)}")
        return []
    if not node.items and not empty:
        report.add(node.line, where, "the list is empty")
    return [(item, f"{where}[{index}]") for index, item in enumerate(node.items)]


def as_texts(node: Node, where: str, report: Report) -> tuple[str, ...]:
    """A list of texts that are not repeated."""
    return _distinct([(item, as_text(item, at, report), at) for item, at in as_items(node, where, report)], report)


def as_names(node: Node, where: str, report: Report, *, digit_first: bool = False) -> tuple[str, ...]:
    """A list of names that are not repeated."""
    items = as_items(node, where, report)
    return _distinct([(item, as_name(item, at, report, digit_first=digit_first), at) for item, at in items], report)


def _distinct(found: list[tuple[Node, str | None, str]], report: Report) -> tuple[str, ...]:
    seen: dict[str, None] = {}
    for node, text, where in found:
        if text in seen:
            report.add(node.line, where, f"{quoted(text)} stands twice")
        elif text is not None:
            seen[text] = None
    return tuple(seen)


class Fields:
    """The keys of one mapping. Unknown and missing keys are reported at once; each reader reports a wrong type."""

    __slots__ = ("entries", "line", "lines", "report", "where")

    def __init__(
        self, node: Mapping, where: str, report: Report, known: Collection[str], required: Sequence[str] = ()
    ) -> None:
        self.entries, self.lines, self.line = node.entries, node.lines, node.line
        self.where, self.report = where, report
        for name in self.entries:
            if name not in known:
                report.add(self.lines[name], where, f"unknown key {quoted(name)}{self._hint(name, known)}")
        for name in required:
            if name not in self.entries:
                report.add(self.line, where, f"the key {quoted(name)} is missing")

    def _hint(self, name: str, known: Collection[str]) -> str:
        """Where the key belongs, or what was meant by it."""
        from pytest_voicebench.loading.levels import elsewhere  # which reads the keys of modules that need this one

        absent = [k for k in known if k not in self.entries]
        return elsewhere(name, known) or nearest(name, absent) or did_you_mean(name, known)

    def at(self, name: str) -> str:
        """Where the key's value stands, for messages."""
        return f"{self.where}.{name}" if self.where else name

    def get(self, name: str) -> Node | None:
        """The key's value, or None."""
        return self.entries.get(name)

    def text(self, name: str) -> str | None:
        """The key's text, or None."""
        node = self.entries.get(name)
        return None if node is None else as_text(node, self.at(name), self.report)

    def name(self, name: str) -> str | None:
        """The key's value as a name, or None."""
        node = self.entries.get(name)
        return None if node is None else as_name(node, self.at(name), self.report)

    def names(self, name: str, *, digit_first: bool = False) -> tuple[str, ...]:
        """The key's list of names; empty where the key is absent."""
        node = self.entries.get(name)
        return () if node is None else as_names(node, self.at(name), self.report, digit_first=digit_first)

    def texts(self, name: str) -> tuple[str, ...]:
        """The key's list of texts; empty where the key is absent."""
        node = self.entries.get(name)
        return () if node is None else as_texts(node, self.at(name), self.report)

    def number(self, name: str, *, least: float, most: float) -> float | None:
        """The key's number, or None."""
        node = self.entries.get(name)
        return None if node is None else as_number(node, self.at(name), self.report, least=least, most=most)

    def flag(self, name: str) -> bool:
        """True where the key is there and true."""
        node = self.entries.get(name)
        return False if node is None else as_flag(node, self.at(name), self.report)

    def choice(self, name: str, allowed: Sequence[str]) -> str | None:
        """The key's word out of the allowed ones, or None."""
        node = self.entries.get(name)
        return None if node is None else as_choice(node, self.at(name), self.report, allowed)

    def items(self, name: str, *, empty: bool = False) -> list[tuple[Node, str]]:
        """The items of the key's list, each with where it stands; none where the key is absent."""
        node = self.entries.get(name)
        return [] if node is None else as_items(node, self.at(name), self.report, empty=empty)
