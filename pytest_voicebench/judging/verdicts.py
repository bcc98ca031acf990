"""From the text of an answer to a verdict, or to the cause for which there is none. Nothing is guessed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pytest_voicebench.judgement import Cause
from pytest_voicebench.judging.prompts import ANSWER_KEYS, Prompt

Json = Any

LONGEST_REASON = 400


class Unjudged(Exception):  # noqa: N818 - says what is the case
    """There is no verdict; `detail` is our own text, never the endpoint's."""

    def __init__(self, cause: Cause, detail: str = "") -> None:
        super().__init__(f"{cause}: {detail}")
        self.cause: Cause = cause
        self.detail = detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the judge said: true or false, for `information` an index or None; and why, in its own words."""

    answer: bool | int | None
    reason: str


def read_verdict(text: str, prompt: Prompt) -> Verdict:
    """The one JSON object of the text, fenced or in talk, that fits the question's schema to the letter.

    Raises Unjudged: no object, several, a key twice, missing or too many, `"false"` for false, an index out of range.
    """
    if not text.strip():
        raise Unjudged("empty", "the answer is empty")
    return _checked(_one_object(text), prompt)


def _one_object(text: str) -> dict[str, Json]:
    """The only JSON object in the text; objects inside it are part of it."""
    found: list[dict[str, Json]] = []
    decoder = json.JSONDecoder(object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
    at, end = text.find("{"), 0
    while at >= 0:
        if text[end:at].rstrip().endswith("["):
            raise Unjudged("out_of_schema", "the answer is a list")
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):  # an object inside a broken one is no answer
            raise Unjudged("not_json", "the answer holds a brace that begins no JSON object") from None
        found.append(value)
        at = text.find("{", end)
    if not found or "}" in text[end:]:
        raise Unjudged("not_json", "the answer holds no JSON object, or a brace behind it")
    if len(found) > 1:
        raise Unjudged("several_answers", f"the answer holds {len(found)} JSON objects")
    return found[0]


def _no_key_twice(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise Unjudged("out_of_schema", "a key stands twice")
    return dict(pairs)


def _no_constant(name: str) -> Json:
    raise ValueError(name)


def _checked(found: dict[str, Json], prompt: Prompt) -> Verdict:
    key = ANSWER_KEYS[prompt.question]
    if set(found) != {"reason", key}:
        raise Unjudged("out_of_schema", f"the answer's keys are not reason and {key}")
    reason, answer = found["reason"], found[key]
    if not isinstance(reason, str):
        raise Unjudged("out_of_schema", "reason is not text")
    if prompt.question == "information":
        _check_sentence(answer, prompt.sentences)
    elif not isinstance(answer, bool):
        raise Unjudged("out_of_schema", f"{key} is not true or false")
    return Verdict(answer=answer, reason=" ".join(reason.split())[:LONGEST_REASON])


def _check_sentence(answer: Json, sentences: int) -> None:
    if answer is None:
        return
    if isinstance(answer, bool) or not isinstance(answer, int):
        raise Unjudged("out_of_schema", "sentence is neither a whole number nor null")
    if not 0 <= answer < sentences:
        raise Unjudged("wrong_index", f"there is no sentence of that number among {sentences}")
