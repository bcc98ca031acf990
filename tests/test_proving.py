"""Mutants of the oracle: which are made of a scenario, which are left out and why, and that scores see each of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import conversation, expected, heard, parameter, scenario, span, tool, turn

from pytest_voicebench.conversation import Conversation, to_ticks
from pytest_voicebench.proving.arguments import argument_mutants
from pytest_voicebench.proving.calls import call_mutants
from pytest_voicebench.proving.exchanges import exchange_mutants
from pytest_voicebench.proving.faults import why_it_passed, why_the_oracle_failed
from pytest_voicebench.proving.mutant import Excluded, Made, Mutant, PlannedCall
from pytest_voicebench.proving.oracle import Oracle, oracle_of
from pytest_voicebench.proving.replay import planned, replayed
from pytest_voicebench.proving.vocabulary import vocabulary_of
from pytest_voicebench.proving.voices import interrupting, saying, voice_mutants
from pytest_voicebench.scenario import Requirement, Retraction, Scenario
from pytest_voicebench.scoring import score

PLACE = parameter("destination", match="place", required=True)
DAY = parameter("date", format="date", match="date")
TOOLS = {
    t.name: t
    for t in (
        tool("search", PLACE, DAY, returns={"flights": [{"id": "FL123"}, {"id": "FL124"}]}),
        tool("book", parameter("id", match="identifier"), parameter("seats", "integer", default=1, has_default=True)),
        tool("ping"),
    )
}
SEARCH = expected("search", destination="Milan", date="2026-06-03")
BOOK = expected("book", id="$RESULT_0.flights[0].id")


def oracle(*calls: Any, **kw: Any) -> Oracle:
    """The oracle of a scenario that expects these calls, replying 2 s after the user."""
    one = scenario(*calls, tools=TOOLS, **kw)
    return oracle_of(one, held(), vocabulary_of([one]))


def held() -> Conversation:
    return conversation(said=[heard("Here you are: Milan, 42 euros.")])


def told(made: list[Made], kind: str) -> list[str]:
    """The mutants of a kind in words, those left out with their reason."""
    return [f"{m.what}: {m.reason}" if isinstance(m, Excluded) else m.what for m in made if m.kind == kind]


def survivors(one: Oracle, made: list[Made]) -> list[str]:
    """The mutants that pass."""
    mutants = [m for m in made if isinstance(m, Mutant)]
    return [m.what for m in mutants if _card(one.scenario, one.held, m).passed]


def _card(one: Scenario, talk: Conversation, mutant: Mutant) -> Any:
    return score(one, mutant.voices(replayed(one, talk, mutant.calls).conversation))


ROME = Retraction(tool="search", args={"destination": "Rome"}, until="Milan")
PING = Retraction(tool="ping", args={}, until="no")

ARGUMENTS: list[tuple[str, list[Any], dict[str, Any], list[str]]] = [
    (
        "value_near",
        [SEARCH],
        {},
        [
            "search.destination changed Milan -> Quillmoor",
            "search.date changed 2026-06-03 -> 2026-06-04",
            "search.date changed 2026-06-03 -> 2027-06-03",
        ],
    ),
    (
        "value_near",
        [expected("search", destination="Milan"), BOOK],
        {},
        [
            "search.destination changed Milan -> Quillmoor",
            "book.id changed FL123 -> FL124",
            "book.id changed FL123 -> GL123",
        ],
    ),
    (  # [*] means any flight: FL124 is right as well
        "value_near",
        [expected("search", destination="Oslo"), expected("book", id="$RESULT_0.flights[*].id", seats=None)],
        {},
        [
            "search.destination changed Oslo -> Quillmoor",
            "book.id changed FL123 -> GL123",
            "book.seats changed null -> 2",
            "book.seats changed null -> 10",
        ],
    ),
    ("value_near", [expected("search", destination="Milan", date=None)], {}, [
        "search.destination changed Milan -> Quillmoor",
        "search.date changed null -> umbrella",
    ]),
    ("value_retracted", [SEARCH], {"retracted": [ROME]}, ["search.destination as it was taken back, Rome"]),
    (
        "value_retracted",
        [SEARCH, expected("search", destination="Rome", date="2026-06-03")],
        {"retracted": [ROME]},
        [
            "calls[0].search.destination as it was taken back, Rome",
            "calls[1].search.destination as it was taken back, Rome: "
            "the value that was taken back is the one expected of this call",
        ],
    ),
    ("value_retracted", [expected("ping")], {"retracted": [ROME]}, []),
    ("argument_omitted", [SEARCH], {}, ["search.destination left out", "search.date left out"]),
    (
        "argument_omitted",
        [expected("book", id="A1", seats=1), expected("search", destination="Bonn", date=None)],
        {},
        [
            "book.id left out",
            "book.seats left out: the expected value is the tool's default",
            "search.destination left out",
            "search.date left out: nothing is expected there",
        ],
    ),
    ("argument_omitted", [expected("book", id="A1", seats=2)], {}, ["book.id left out", "book.seats left out"]),
]  # fmt: skip

CALLS: list[tuple[str, list[Any], dict[str, Any], list[str]]] = [
    ("call_dropped", [SEARCH, BOOK], {}, ["search left out", "book left out"]),
    ("call_doubled", [SEARCH, SEARCH], {}, ["calls[0].search made twice", "calls[1].search made twice"]),
    ("call_doubled", [], {}, []),
    ("call_invented", [], {}, ["a_tool_that_does_not_exist called, which nobody asked for"]),
    ("call_retracted", [SEARCH], {"retracted": [ROME]}, []),
    ("call_retracted", [SEARCH], {"retracted": [PING]}, ["ping called with {}, which was taken back"]),
    ("order_swapped", [SEARCH, expected("ping")], {}, []),
    ("order_swapped", [SEARCH, BOOK], {}, ["book before the result of search that it needs, guessing FL124"]),
    ("order_swapped", [SEARCH, BOOK], {"requires": [Requirement(name="order")]}, ["book before search"]),
    (
        "order_swapped",
        [SEARCH, expected("ping"), expected("ping")],
        {"ordered": True, "requires": [Requirement(name="order")]},
        ["calls[1].ping before search", "calls[2].ping before calls[1].ping: the two calls are equal"],
    ),
]


@pytest.mark.parametrize(("kind", "calls", "more", "mutants"), ARGUMENTS)
def test_mutants_of_arguments(kind: str, calls: list[Any], more: dict[str, Any], mutants: list[str]) -> None:
    one = oracle(*calls, **more)
    made = list(argument_mutants(one))
    assert told(made, kind) == mutants
    assert survivors(one, made) == []


@pytest.mark.parametrize(("kind", "calls", "more", "mutants"), CALLS)
def test_mutants_of_calls_and_their_order(
    kind: str, calls: list[Any], more: dict[str, Any], mutants: list[str]
) -> None:
    one = oracle(*calls, **more)
    made = list(call_mutants(one))
    assert told(made, kind) == mutants
    assert survivors(one, made) == []


ROUTE = {"route": tool("route", parameter("origin"), parameter("goal"), parameter("stops", "integer"), parameter("by"))}

EXCHANGES: list[tuple[list[Any], list[str]]] = [
    ([expected("route", origin="museum", goal="harbor", stops=2)], ["route.origin and goal exchanged"]),
    ([expected("route", origin="museum", goal="Museum")], []),
    ([expected("route", origin="museum", goal={"$one_of": ["harbor", "museum"]})], []),
    (
        [expected("route", origin="A", stops=1), expected("route", origin="B", stops=2)],
        ["calls[0].route.origin and that of calls[1] exchanged", "calls[0].route.stops and that of calls[1] exchanged"],
    ),
    (
        [expected("route", origin="A", stops=1), expected("route", origin="B", stops=1)],
        ["calls[0].route.origin and that of calls[1] exchanged: it gives the same two calls"],
    ),
    ([expected("route", origin="A", by="car"), expected("route", origin="B", goal="C")], [
        "calls[0].route.origin and by exchanged",
        "calls[1].route.origin and goal exchanged",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("calls", "mutants"), EXCHANGES)
def test_mutants_in_which_right_values_stand_in_the_wrong_place(calls: list[Any], mutants: list[str]) -> None:
    one = scenario(*calls, tools=ROUTE)
    spoken = oracle_of(one, held(), vocabulary_of([one]))
    made = list(exchange_mutants(spoken))
    assert told(made, "values_exchanged") == mutants
    assert survivors(spoken, made) == []


MENTIONS = Requirement(name="mentions", text="mentions")
CALM = Requirement(name="no_interruption", text="no_interruption")
QUICK = Requirement(name="first_response_s", operator="<=", bound=2.5, text="first_response_s <= 2.5")

VOICES: list[tuple[list[Any], dict[str, Any], list[str]]] = [
    ([SEARCH], {}, []),
    ([SEARCH], {"mentions": ["Milan"]}, []),
    ([SEARCH], {"mentions": ["Milan", "42"], "requires": [MENTIONS]}, ['"Milan" not said', '"42" not said']),
    (
        [SEARCH],
        {"mentions": ["42", "42 euros"], "requires": [MENTIONS]},
        ['"42" not said: another required fact has the same words', '"42 euros" not said'],
    ),
    ([SEARCH], {"requires": [CALM, QUICK]}, ["the user's last words interrupted", "not first_response_s <= 2.5"]),
    (
        [],
        {"mentions": ["42"], "requires": [MENTIONS]},
        ['"42" not said', '"Well, there you are." instead of an answer'],
    ),
]


@pytest.mark.parametrize(("calls", "more", "mutants"), VOICES)
def test_mutants_of_what_is_heard(calls: list[Any], more: dict[str, Any], mutants: list[str]) -> None:
    one = oracle(*calls, **more)
    made = list(voice_mutants(one))
    assert [f"{m.what}: {m.reason}" if isinstance(m, Excluded) else m.what for m in made] == mutants
    assert survivors(one, made) == []


@pytest.mark.parametrize("more", [{}, {"mentions": ["Milan", "42"], "requires": [MENTIONS, CALM, QUICK]}])
@pytest.mark.parametrize("calls", [(), (SEARCH,), (SEARCH, BOOK), (SEARCH, SEARCH)])
def test_the_oracle_passes_when_it_is_replayed_so_that_mutants_fail_for_their_change(calls: Any, more: Any) -> None:
    one = scenario(*calls, tools=TOOLS, **more)
    assert score(one, replayed(one, held(), planned(one.expect.calls)).conversation).passed


def test_a_call_whose_source_was_dropped_keeps_the_value_it_would_have_got() -> None:
    (dropped,) = [m for m in call_mutants(oracle(SEARCH, BOOK)) if m.kind == "call_dropped" and m.expected == 0]
    assert isinstance(dropped, Mutant)
    assert [(c.tool, c.args) for c in dropped.calls] == [("book", {"id": "FL123"})]


def test_replayed_calls_follow_each_other_and_each_has_its_answer_before_the_next() -> None:
    slow = {"search": tool("search", PLACE, DAY, latency_s=1.5), "ping": tool("ping")}
    one = scenario(SEARCH, expected("ping"), tools=slow)
    calls = replayed(one, held(), planned(one.expect.calls)).conversation.calls
    at = to_ticks(10.3)
    assert [(c.at_ticks, c.answered_ticks) for c in calls] == [
        (at, at + to_ticks(1.5)),
        (at + to_ticks(1.52), at + to_ticks(1.52)),
    ]


def test_ordered_that_is_not_required_lets_the_swapped_calls_pass_and_says_what_to_do() -> None:
    one = oracle(SEARCH, expected("ping"), ordered=True)
    (mutant,) = [m for m in call_mutants(one) if m.kind == "order_swapped"]
    assert isinstance(mutant, Mutant)
    card = _card(one.scenario, one.held, mutant)
    assert card.passed
    assert why_it_passed(one.scenario, mutant, card) == "the order is only shown: add `order` to pass_requires"


def test_a_taken_back_argument_that_nobody_expects_passes_and_says_what_to_do() -> None:
    taken_back = Retraction(tool="search", args={"date": "2026-06-01"}, until="any day")
    one = oracle(expected("search", destination="Milan"), retracted=[taken_back])
    (mutant,) = [m for m in argument_mutants(one) if m.kind == "value_retracted"]
    assert isinstance(mutant, Mutant)
    card = _card(one.scenario, one.held, mutant)
    assert card.passed
    why = why_it_passed(one.scenario, mutant, card)
    assert why == "date is not expected, and extra arguments never count against Pass: expect `date: null`"
    fixed = oracle(expected("search", destination="Milan", date=None), retracted=[taken_back])
    assert survivors(fixed, list(argument_mutants(fixed))) == []


def test_a_place_that_the_author_calls_the_same_is_no_near_value() -> None:
    here = scenario(SEARCH, tools=TOOLS, aliases={"Milan": ("Boston",)})
    others = [scenario(expected("search", destination=d), tools=TOOLS) for d in ("Boston", "Turku")]
    one = oracle_of(here, held(), vocabulary_of([here, *others]))
    assert one.near("search", "destination", "Milan") == ("Turku", "Quillmoor")
    assert one.near("search", "destination", "Turku") == ("Milan", "Quillmoor")


def test_a_call_invented_is_one_that_another_scenario_expects() -> None:
    here, other = scenario(SEARCH, tools=TOOLS), scenario(SEARCH, expected("ping"), tools=TOOLS)
    one = oracle_of(here, held(), vocabulary_of([here, other]))
    (mutant,) = [m for m in call_mutants(one) if m.kind == "call_invented"]
    assert isinstance(mutant, Mutant)
    assert mutant.calls[-1] == PlannedCall(tool="ping", args={})


def test_the_oracles_failure_names_every_reason() -> None:
    one = scenario(SEARCH, BOOK, tools=TOOLS, mentions=["x"], requires=[MENTIONS])
    talk = replayed(
        one, held(), [PlannedCall(tool="search", args={"destination": "Rome"}), PlannedCall(tool="ping", args={})]
    )
    assert why_the_oracle_failed(score(one, talk.conversation), ()) == (
        "book was not counted; search.destination: expected 'Milan', got 'Rome'; "
        "search.date: expected '2026-06-03', got None: absent; ping is one call too many; `mentions` was not met"
    )


def test_words_and_interruptions_are_changed_and_nothing_else() -> None:
    talk = conversation(said=[heard("First.", 11.0), heard("User words", 2.0, speaker="user"), heard("Last.", 13.0)])
    changed = saying(["Milan"])(talk)
    assert [(t.speaker, t.text) for t in changed.transcripts] == [
        ("user", "User words"),
        ("agent", "Well, there you are. Milan"),
    ]
    assert interrupting(talk).agent_speech == (span(9.4, 10.6), span(12.0, 15.0))
    short = conversation(turns=[turn(1.0, 1.2)])
    assert interrupting(short).agent_speech == (span(1.0, 1.8), span(12.0, 15.0))


def test_a_mock_that_breaks_on_a_wrong_call_ends_the_replay_there(tmp_path: Any) -> None:
    (tmp_path / "mock_api.py").write_text("def f(arguments, state):\n    return {'A': 1}[arguments['id']]\n")
    tools = {"book": tool("book", parameter("id"), answer="mock_api:f"), "ping": tool("ping")}
    one = scenario(expected("book", id="A"), expected("ping"), tools=tools)
    one = replace(one, suite=replace(one.suite, path=tmp_path / "suite.yaml"))
    replay = replayed(one, held(), [PlannedCall(tool="book", args={"id": "B"}), PlannedCall(tool="ping", args={})])
    assert replay.broke is not None
    assert "mock_api.py:2" in replay.broke
    assert [(c.name, c.status, c.result) for c in replay.conversation.calls] == [("book", "failed", None)]
