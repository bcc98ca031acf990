"""Labels that look wrong: what the tools do not take, what cannot be resolved, what nobody says. One reason each."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_voicebench.importers.labels import Labels
from pytest_voicebench.importers.suite_text import Entry, probe_text
from pytest_voicebench.loading import Mistake, SuiteError, load_suite
from pytest_voicebench.metrics.mentions import is_mentioned, tokens
from pytest_voicebench.references import referred_calls
from pytest_voicebench.rehearsal import rehearse
from pytest_voicebench.tools import Parameter, Toolset

Json = Any

_PROBE = "probe.yaml"
_MOST_AT_ONCE = 40  # scenarios a probe: a loader stops at 500 mistakes
_OTHER_NUMBERS = re.compile(r"\b(couple|pair|both|twice|double|triple|dozen|half|quarter|single|studio|few)\b")
_SPELLED_OTHERWISE = re.compile(r"\b(double|triple|as in|like|capital|alpha|bravo|charlie|delta|echo|foxtrot|tango)\b")
_JOINTS = frozenset({"dash", "hyphen", "minus", "slash", "dot", "point", "underscore"})
_LETTER_O = {"oh": "0", "o": "0", "zero": "0"}


def with_known_issues(entries: Sequence[Entry], suite_files: Mapping[str, str]) -> list[Entry]:
    """The entries, each whose labels look wrong with a known issue. `suite_files` are the suite's tools and mocks.

    Judged by the loader and by playing the expected calls on the mock tools, as `validate` would; then by whether the
    request says the identifiers, numbers and places that are expected. That last is judged with care: a value that
    could have been said in other words is let be. What our own export says of its scenario stands.
    """
    found: list[Entry] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in suite_files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        for at in range(0, len(entries), _MOST_AT_ONCE):
            found += _judged(list(entries[at : at + _MOST_AT_ONCE]), Path(folder, _PROBE))
    return found


def _judged(entries: list[Entry], path: Path) -> list[Entry]:
    entries = [replace(entry, known_issue=entry.labels.known_issue) for entry in entries]
    refused = _refusals(entries, path)
    entries = [_with_issue(entry, refused) for entry in entries]
    path.write_text(probe_text(entries), encoding="utf-8")
    suite = load_suite(path)
    entries = [_with_issue(entry, _by_scenario(rehearse(suite))) for entry in entries]
    tools = suite.info.tools
    return [
        entry
        if entry.known_issue or entry.labels.is_judged
        else replace(entry, known_issue=unsaid(entry.labels, tools))
        for entry in entries
    ]


def _refusals(entries: list[Entry], path: Path) -> dict[str, str]:
    path.write_text(probe_text(entries), encoding="utf-8")
    try:
        load_suite(path)
    except SuiteError as error:
        return _by_scenario(error.problems)
    return {}


def _by_scenario(mistakes: Sequence[Mistake]) -> dict[str, str]:
    """The first mistake of each scenario, in words that need no file."""
    found: dict[str, str] = {}
    for mistake in mistakes:
        name, _, where = mistake.where.partition(".")
        what = mistake.what.partition("; ")[0]
        found.setdefault(name, f"{where.removeprefix('expect.')}: {what}")
    return found


def _with_issue(entry: Entry, reasons: Mapping[str, str]) -> Entry:
    reason = entry.known_issue or reasons.get(entry.labels.id)
    return replace(entry, known_issue=reason)


def unsaid(labels: Labels, tools: Toolset) -> str | None:
    """`calls[0].track_order.order_id: nobody says "X1"`, or None. Nothing can be told where the words are unknown."""
    if not labels.said:
        return None
    for index, (tool, args) in enumerate(labels.calls):
        parameters = tools[tool].parameters if tool in tools else {}
        for name, value in args.items():
            parameter = parameters.get(name)
            if (
                parameter is not None
                and not _is_derived(value, parameter)
                and _is_unsaid(value, parameter, labels.said)
            ):
                return f'calls[{index}].{tool}.{name}: nobody says "{value}"'
    return None


def _is_derived(value: Json, parameter: Parameter) -> bool:
    """A default, or the result of another call: nobody has to say it."""
    return any(True for _ in referred_calls(value)) or (parameter.has_default and value == parameter.default)


def _is_unsaid(value: Json, parameter: Parameter, said: str) -> bool:
    if parameter.match in ("number", "money") and isinstance(value, int | float) and not isinstance(value, bool):
        return value != 1 and not _OTHER_NUMBERS.search(said.lower()) and not _says_number(value, said)
    if not isinstance(value, str) or not value.strip():
        return False
    if parameter.match == "identifier":
        return not _SPELLED_OTHERWISE.search(said.lower()) and not _says_identifier(value, said)
    if parameter.match == "place":
        return not any(is_mentioned(word, said) for word in tokens(value) if len(word) > 2)
    return False


def _says_number(value: float, said: str) -> bool:
    """`1800` in "eighteen hundred", in "1.8k" and in "one thousand, eight hundred"."""
    figures = format(value, "g") if value != int(value) else str(int(value))
    return is_mentioned(figures, said) or figures in "".join(_figures(said))


def _figures(said: str) -> Iterator[str]:
    return (token for token in tokens(said) if token[0].isdigit())


def _says_identifier(value: str, said: str) -> bool:
    wanted = "".join(c for c in value.casefold() if c.isalnum())
    words = [word for word in tokens(said) if word not in _JOINTS]
    joined = ["".join(words), "".join(_LETTER_O.get(word, word) for word in words)]
    return is_mentioned(value, said) or any(wanted in text for text in joined) or wanted.replace("o", "0") in joined[1]
