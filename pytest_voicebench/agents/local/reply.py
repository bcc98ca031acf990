"""What the agent says: one or two sentences per call, from its arguments and its result."""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_voicebench.agents.local.understanding.planner import Step
from pytest_voicebench.agents.local.understanding.references import Known

Json = Any

NOT_UNDERSTOOD = "Sorry, I did not get that. Could you say it again?"
_MOST_FACTS = 3
_DATE = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-[0-3]\d")
_DULL = frozenset(("status", "success", "ok", "message"))


def reply_text(done: Sequence[Known], open_steps: Sequence[Step]) -> str:
    """The spoken answer to a turn. `open_steps` are asked about; with nothing done or open, it says so."""
    sentences = [_about(call) for call in done]
    for step in open_steps[:1]:
        wanted = " and the ".join(_plain(name) for name in step.missing)
        sentences.append(f"To {_plain(step.tool)}, I need the {wanted}.")
    return " ".join(sentences) or NOT_UNDERSTOOD


def _about(call: Known) -> str:
    given = ", ".join(_spoken(v) for v in call.arguments.values() if v is not None)
    if isinstance(call.result, Mapping) and call.result.get("error"):
        return f"I could not {_plain(call.tool)} for {given}: {_spoken(call.result['error'])}."
    items = _items(call.result)
    if items is not None:
        name, found = items
        if not found:
            return f"I found no {_plain(name)} for {given}."
        first = ", ".join(_facts(found[0], call.arguments))
        noun = _plain(name).removesuffix("s") if len(found) == 1 else _plain(name)
        return f"I found {len(found)} {noun} for {given}. The first: {first}."
    facts = ", ".join(_facts(call.result, call.arguments)) if isinstance(call.result, Mapping) else _spoken(call.result)
    return f"{_plain(call.tool).capitalize()} for {given}: {facts or 'done'}."


def _items(result: Json) -> tuple[str, Sequence[Json]] | None:
    if not isinstance(result, Mapping):
        return None
    for name, value in result.items():
        if isinstance(value, list) and all(isinstance(v, Mapping) for v in value):
            return name, value
    return None


def _facts(item: Mapping[str, Json], known: Mapping[str, Json]) -> list[str]:
    said = {_spoken(v) for v in known.values()}
    facts = [
        f"{_plain(name)} {_spoken(value)}"
        for name, value in item.items()
        if name not in _DULL and not isinstance(value, Mapping) and value is not None and _spoken(value) not in said
    ]
    return facts[:_MOST_FACTS]


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _spoken(value: Json) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    if isinstance(value, list | tuple):
        return ", ".join(_spoken(v) for v in value)
    text = str(value)
    if _DATE.fullmatch(text):
        return f"{calendar.month_name[int(text[5:7])]} {int(text[8:])}"
    if any(c.isdigit() for c in text) and any(c.isalpha() for c in text) and " " not in text:
        return " ".join(text)  # spelled, as one says an identifier
    return text.replace("_", " ")
