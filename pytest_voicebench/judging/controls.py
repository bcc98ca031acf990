"""Labelled controls of ours: questions whose answer a careful person knows, half of them made to be got wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_voicebench.codec import from_json, parse_text
from pytest_voicebench.judgement import Question
from pytest_voicebench.judging.evidence import argument_record, information_record, response_record
from pytest_voicebench.judging.prompts import Prompt, prompt_for

Json = Any

CONTROLS_PATH = Path(__file__).with_name("controls.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """One question with its right answer: true or false, or of `information` a sentence or None; `why` names the trap.

    A hard negative is one whose right answer is false or None though much speaks for the other.
    """

    id: str
    question: Question
    user_request: tuple[str, ...]
    label: bool | int | None
    why: str
    tool_calls: tuple[Mapping[str, Json], ...] = ()
    sentences: tuple[str, ...] = ()
    tool: str | None = None
    argument: str | None = None
    expected: Json = None
    actual: Json = None

    @property
    def positive(self) -> bool:
        """Whether the right answer accepts: true, or a sentence (the first is 0)."""
        return self.label is not None and self.label is not False

    @property
    def prompt(self) -> Prompt:
        """As it is asked, by the same code as in a run."""
        request, calls, sentences = list(self.user_request), list(self.tool_calls), list(self.sentences)
        if self.question == "argument":
            record = argument_record(request, self.tool, self.argument, self.expected, self.actual)
        elif self.question == "response":
            record = response_record(request, calls, sentences)
        else:
            record = information_record(request, calls, sentences)
        return prompt_for(self.question, record)


def load_controls() -> tuple[Control, ...]:
    """The controls that travel with the package."""
    data = parse_text(CONTROLS_PATH.read_bytes(), where=CONTROLS_PATH.name)
    return from_json(tuple[Control, ...], data["controls"], where=CONTROLS_PATH.name)
