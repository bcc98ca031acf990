"""The text of an item that did not pass. Golden files: see golden.py for how to write them anew."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from builders import call, conversation, expected, scenario
from failures import Item, crowded, hostile, silent, stale, text
from golden import FOLDER, check_golden
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.scorecard import Times, TurnScore
from pytest_voicebench.scoring import score
from pytest_voicebench.writers.plain_text import columns

ITEMS = {"stale": stale(), "silent": silent(), "hostile": hostile(), "crowded": crowded()}


@pytest.mark.parametrize("name", ITEMS)
def test_the_text_looks_as_it_did(name: str) -> None:
    check_golden(FOLDER / f"failure_{name}.txt", text(ITEMS[name]).encode() + b"\n")


@pytest.mark.parametrize("name", ITEMS)
def test_it_fits_on_a_screen(name: str) -> None:
    lines = text(ITEMS[name]).splitlines()
    assert len(lines) <= 31
    assert all(columns(line) <= 100 for line in lines if not re.match(r"  (listen|again) ", line))


@pytest.mark.parametrize(
    "line",
    [
        r"^travel_19-b: Two corrections in one breath \(travel_identity, hard, self_correction, filler\)$",
        r"^wrong: search_flights\.destination$",
        r'destination = "Milan" +"Rome" +WRONG, stale$',
        r'^  first +search_flights\.destination: expected "Milan", got "Rome"$',
        r"stale: the user said it, then took it back$",
        r"user end 9\.42 s, first call 7\.15 s \(-2\.27\), reply 11\.98 s \(\+2\.56\)",
        r"search_flights -2\.27 premature commit",
        r"^  heard     find me a flight to rome um no wait",
        r"^  said      \(provider words\) I found one flight to Rome",
        r"reports/run/items/travel_19-b/audio\.flac from 5\.4 s .*at 12\.0 s",
        r"^  again     pytest 'suites/fdb3/travel\.yaml::scenario\[travel_19-b\]' --agent=simulated,behaviour=stale_",
        r"^  also      not met, not gating: mentions \(provider words\)$",
    ],
)
def test_an_engineer_finds_what_was_wrong_when_and_where_to_hear_it(line: str) -> None:
    assert re.search(line, text(stale()), re.MULTILINE)


def test_calls_that_are_missing_too_many_or_taken_back_are_named() -> None:
    shown = text(silent())
    assert "the agent never took the turn; not called: search_apartments, calculate_commute; " in shown
    assert re.search(r"^  search_apartments +\(not called\) +MISSING\n    city=\"Denver\", bedrooms=2", shown, re.M)
    assert re.search(r"^  \(none\) +search_flights \+1\.10 +EXTRA\n    destination=\"Denver\"", shown, re.M)
    assert "(taken back before it ran, not counted: search_apartments)" in shown


def test_what_could_not_be_checked_did_not_pass() -> None:
    assert "required mentions (provider words): could not be checked" in text(hostile())


def test_several_turns_are_told_apart() -> None:
    scenario, conversation, card = stale()
    turns = (
        TurnScore(step=0, start_s=0.0, end_s=1.0, latency_s=0.5),
        TurnScore(step=1, start_s=2.0, end_s=3.0),
        TurnScore(step=2, start_s=4.0, end_s=5.0, interruptions=1),
    )
    assert "  turns     1 +0.50 s, 2 silent, 3 interrupted" in text(
        (scenario, conversation, replace(card, turns=turns))
    )


def test_an_interruption_is_told_with_its_depth() -> None:
    scenario, conversation, card = stale()
    times = Times(user_end_s=9.42, interruption_depth_s=1.5, cause="interrupted")
    shown = text((scenario, conversation, replace(card, times=times)))
    assert "reply none, interrupted at -1.50 s\n" in shown


@given(st.text())
def test_nothing_that_others_wrote_acts_on_the_terminal_or_breaks_the_layout(evil: str) -> None:
    item = _with_title(hostile(), evil)
    shown = text(item)
    lines = shown.split("\n")
    assert len(lines) <= 31
    assert lines[1].startswith("evil_1: ")
    assert lines[0].startswith(("wrong: ", "required "))
    assert all(line == "" or line.startswith("  ") for line in lines[2:])
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]", shown)


def _with_title(item: Item, evil: str) -> Item:
    scenario, conversation, card = item
    calls = tuple(replace(c, name="t" + evil, reason=evil, arguments={evil: evil}) for c in conversation.calls)
    said = tuple(replace(t, text="t" + evil, heard_text="t" + evil) for t in conversation.transcripts)
    return replace(scenario, title=evil), replace(conversation, calls=calls, transcripts=said), card


@pytest.mark.parametrize(
    ("reason", "told"),
    [("invalid arguments: 'x' is too long", "rejected (invalid arguments: 'x' is too long)"), ("", "rejected")],
)
def test_a_call_that_only_was_rejected_is_told_as_that(reason: str, told: str) -> None:
    wanted = scenario(expected("weather", city="Oslo"))
    made = conversation(call("weather", args={"city": "Oslo"}, status="rejected", reason=reason))
    lines = text((wanted, made, score(wanted, made))).splitlines()
    assert lines[0] == f"weather: {told}"
    assert f"  first     weather: {told}" in lines
