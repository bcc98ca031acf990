"""What the page knows of an item, as frozen data that becomes JSON: times in seconds on the conversation's timeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Json = Any

Stretch = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Words with their places. `text` parts them by spaces; `places` holds, for each in turn, the hundredths of a
    second since the end of the one before it (since 0 for the first) and its length."""

    text: str
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """One thing the user said; `speech` has the pauses between its stretches."""

    kind: str
    text: str
    start: float
    end: float
    speech: tuple[Stretch, ...]
    words: Words | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """What the agent heard (`user`) or said (`agent`); `heard` is the part that was played, None where all was.

    `verbatim` stands for a text that is word for word what the user said.
    """

    speaker: str
    at: float
    source: str
    text: str
    verbatim: bool
    heard: str | None
    words: Words | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call as made. `role`: ok, wrong, surplus or cancelled; `pair` is the expected call it was counted for.

    `until` is when the agent had its result, None where it never did. `untimed`: `at` is no measurement.
    """

    name: str
    at: float
    until: float | None
    status: str
    role: str
    pair: int | None
    arguments: str
    result: str | None
    reason: str | None
    premature: bool
    untimed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An expected argument and what was given, both as JSON text: `actual` is empty where the two are the same text.

    `wrong` is mismatch or cannot_tell, with `cause` and `reason`; empty for a match.
    """

    name: str
    expected: str
    actual: str
    wrong: str
    cause: str | None
    reason: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """An expected call; `call` is the index of the call that was counted for it, None where none was made."""

    tool: str
    call: int | None
    matches: bool
    arguments: tuple[Argument, ...]
    extra: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A moment worth seeing. `kind`: user_end, retraction, interruption, backchannel, filler, clear."""

    kind: str
    at: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a saved conversation shows. An outline covers `sound` seconds, and is empty where there is no sound."""

    duration: float
    sound: float
    user_outline: str
    agent_outline: str
    utterances: tuple[Utterance, ...]
    agent_speech: tuple[Stretch, ...]
    texts: tuple[Text, ...]
    calls: tuple[ToolCall, ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The line of an item in the benchmark's tables 7 and 8; None where unmeasured. Latencies after the user's end."""

    f1: float | None
    arguments: float | None
    response: float | None
    first_response: float | None
    tool_call: float | None
    completion: float | None
    wrong: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One row of the page and all that opens below it.

    `group` is equal for the same request to several agents and in several trials. `missing` says, one line each, which
    evidence cannot be shown. `audio`, `events` and `folder` are addresses for a browser, None where there is no such
    file, and no saved conversation in the folder; `events_text` is the log itself, line by line, where it was put into
    the page. `checks` are names, whether they were met, and whether Pass depends on it; `facts` are names with their
    values. `trial` counts from 1; None in a run without trials.
    """

    id: str
    group: str
    title: str
    outcome: str
    agent: int
    why: str
    line: Line
    evidence: Evidence | None
    audio: str | None
    expected: tuple[Expected, ...]
    checks: tuple[tuple[str, bool | None, bool], ...]
    facts: tuple[tuple[str, str], ...]
    retractions: tuple[str, ...]
    missing: tuple[str, ...]
    events: str | None
    folder: str | None
    events_text: tuple[str, ...]
    trial: int | None
