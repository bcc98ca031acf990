"""The language of gates: tokens, a parser of four forms, and what is wrong where; nothing is evaluated as code.

    METRIC OP NUMBER                              pass_at_1 >= 0.55, hard.f1 > 0.8, first_response_latency_s.p95 <= 2.5
    must_pass(ID, ...)                            must_pass(travel_19)
    no_regression(METRIC[, min_effect=NUMBER])    no_regression(pass_at_1, min_effect=0.05)

A metric may be that of a group: `self_correction.pass_at_1`, or `disfluency=none.f1` where several groups share a name.
OP is >=, <=, > or <, and == for counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_voicebench.gating.figures import FIGURES, STATISTICS, unit_of
from pytest_voicebench.loading.mistakes import nearest
from pytest_voicebench.regression.measures import UnknownMetric, measure

Operator = Literal[">=", "<=", ">", "<", "=="]

OPERATORS: tuple[Operator, ...] = (">=", "<=", ">", "<", "==")
FUNCTIONS = ("must_pass", "no_regression")


class GateError(ValueError):
    """An expression that is no gate; one line, `column` counts from 1."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(f"column {column}: {message}")
        self.column = column


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A figure of the summary against a number. `metric` names the figure, `group` is as it was written."""

    metric: str
    operator: Operator
    number: float
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MustPass:
    """Scenarios or items that must pass, by id."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRegression:
    """A metric that must not be worse than in the baseline; `min_effect` is the smallest loss that matters."""

    metric: str
    min_effect: float | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One gate as it was written, where, and what it asks."""

    expression: str
    source: str
    asks: Threshold | MustPass | NoRegression


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A piece of an expression. `kind` is word, number, operator, the character itself, or `end`."""

    kind: str
    text: str
    column: int


_TOKEN = re.compile(
    r"(?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![A-Za-z0-9_]))|(?P<word>[A-Za-z0-9_](?:[A-Za-z0-9_]|-(?=[A-Za-z0-9_]))*)"
    r"|(?P<operator>[<>=!~]=|=[<>]|[<>])|(?P<sign>[().,=])|(?P<space>\s+)|(?P<other>.)",
    re.DOTALL,
)


def parse_gate(expression: str, source: str = "") -> Gate:
    """The gate that an expression asks for. Raises GateError."""
    parser = _Parser(list(_tokens(expression)))
    return Gate(expression=" ".join(expression.split()), source=source, asks=parser.gate())


def _tokens(text: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(text):
        kind, column = str(match.lastgroup), match.start() + 1
        if kind == "other":
            raise GateError(_stray(match.group(), text[match.end() :]), column)
        if kind != "space":
            yield Token(kind=match.group() if kind == "sign" else kind, text=match.group(), column=column)
    yield Token(kind="end", text="the end", column=len(text) + 1)


def _stray(character: str, rest: str) -> str:
    if character == "%":
        return "write a share as a fraction: 0.55, not 55%"
    if character in "\"'":
        return "names and ids stand without quotes"
    if character in "&|" or rest.startswith(("and ", "or ")):
        return "one gate asks one thing: give a gate for each"
    return f"{character!r} has no meaning in a gate"


class _Parser:
    """Takes tokens from the left; each method reads one thing or raises GateError where it is not there."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens, self.at = tokens, 0

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self, kind: str, wanted: str) -> Token:
        token = self.next
        if token.kind != kind:
            hint = "; write 0.5, not .5" if kind == "number" and token.kind == "." else ""
            raise GateError(f"expected {wanted}, not {_shown(token)}{hint}", token.column)
        self.at += 1
        return token

    def gate(self) -> Threshold | MustPass | NoRegression:
        if self.next.kind == "end":
            raise GateError("an empty gate; write for example pass_at_1 >= 0.55", 1)
        after = self.tokens[self.at + 1].kind
        asks = self._function() if self.next.kind == "word" and after == "(" else self._threshold()
        if self.next.kind != "end":
            told = "one gate asks one thing: give a gate for each" if self.next.text in ("and", "or", ",") else ""
            raise GateError(told or f"nothing may follow here, but there is {_shown(self.next)}", self.next.column)
        return asks

    def _function(self) -> MustPass | NoRegression:
        name = self.take("word", "a name")
        if name.text not in FUNCTIONS:
            raise GateError(f"there is no {name.text}(){nearest(name.text, FUNCTIONS)}", name.column)
        self.take("(", '"("')
        asks = self._must_pass() if name.text == "must_pass" else self._no_regression()
        self.take(")", '")"')
        return asks

    def _must_pass(self) -> MustPass:
        ids = [self._id()]
        while self.next.kind == ",":
            self.at += 1
            ids.append(self._id())
        return MustPass(ids=tuple(ids))

    def _id(self) -> str:
        return self.take("word", "the id of a scenario or an item").text

    def _no_regression(self) -> NoRegression:
        group, metric, column = self._path()
        try:
            measure(metric)
        except UnknownMetric as error:
            raise GateError(str(error), column) from None
        if self.next.kind != ",":
            return NoRegression(metric=metric, group=group)
        self.at += 1
        word = self.take("word", "min_effect=NUMBER")
        if word.text != "min_effect":
            raise GateError(f"{word.text} is no setting{nearest(word.text, ['min_effect'])}", word.column)
        self.take("=", '"="')
        size = self._number()
        if size <= 0:
            raise GateError("min_effect is the size of a loss: above 0", self.tokens[self.at - 1].column)
        self._check_scale(metric, size, self.tokens[self.at - 1].column)
        return NoRegression(metric=metric, group=group, min_effect=size)

    def _threshold(self) -> Threshold:
        group, metric, column = self._path()
        unit = _known(metric, column)
        sign = self.next
        if sign.text not in OPERATORS:
            raise GateError(_no_operator(sign), sign.column)
        self.at += 1
        operator = next(o for o in OPERATORS if o == sign.text)
        if operator == "==" and unit != "count":
            raise GateError("== is for counts; ask for >= or <=", sign.column)
        number = self._number()
        self._check_scale(metric, number, self.tokens[self.at - 1].column)
        return Threshold(metric=metric, group=group, operator=operator, number=number)

    def _check_scale(self, metric: str, number: float, column: int) -> None:
        if unit_of(metric) == "share" and not 0 <= number <= 1:
            hint = f"; did you mean {number / 100:g}?" if 1 < number <= 100 else ""
            raise GateError(f"{metric} lies between 0 and 1, not at {number:g}{hint}", column)

        if unit_of(metric) == "count" and (number < 0 or number != int(number)):
            raise GateError(f"{metric} is a whole number of items, not {number:g}", column)

    def _number(self) -> float:
        found = self.take("number", "a number")
        number = float(found.text)
        if not math.isfinite(number):
            raise GateError(f"{found.text} is larger than any figure", found.column)
        return number

    def _path(self) -> tuple[str | None, str, int]:
        """A group, where there is one, the metric with its statistic, and the metric's column."""
        words = [self._part()]
        while self.next.kind == ".":
            self.at += 1
            words.append(self._part())
        statistic = words.pop().text if len(words) > 1 and words[-1].text in STATISTICS else None
        metric = words.pop()
        if len(words) > 1:
            raise GateError("a metric has at most one group: GROUP.METRIC", words[0].column)
        if "=" in metric.text:
            raise GateError(f"{metric.text} is a group; of which metric? {metric.text}.pass_at_1", metric.column)
        name = f"{metric.text}.{statistic}" if statistic else metric.text
        return (words[0].text if words else None), name, metric.column

    def _part(self) -> Token:
        """A name, or `kind=group`."""
        if self.next.kind == "number" and "." not in self.next.text and not self.next.text.startswith("-"):
            self.at += 1  # a group may be called 2
            return self.tokens[self.at - 1]
        word = self.take("word", "the name of a metric")
        if self.next.kind != "=":
            return word
        self.at += 1
        group = self.next
        if group.kind not in ("word", "number"):
            raise GateError(f"expected the name of a group, not {_shown(group)}", group.column)
        if self.tokens[self.at + 1].kind != ".":  # pass_at_1 = 0.5
            raise GateError(_no_operator(self.tokens[self.at - 1]), self.tokens[self.at - 1].column)
        self.at += 1
        return Token(kind="word", text=f"{word.text}={group.text}", column=word.column)


def _known(metric: str, column: int) -> str:
    """The unit of a figure. Raises GateError."""
    unit = unit_of(metric)
    if unit is not None:
        return unit
    base = metric.partition(".")[0]
    if unit_of(f"{base}.mean") is not None:
        raise GateError(f"{base} has several figures: {', '.join(f'{base}.{s}' for s in STATISTICS)}", column)
    if unit_of(base) is not None:
        raise GateError(f"{base} has no .{metric.partition('.')[2]}: it is one figure", column)
    if metric in FUNCTIONS:
        raise GateError(f"{metric} takes what it is about in brackets: {metric}(...)", column)
    if re.fullmatch(r"p\d+|median|avg|max|min", metric):
        raise GateError(f"there is no figure .{metric}; there are {', '.join(f'.{s}' for s in STATISTICS)}", column)
    raise GateError(f"there is no metric {metric}{nearest(metric, [*FIGURES, *FUNCTIONS])}", column)


def _no_operator(token: Token) -> str:
    swapped = {"=>": ">=", "=<": "<=", "=": "==", "!=": "", "~=": ""}.get(token.text)
    if swapped is None:
        return f"expected one of {' '.join(OPERATORS)}, not {_shown(token)}"
    hint = "; did you mean >= or <=?" if swapped in ("", "==") else f'; did you mean "{swapped}"?'
    return f"{token.text} is no comparison here{hint}"


def _shown(token: Token) -> str:
    return token.text if token.kind == "end" else f'"{token.text}"'
