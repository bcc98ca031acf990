"""Text that nothing may keep: data as it is written, with what the patterns match replaced by `[redacted]`.

A pattern is searched in each text by itself, in JSON that a text holds, in numbers of tool calls as they are written,
and in what comes in pieces (words with their times, texts of one voice, events of a provider) as one text. Names that
runs are found by stay: ids, hashes, folders, suites, agents.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

from pytest_voicebench.conversation import AgentInfo, Conversation, Transcribed, Word
from pytest_voicebench.event_streams import Piece, streams
from pytest_voicebench.judgement import Judgement
from pytest_voicebench.pattern_search import spans, touched
from pytest_voicebench.result import Result
from pytest_voicebench.scenario import Scenario

Json = Any
T = TypeVar("T")

MARK = "[redacted]"

PROBE_S = 3.0
"""A good pattern takes a thousandth of this for the texts it is tried on; starting Python takes the most of it."""

_KEPT = {
    "id", "nodeid", "scenario_id", "folder", "suite", "kind", "domain", "difficulty", "disfluency", "tags", "speaker",
    "taken_from", "attempts", "header", "sha256", "scenario_sha256", "expect_sha256", "state_sha256_before",
    "state_sha256_after",
}  # fmt: skip
_KEPT_OF: Mapping[type, set[str]] = {
    AgentInfo: {"name", "model", "transport"},
    Conversation: {"item_id", "recording", "wire_events"},
    Judgement: {"item_id", "judge", "judged_at", "output_format"},
    Result: {"item_id"},
    Scenario: {"item_id", "steps", "generator"},
}

_PROBE = """
import re, sys
pattern = re.compile(sys.argv[1])
for character in sorted({*sys.argv[1], *"aA0 -.@_"}):
    for end in ("", "\\0"):
        pattern.search(character * 200 + end)
"""


_REASONS = (
    "missing )", "unbalanced parenthesis", "unterminated character set", "nothing to repeat", "multiple repeat",
    "min repeat greater than max repeat", "bad escape", "incomplete escape", "bad character range", "unknown extension",
    "bad character in group name", "missing group name", "unknown group name", "redefinition of group name",
    "invalid group reference", "look-behind requires fixed-width pattern", "global flags not at the start",
    "unexpected end of pattern", "the repetition number is too large",
)  # fmt: skip
"""How messages of `re` begin; what follows may repeat the pattern."""


class PatternRefused(Exception):  # noqa: N818 - says what is the case, for a person
    """A pattern that cannot be used: which of them, from 1, and why. It is not repeated: it may be the very secret."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(reason)
        self.number = number


@dataclass(frozen=True, slots=True, kw_only=True)
class Redactor:
    """Patterns, and what they leave of texts and data: `mark` in place of a match."""

    patterns: tuple[re.Pattern[str], ...]
    mark: str = MARK

    def text(self, text: str) -> str:
        """The text with each match replaced; what JSON and Python escape in it is searched as it reads.

        JSON is searched as data, numbers too. What was replaced before is not searched again.
        """
        text = self._inner_json(text) if text[:1] in ("{", "[") else text
        return self.mark.join(map(self._part, text.split(self.mark)))

    def _part(self, text: str) -> str:
        kept: list[str] = []
        end = 0
        for start, stop in spans(self.patterns, text):
            kept, end = [*kept, text[end:start], self.mark], stop
        return "".join([*kept, text[end:]])

    def _inner_json(self, text: str) -> str:
        try:
            found = json.loads(text)
            kept = self.json(found)
        except (ValueError, RecursionError):
            return text
        return text if kept == found else json.dumps(kept, ensure_ascii=False)

    def json(self, value: Json) -> Json:
        """JSON with its texts, keys, and numbers as they are written searched; equal to `value` without a match."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(key): self.json(entry) for key, entry in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self._entries(value))
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value if self.text(repr(value)) == repr(value) else self.mark
        return value

    def _entries(self, values: Sequence[Json]) -> list[Json]:
        """Entries of a list, those in a row too that are texts or numbers: a number may be given digit by digit."""
        row = touched(self.patterns, ["" if isinstance(v, Mapping | list | tuple) else str(v) for v in values])
        return [self.mark if at in row else self.json(value) for at, value in enumerate(values)]

    def data(self, value: T) -> T:
        """A dataclass with its texts searched, and its JSON; the same object where nothing matched."""
        cls: Any = type(value)
        searched = _searched(cls) if is_dataclass(value) else ()
        new = {name: find(self, old) for name, find in searched if (old := getattr(value, name))}
        new = {name: kept for name, kept in new.items() if kept is not getattr(value, name)}
        return replace(value, **new) if new else value  # type: ignore[type-var]

    def scenario(self, scenario: Scenario) -> Scenario:
        """The scenario as people may be shown it."""
        steps = tuple(replace(step, text=self.text(step.text)) for step in scenario.steps)
        return replace(self.data(scenario), steps=steps)

    def conversation(self, held: Conversation) -> Conversation:
        """The conversation as it may be saved; `withheld` says so where scores could rest on what was replaced."""
        kept = self.data(held)
        kept = replace(kept, transcripts=self._transcripts(kept.transcripts), wire_events=self.events(held.wire_events))
        judged = ("utterances", "calls", "transcripts", "state", "reported")
        if "text" not in kept.withheld and any(getattr(kept, name) != getattr(held, name) for name in judged):
            kept = replace(kept, withheld=(*kept.withheld, "text"))
        return kept

    def _transcripts(self, given: tuple[Transcribed, ...]) -> tuple[Transcribed, ...]:
        """What one voice said in several texts is searched as one."""
        kept = list(given)
        for speaker in ("user", "agent"):
            own = [at for at, text in enumerate(kept) if text.speaker == speaker]
            for at, text in zip(own, self.pieces([kept[at].text for at in own]), strict=True):
                kept[at] = replace(kept[at], text=text)
            for at, text in zip(own, self.pieces([kept[at].heard_text or "" for at in own]), strict=True):
                kept[at] = kept[at] if kept[at].heard_text is None else replace(kept[at], heard_text=text)
        return tuple(kept)

    def pieces(self, texts: Sequence[str]) -> list[str]:
        """The texts, each searched, and those replaced whole that a match runs through when they stand in a row."""
        row = touched(self.patterns, texts)
        return [self.mark if at in row and text else self.text(text) for at, text in enumerate(texts)]

    def events(self, lines: Sequence[str]) -> tuple[str, ...]:
        """Lines of events.jsonl; a text that a provider sent bit by bit is searched as one text, too."""
        rows: list[dict[str, Json]] = [json.loads(line) for line in lines]
        for stream in streams(rows):
            for at in self._touched(stream):  # at once: in the streams to come it parts what it stands between
                stream[at].hide(self.mark)
        for row in rows:
            row["event"] = self.json(row.get("event"))
        return tuple(
            line if row == json.loads(line) else json.dumps(row, ensure_ascii=True, separators=(",", ":"))
            for line, row in zip(lines, rows, strict=True)
        )

    def _touched(self, stream: Sequence[Piece]) -> set[int]:
        return touched(self.patterns, [piece.text for piece in stream], [piece.times for piece in stream])


def redactor_of(patterns: Sequence[str]) -> Redactor:
    """What searches for these regular expressions (Python's `re`). Raises PatternRefused."""
    found = []
    for number, text in enumerate(patterns, start=1):
        if not text:
            raise PatternRefused(number, "is empty and would match nothing")
        try:
            found.append(re.compile(text))
        except (re.error, OverflowError, RecursionError) as error:
            raise PatternRefused(number, f"is no regular expression: {_without_pattern(error)}") from None
    return Redactor(patterns=tuple(found))


def _without_pattern(error: Exception) -> str:
    """What is wrong, and where: of a message of `re` only what holds nothing of the pattern."""
    told = next((reason for reason in _REASONS if str(error).startswith(reason)), "it cannot be read")
    at = getattr(error, "pos", None)
    return told if at is None else f"{told}, at character {at + 1}"


def check_speed(redactor: Redactor) -> None:
    """Try each pattern on texts of 200 equal characters, in a process that can be stopped. Raises PatternRefused.

    Patterns whose time doubles with every character, such as `(a+)+$`, would hold a run up for ever.
    """
    for number, pattern in enumerate(redactor.patterns, start=1):
        try:
            subprocess.run([sys.executable, "-I", "-c", _PROBE, pattern.pattern], timeout=PROBE_S, check=False)
        except subprocess.TimeoutExpired:
            raise PatternRefused(
                number, f"takes more than {PROBE_S:g} s on 200 characters: it repeats a repeat; write it without"
            ) from None


@cache
def _searched(cls: Any) -> tuple[tuple[str, Callable[[Redactor, Any], Any]], ...]:
    """The fields of a class that can hold text, and how each is searched."""
    hints = get_type_hints(cls)
    kept = _KEPT | _KEPT_OF.get(cls, set())
    found: list[tuple[str, Callable[[Redactor, Any], Any]]] = []
    for field in fields(cls):
        if field.name in kept:
            continue
        leaves = set(_leaf_types(hints[field.name]))
        if Any in leaves:
            found.append((field.name, _search_json))
        elif str in leaves or any(is_dataclass(leaf) for leaf in leaves):
            found.append((field.name, _search_typed))
    return tuple(found)


def _leaf_types(hint: Any) -> Iterator[Any]:
    """What a type is made of; of a Literal nothing, its values are the code's own."""
    arguments = get_args(hint)
    if not arguments:
        yield hint
    for argument in arguments:
        if isinstance(argument, type) or argument is Any or get_args(argument):
            yield from _leaf_types(argument)


def _search_json(redactor: Redactor, value: Json) -> Json:
    kept = redactor.json(value)
    return value if kept == value else kept


def _search_typed(redactor: Redactor, value: Any) -> Any:
    """Texts and data classes, in tuples and as values of mappings."""
    if isinstance(value, str):
        kept: Any = redactor.text(value)
    elif isinstance(value, tuple):
        kept = _search_words(redactor, tuple(_search_typed(redactor, entry) for entry in value))
    elif isinstance(value, Mapping):
        kept = {key: _search_typed(redactor, entry) for key, entry in value.items()}
    else:
        return redactor.data(value)
    return value if kept == value else kept


def _search_words(redactor: Redactor, entries: tuple[Any, ...]) -> tuple[Any, ...]:
    """Words with their times are searched in a row: a number is often several."""
    if entries and all(isinstance(entry, Word) for entry in entries):
        texts = redactor.pieces([entry.text for entry in entries])
        return tuple(replace(entry, text=text) for entry, text in zip(entries, texts, strict=True))
    if entries and all(isinstance(entry, tuple) and entry and isinstance(entry[0], str) for entry in entries):
        texts = redactor.pieces([entry[0] for entry in entries])
        return tuple((text, *entry[1:]) for entry, text in zip(entries, texts, strict=True))
    return entries
