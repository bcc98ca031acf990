"""The JSON form of our dataclasses: the rule for time, round trips, and refusals that name the place."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from results import a_result

from pytest_voicebench.codec import CodecError, dump_json, from_json, parse_json, to_json
from pytest_voicebench.conversation import AgentInfo, Call, Conversation, Span, Transcribed, Utterance, Word
from pytest_voicebench.result import Result
from pytest_voicebench.scorecard import ArgumentScore, Manners, Pair, Scorecard, Times

NAMES = st.from_regex(r"[a-z0-9 _.-]+", fullmatch=True)
ticks = st.integers(min_value=-(2**31), max_value=2**36)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
spans = st.builds(Span, start_ticks=ticks, end_ticks=ticks)
words = st.builds(Word, text=st.text(), start_ticks=ticks, end_ticks=ticks)
calls = st.builds(
    Call,
    call_id=st.text(),
    name=st.text(),
    arguments=st.dictionaries(st.text(), json_values, max_size=3),
    status=st.sampled_from(["executed", "failed", "rejected", "cancelled"]),
    at_ticks=ticks,
    finished_ticks=st.none() | ticks,
    result=json_values,
)
utterances = st.builds(
    Utterance,
    step=st.integers(0, 20),
    kind=st.sampled_from(["turn", "backchannel", "vocal_tic", "non_directed"]),
    text=st.text(),
    start_ticks=ticks,
    end_ticks=ticks,
    speech=st.lists(spans, max_size=3).map(tuple),
    words=st.lists(words, max_size=3).map(tuple),
)
conversations = st.builds(
    Conversation,
    item_id=st.text(),
    scenario_sha256=st.text(),
    agent=st.builds(
        AgentInfo,
        name=st.from_regex(r"[a-z0-9 _.-]+", fullmatch=True),
        settings=st.dictionaries(st.text(), st.none() | st.integers()),
    ),
    duration_ticks=ticks,
    ended=st.just("settled"),
    utterances=st.lists(utterances, max_size=2).map(tuple),
    agent_speech=st.none() | st.lists(spans, max_size=2).map(tuple),
    calls=st.lists(calls, max_size=2).map(tuple),
    clears_ticks=st.lists(ticks, max_size=3).map(tuple),
    state=json_values,
)


def a_scorecard() -> Scorecard:
    argument = ArgumentScore(
        name="city", expected="Milan", actual="Rome", verdict="mismatch", strict=False, reason="differs", cause="stale"
    )
    return Scorecard(
        score_set="voicebench",
        version=1,
        passed=False,
        tools_ok=True,
        args_ok=False,
        spoke=True,
        requirements={"mentions": None},
        f1_names=1.0,
        f1_match=0.0,
        f1_strict=0.0,
        precision=1.0,
        recall=1.0,
        argument_accuracy=None,
        argument_accuracy_strict=0.5,
        pairs=(Pair(expected=0, actual=0, tool="search", arguments=(argument,)),),
        times=Times(tool_call_latency_s=-0.25),
        manners=Manners(turn_taken=True, interrupted=False),
        wrong_causes={"stale": 1},
    )


RESULT = a_result("a", "failed", scorecard=a_scorecard())


@given(conversations)
def test_a_conversation_comes_back_from_its_json_as_it_was(conversation: Conversation) -> None:
    written = dump_json(conversation)
    read = parse_json(Conversation, written, where="x")
    assert read == conversation
    assert dump_json(read) == written


def test_a_result_with_its_scorecard_comes_back_as_it_was() -> None:
    assert parse_json(Result, dump_json(RESULT), where="x") == RESULT


@given(ticks)
def test_seconds_with_six_decimals_give_back_the_same_tick(tick: int) -> None:
    assert from_json(Span, to_json(Span(start_ticks=tick, end_ticks=0))).start_ticks == tick


def test_times_are_written_in_seconds_under_a_name_that_says_so() -> None:
    assert to_json(Span(start_ticks=24_000, end_ticks=36_001)) == {"start_s": 1.0, "end_s": 1.500042}


def test_json_of_tools_is_left_as_it_is_even_where_a_key_looks_like_ours() -> None:
    call = Call(call_id="1", name="t", arguments={"wait_ticks": 24000}, status="executed", at_ticks=0)
    assert to_json(call)["arguments"] == {"wait_ticks": 24000}


def test_the_unmeasured_is_null_and_the_recording_is_left_out() -> None:
    conversation = Conversation(
        item_id="a", scenario_sha256="", agent=AgentInfo(name="x"), duration_ticks=0, ended="settled"
    )
    written = to_json(conversation)
    assert written["agent_speech"] is None
    assert "recording" not in written


def test_one_line_of_text_in_any_script_and_a_lone_surrogate_survive() -> None:
    text = 'café ☕ \n\u2028"\ud800'
    said = Transcribed(speaker="agent", text=text, at_ticks=0)
    written = dump_json(said)
    assert b"\n" not in written
    assert "café ☕".encode() in written
    assert parse_json(Transcribed, written, where="x").text == text


def test_keys_of_a_newer_version_are_ignored() -> None:
    assert from_json(Span, {"start_s": 0, "end_s": 1, "colour": "red"}) == Span(start_ticks=0, end_ticks=24_000)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_json_lacks_are_refused_with_their_place(number: float) -> None:
    call = Call(call_id="1", name="t", arguments={"price": [1.0, number]}, status="executed", at_ticks=0)
    with pytest.raises(CodecError, match=r"arguments\.price"):
        dump_json(call)


@pytest.mark.parametrize("value", [{1, 2}, b"x", object(), {1: "a"}])
def test_values_that_json_lacks_are_refused_with_their_place(value: Any) -> None:
    with pytest.raises(CodecError, match="result"):
        to_json(Call(call_id="1", name="t", arguments={}, status="executed", at_ticks=0, result={"result": value}))


def test_endless_nesting_is_refused_not_crashed_on() -> None:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(CodecError, match="nested too deeply"):
        dump_json(Call(call_id="1", name="t", arguments={}, status="executed", at_ticks=0, result=value))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "f.json: expected an object, found []"),
        ({"start_s": 1.0}, "f.json: end_s is missing"),
        ({"start_s": "1", "end_s": 2}, 'f.json: start_s: expected a number, found "1"'),
        ({"start_s": True, "end_s": 2}, "f.json: start_s: expected a number, found true"),
    ],
)
def test_json_that_does_not_fit_is_one_line_with_the_place(data: Any, message: str) -> None:
    with pytest.raises(CodecError) as caught:
        from_json(Span, data, where="f.json")
    assert str(caught.value) == message


def test_a_wrong_value_deep_inside_is_found_by_its_path() -> None:
    data = to_json(RESULT)
    data["scorecard"]["pairs"][0]["arguments"][0]["verdict"] = "perhaps"
    with pytest.raises(
        CodecError, match=r"^r: scorecard\.pairs\[0\]\.arguments\[0\]\.verdict: expected one of match, "
    ):
        from_json(Result, data, where="r")


@pytest.mark.parametrize("text", [b'{"start_s": NaN, "end_s": 1}', b"\xff", b"{", b"", b"[" * 100_000])
def test_text_that_is_not_json_is_one_line(text: bytes) -> None:
    with pytest.raises(CodecError, match=r"^f\.json: not JSON: .*$"):
        parse_json(Span, text, where="f.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Odd:
    """Kinds of fields that our own classes use seldom."""

    pair: tuple[str, float]
    either: str | int | bool | None
    choice: Literal["a", "b"] | None = None
    groups: dict[str, tuple[Span, ...]] = field(default_factory=dict)
    last_ticks: int | None = None


def test_pairs_unions_and_mappings_of_objects_come_back() -> None:
    odd = Odd(pair=("x", 1.5), either=True, choice="b", groups={"g": (Span(start_ticks=1, end_ticks=2),)}, last_ticks=7)
    assert parse_json(Odd, dump_json(odd), where="x") == odd
    assert type(from_json(Odd, json.loads(dump_json(odd))).either) is bool


def test_a_pair_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(CodecError, match="pair: expected a list of 2"):
        from_json(Odd, {"pair": ["x"], "either": None})
