"""What the official release says of a scenario, brought to the words of our own scenarios."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_voicebench.importers.call_shapes import read_call
from pytest_voicebench.loading.fields import NAME, RESERVED
from pytest_voicebench.loading.scenarios import DIFFICULTIES, DISFLUENCIES

OUR_KEY = "voicebench"
"""What our own export adds to the files of the official layout; the official scripts read past it."""

UNKNOWN_TEXT = "..."
"""What stands for a request whose words nobody wrote down: it holds no word."""

_ANNOTATION = re.compile(r"\[[^\[\]]*\]|<[^<>]*>|\([^()]*\)|\*[^*]*\*|\{[^{}]*\}")
_TOOL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")

Json = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The labels of one scenario; `calls` are (tool, arguments) as written there. `said` is "" where it is unknown.

    `folder` is how the names of its folders begin: the scenario's id in the release.
    """

    id: str
    folder: str
    title: str
    said: str
    calls: tuple[tuple[str, Mapping[str, Json]], ...]
    domain: str | None = None
    difficulty: str | None = None
    disfluency: tuple[str, ...] = ()
    state_rollback: bool = False
    latency_profile: str | None = None
    is_synthetic: bool = False  # our own export says so of runs whose user was no person
    known_issue: str | None = None
    is_judged: bool = False  # our own export says whether its labels look wrong; `known_issue` is the answer
    unusable: str | None = None  # why its expected calls cannot be read


def read_labels(scenario_id: str, data: Mapping[str, Json], remarks: list[str]) -> Labels:
    """The labels in a scenario's metadata; what cannot be used is left out, with a remark."""
    calls, unusable = _calls(data.get("expected_tool_calls"))
    if unusable:
        remarks.append(f"{scenario_id}: {unusable}")
    difficulty = _word(data.get("difficulty"))
    if difficulty not in DIFFICULTIES:
        difficulty = None
        _leave_out(scenario_id, "difficulty", data.get("difficulty"), remarks)
    title = data.get("title")
    return Labels(
        id=scenario_id,
        folder=scenario_id,
        title=" ".join(title.split()) if isinstance(title, str) and title.strip() else scenario_id,
        said=_said(data.get("dialogue")),
        calls=calls,
        domain=_name(scenario_id, "domain", data.get("domain"), remarks),
        difficulty=difficulty,
        disfluency=_disfluency(scenario_id, data.get("disfluency_features"), remarks),
        state_rollback=data.get("state_rollback_test") is True,
        latency_profile=_name(scenario_id, "latency_profile", data.get("latency_profile"), remarks),
        known_issue=_line(ours_of(data).get("known_issue")),
        is_judged="known_issue" in ours_of(data),
        is_synthetic=ours_of(data).get("stimulus") == "synthetic",
        unusable=unusable,
    )


def ours_of(data: Mapping[str, Json]) -> Mapping[str, Json]:
    """What our own export added to a file; nothing in a file that somebody else wrote."""
    ours = data.get(OUR_KEY)
    return ours if isinstance(ours, dict) else {}


def _calls(value: Json) -> tuple[tuple[tuple[str, Mapping[str, Json]], ...], str | None]:
    """The expected calls, or why there are none to be read."""
    if not isinstance(value, list):
        return (), "expected_tool_calls is not a list"
    found = []
    for index, call in enumerate(value):
        shaped = read_call(call)
        if shaped is None or shaped.arguments is None or not _TOOL.fullmatch(shaped.name):
            return (), f"expected_tool_calls[{index}] is no {{function, args}}"
        found.append((shaped.name, shaped.arguments))
    return tuple(found), None


def _said(dialogue: Json) -> str:
    """The user's first line without the marks that tell an actor how to speak it."""
    first = dialogue[0] if isinstance(dialogue, list) and dialogue else None
    text = first.get("user") if isinstance(first, dict) else None
    if not isinstance(text, str):
        return ""
    return known_words(" ".join(_ANNOTATION.sub(" ", text).split()))


def known_words(text: str) -> str:
    """The text where it holds a word; "" for what only stands in for unknown words, like `UNKNOWN_TEXT`."""
    return text if any(character.isalnum() for character in text) else ""


def _disfluency(scenario_id: str, value: Json, remarks: list[str]) -> tuple[str, ...]:
    words = [w for w in value if value[w] is True] if isinstance(value, dict) else value or []
    if not isinstance(words, Sequence) or isinstance(words, str):
        words = [words]
    found = []
    for word in words:
        name = _word(word)
        if name in DISFLUENCIES:
            found.append(name)
        else:
            _leave_out(scenario_id, "disfluency_features", word, remarks)
    return tuple(dict.fromkeys(found))


def _line(value: Json) -> str | None:
    return " ".join(value.split()) or None if isinstance(value, str) else None


def _name(scenario_id: str, key: str, value: Json, remarks: list[str]) -> str | None:
    name = _word(value)
    if name is None or NAME.fullmatch(name) is None or name in RESERVED:
        _leave_out(scenario_id, key, value, remarks)
        return None
    return name


def _word(value: Json) -> str | None:
    return re.sub(r"[^a-z0-9]+", "_", value.lower()).strip("_") if isinstance(value, str) else None


def _leave_out(scenario_id: str, key: str, value: Json, remarks: list[str]) -> None:
    if value not in (None, ""):
        remarks.append(f"{scenario_id}: {key}: {str(value)[:60]!r} is not known here; left out")
