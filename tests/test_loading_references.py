"""Which references the loader can tell to lead nowhere, and where phrases stand in what was said."""

from __future__ import annotations

import pytest

from pytest_voicebench.loading.templates import unreachable
from pytest_voicebench.phrases import count_phrase, find_phrase, words_of
from pytest_voicebench.references import parse
from pytest_voicebench.tools import Parameter, Tool

TEMPLATE = {
    "flights": [{"id": "F1", "to": "{city}", "legs": []}, {"id": "F2", "seat": None}],
    "tags": "{tags}",
    "note": "to {city}",
    "no": [],
}
TOOL = Tool(
    name="find",
    description="Find.",
    parameters={"city": Parameter(name="city", type="string"), "tags": Parameter(name="tags", type="array")},
    returns=TEMPLATE,
)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("flights[0].id", None),
        ("flights[1]", None),
        ("flights[*].id", None),
        ("flights[*].to", None),
        ("flights[0].to", None),
        ("tags[3].name", None),
        ("note", None),
        ("flight", 'the answer of find has no key "flight" there; did you mean "flights"?'),
        ("flights[2].id", "the list in the answer of find has no element [2]"),
        ("flights.id", 'the answer of find has no key "id" there'),
        ("flights[0][0]", "the answer of find has no list there"),
        ("flights[0].to.name", 'the answer of find has no key "name" there'),
        ("flights[*].gate", 'the answer of find has no key "gate" there; known: id, seat'),
        ("flights[1].seat", "nothing but null stands there"),
        ("no[*].id", "the list in the answer of find is empty"),
    ],
)
def test_a_path_that_the_declared_answer_cannot_have_is_told(path: str, reason: str | None) -> None:
    reference = parse(f"$RESULT_0.{path}")
    assert reference is not None
    assert unreachable(reference, TOOL) == reason


def test_what_a_function_answers_only_the_call_tells() -> None:
    reference = parse("$RESULT_0.anything[7]")
    assert reference is not None
    assert unreachable(reference, Tool(name="f", description="F.", parameters={}, answer="mock:f")) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Sorry, 3:30 p.m.", ["sorry", "3:30", "p.m"]),
        ("Bos- to Boston!", ["bos", "to", "boston"]),
        ("I’d like twenty-two", ["i'd", "like", "twenty", "two"]),
        ("$1,500.00 -- café", ["1,500.00", "café"]),
        ("...", []),
    ],
)
def test_words_are_compared_without_case_and_punctuation(text: str, words: list[str]) -> None:
    assert words_of(text) == words


SPOKEN = ["To", "Rome,", "um,", "no", "wait,", "to", "Milan.", "To", "--", "Milan", "twenty-two"]


@pytest.mark.parametrize(
    ("phrase", "ends"),
    [
        ("to Rome", [1]),
        ("To MILAN!", [6, 9]),
        ("milan twenty", [10]),
        ("two", [10]),
        ("mila", []),
        ("twenty two three", []),
        ("", []),
        ("...", []),
    ],
)
def test_a_phrase_is_found_word_for_word(phrase: str, ends: list[int]) -> None:
    assert find_phrase(phrase, SPOKEN) == ends
    assert count_phrase(phrase, " ".join(SPOKEN)) == len(ends)


def test_occurrences_that_overlap_all_count() -> None:
    assert find_phrase("no no", ["No,", "no,", "no."]) == [1, 2]
    assert count_phrase("no no", "No, no, no.") == 2
