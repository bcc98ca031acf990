"""Why an argument is wrong: stale, misheard, invented or other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from pytest_voicebench.conversation import NOT_WRITTEN_DOWN, Call, Conversation, Json
from pytest_voicebench.matchers import dates, kind_of
from pytest_voicebench.matchers.currency import candidates
from pytest_voicebench.matchers.identifier import fold
from pytest_voicebench.metrics.arguments import Rules
from pytest_voicebench.metrics.mentions import contains, is_mentioned, is_spelled, tokens
from pytest_voicebench.metrics.retraction import is_retracted
from pytest_voicebench.scenario import Scenario
from pytest_voicebench.scorecard import ArgumentScore, Pair, WrongCause
from pytest_voicebench.tools import Parameter


def with_causes(
    scenario: Scenario, conversation: Conversation, pairs: Sequence[Pair], rules: Rules
) -> tuple[Pair, ...]:
    """The pairs with a cause on every argument that does not match; arguments of calls never made have none."""
    calls = conversation.counted_calls
    return tuple(
        pair
        if pair.actual is None or all(a.verdict == "match" for a in pair.arguments)
        else replace(
            pair,
            arguments=tuple(
                a
                if a.verdict == "match"
                else replace(a, cause=_cause(scenario, conversation, pair, a, calls[pair.actual], rules))
                for a in pair.arguments
            ),
        )
        for pair in pairs
    )


def _cause(
    scenario: Scenario, conversation: Conversation, pair: Pair, wrong: ArgumentScore, call: Call, rules: Rules
) -> WrongCause:
    """Stale: a retracted value. Misheard: said by the user, but not in the agent's own transcript, if that is whole.

    Invented: a value that neither the user said nor an earlier result held. Values that leave no words to look for
    (truth values, lists) are `other`, and so is an argument left out: the agent gave no value, a default is the tool's.
    """
    if any(r.tool == call.name and is_retracted(r, wrong.name, wrong.actual, rules) for r in scenario.retracted):
        return "stale"
    if call.arguments.get(wrong.name) is None:
        return "other"
    tool = rules.tools.get(pair.tool)
    parameter = tool.parameters.get(wrong.name) if tool else None
    said = "\n".join(u.text for u in conversation.utterances if u.text) or scenario.stimulus_text
    if said.strip() and not tokens(said):
        return "other"  # "...": nobody wrote down what the user says, so that nothing can be called invented
    injected = {step.text for step in scenario.steps if step.kind == "inject"}  # nobody spoke it, some agents echo it
    understood = [t.text for t in conversation.transcripts if t.speaker == "user" and t.text not in injected]
    was_said = is_said(parameter, wrong.expected, said)
    lacks_words = any(p.message.startswith(NOT_WRITTEN_DOWN) for p in conversation.problems)
    if (
        understood
        and not lacks_words
        and was_said
        and is_said(parameter, wrong.expected, "\n".join(understood)) is False
    ):
        return "misheard"
    known = "\n".join([said, *(_words_of(c.result) for c in _answered_before(conversation, call))])
    return "invented" if is_said(parameter, wrong.actual, known) is False else "other"


def _answered_before(conversation: Conversation, call: Call) -> list[Call]:
    return [c for c in conversation.counted_calls if c.answered_ticks is not None and c.answered_ticks <= call.at_ticks]


def _words_of(result: Json) -> str:
    return json.dumps(result, ensure_ascii=False, default=str).replace("_", " ")


def is_said(parameter: Parameter | None, value: Json, text: str) -> bool | None:
    """Whether a value occurs in a text in some spoken form; None where it leaves no words to look for."""
    if value is None or isinstance(value, bool | list | dict) or not tokens(str(value)):
        return None
    kind = kind_of(parameter, value)
    if kind == "boolean":
        return None
    if kind == "date" and isinstance(value, str):
        return is_mentioned(value, text) or _date_is_said(value, tokens(text))
    if kind == "currency" and isinstance(value, str):
        return _currency_is_said(value, tokens(text))
    if is_mentioned(str(value).replace("_", " "), text):
        return True
    if kind in ("identifier", "phone", "card"):
        return is_spelled(fold(str(value)), tokens(text))
    if kind in ("text", "place", "person", "enum"):  # people say the words in another order, with others between
        return set(tokens(str(value).replace("_", " "))) <= set(tokens(text))
    return False


def _date_is_said(value: str, said: Sequence[str]) -> bool:
    for reading in dates.read(value, None):
        for month in (name for name, n in dates.MONTHS.items() if n == reading.month):
            day = str(reading.day)
            forms = ((month, day), (day, month), (day, "of", month), (month, "the", day))
            if any(contains(said, form) for form in forms):
                return True
    return False


def _currency_is_said(value: str, said: Sequence[str]) -> bool:
    meant = candidates(value) or frozenset()
    names = (" ".join(said[n : n + size]) for size in (1, 2, 3) for n in range(len(said) - size + 1))
    return any(meant & found for found in map(candidates, names) if found)
