"""Redaction of data: what a pattern matches is gone wherever text can stand, and nothing else moves."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from results import a_result

from pytest_voicebench.codec import dump_json, parse_json
from pytest_voicebench.conversation import (
    AgentInfo,
    Call,
    Conversation,
    Problem,
    Transcribed,
    Utterance,
    Word,
)
from pytest_voicebench.judgement import Asked, Judge, Judgement
from pytest_voicebench.redacting import MARK, PatternRefused, check_speed, redactor_of
from pytest_voicebench.result import Result


def conversation(**changes) -> Conversation:
    values = {
        "item_id": "travel_01",
        "scenario_sha256": "4" * 64,
        "agent": AgentInfo(name="mine", settings={"greeting": "I am 4111"}),
        "duration_ticks": 4111,
        "ended": "settled",
    }
    return Conversation(**values | changes)


@pytest.mark.parametrize(
    ("pattern", "text", "kept"),
    [
        ("Milan", "to Milan, Milan", f"to {MARK}, {MARK}"),
        ("(?i)milan", "MILAN", MARK),
        (r"\b\d{4}\b", "4111 and 41112", f"{MARK} and 41112"),
        ("x*", "axxb", f"a{MARK}b"),
        ("redacted", f"a {MARK} redacted", f"a {MARK} {MARK}"),
        ("Zürich", r'{"city": "Z\u00fcrich", "n": 1}', f'{{"city": "{MARK}", "n": 1}}'),
        ("4111", '{"card": 4111}', f'{{"card": "{MARK}"}}'),
        ("d.: 4", '{"card": 4111}', f'{{"car{MARK}111}}'),
        ("Milan", "Rome", "Rome"),
        ("Zürich", r'said {"city": "Z\u00fcrich"}', f'said {{"city": "{MARK}"}}'),
        ("Zürich", r'b "{\"city\": \"Z\\u00fcrich\"}"', rf'b "{{\"city\": \"{MARK}\"}}"'),
        ('a"b c', r"a\"b\u0020c, a\nb", rf"{MARK}, a\nb"),
        ("caf. 😀", r"'caf\xe9 \ud83d\ude00'", f"'{MARK}'"),
    ],
)
def test_a_text_loses_what_matches_and_nothing_else(pattern, text, kept):
    assert redactor_of([pattern]).text(text) == kept


def test_json_loses_texts_keys_and_numbers_that_match_and_flags_never_do():
    found = redactor_of(["4111|True"]).json({"4111": [4111, 4111.5, True, None, "a 4111"], "n": 7})
    assert found == {MARK: [MARK, MARK, True, None, f"a {MARK}"], "n": 7}


@given(st.text(max_size=60), st.sampled_from(["a", "[0-9]+", "(?i)b.", r"\w+", "redacted"]))
def test_redacting_twice_is_redacting_once(text, pattern):
    redactor = redactor_of([pattern])
    once = redactor.text(text)
    assert redactor.text(once) == once


def test_words_and_texts_of_one_voice_are_searched_in_a_row():
    words = tuple(
        Word(text=t, start_ticks=n, end_ticks=n + 1) for n, t in enumerate(["card", "4111", "2222", "please"])
    )
    said = [Transcribed(speaker="agent", text=t, at_ticks=0) for t in ("It is 4111", "2222, right?")]
    other = Transcribed(speaker="user", text="hello", at_ticks=0)
    held = conversation(
        utterances=(Utterance(step=0, kind="turn", text="4111 2222", start_ticks=0, end_ticks=9, words=words),),
        transcripts=(said[0], other, said[1]),
    )
    kept = redactor_of(["4111 2222"]).conversation(held)
    assert [word.text for word in kept.utterances[0].words] == ["card", MARK, MARK, "please"]
    assert [text.text for text in kept.transcripts] == [MARK, "hello", MARK]
    assert kept.withheld == ("text",)


def test_events_that_bring_a_text_bit_by_bit_lose_every_bit_of_it():
    def event(at_s, delta, call="c1"):
        return {"at_s": at_s, "way": "received", "event": {"type": "args.delta", "item_id": call, "delta": delta}}

    rows = [event(1.0, "the 41"), event(1.1, "41", "c2"), event(1.2, "11 is"), event(1.3, "mine")]
    whole = {"at_s": 2.0, "way": "received", "event": {"type": "done", "event_id": "e", "arguments": '{"n": 4111}'}}
    lines = [json.dumps(row, separators=(",", ":")) for row in [*rows, whole]]
    found = [json.loads(line) for line in redactor_of(["4111"]).events(lines)]
    assert [row["event"]["delta"] for row in found[:4]] == [MARK, "41", MARK, "mine"]
    assert found[4]["event"]["arguments"] == f'{{"n": "{MARK}"}}'
    assert [row["at_s"] for row in found] == [1.0, 1.1, 1.2, 1.3, 2.0]


def received(**event) -> dict:
    return {"at_s": 1.0, "way": "received", "event": event}


BITS = {
    "twice the same": ("4141", [received(d="41") | {"times": 2, "until_s": 1.5}], [MARK]),
    "more often than is looked at": (
        "x(41)+y",
        [received(d="x"), *[received(d="41")] * 999, received(d="y")],
        [MARK] * 1001,
    ),
    "escaped": ("Zürich", [received(d=d) for d in ('{"ci', 'ty": "Z\\u0', '0fcrich"}')], ['{"ci', MARK, MARK]),
    "quotes": ('o: "Z', [received(d=d) for d in ('"{\\"to\\"', ': \\"Zug\\"}"')], ['"{\\"to\\"', ': \\"Zug\\"}"']),
    "two voices": (
        "Quill",
        [received(role=r, d=d) for r, d in (("a", "Qui"), ("u", "hm"), ("a", "ll"))],
        [MARK, "hm", MARK],
    ),
    "ids below": (
        "Quill",
        [received(item={"id": i}, d=d) for i, d in (("a", "Qui"), ("b", "x"), ("a", "ll"))],
        [MARK, "x", MARK],
    ),
    "names are none": ("ab", [received(d="x", id=i) for i in "ab"], ["x", "x"]),
}


@pytest.mark.parametrize(("pattern", "rows", "kept"), BITS.values(), ids=BITS)
def test_a_text_that_came_bit_by_bit_is_found_however_its_bits_are_written(pattern, rows, kept):
    found = [json.loads(line)["event"] for line in redactor_of([pattern]).events([json.dumps(row) for row in rows])]
    assert [event["d"] for event in found] == kept
    assert [event.get("id") for event in found] == [row["event"].get("id") for row in rows]


def test_long_conversations_are_searched_in_time_that_grows_with_their_length():
    rows = [received(type="text.delta", event_id=f"event_{n:09}", d=f"word{n} ") for n in range(3000)]
    rows += [received(type="audio", audio="<1280 characters>") | {"times": 50, "until_s": 2.0} for _ in range(3000)]
    lines = [json.dumps(row) for row in rows]
    seen = []

    class Counted(str):
        """Counts what a pattern is given to read."""

    redactor = redactor_of(["4111"])
    real = redactor.patterns[0]

    class Reading:
        def finditer(self, text):
            seen.append(len(text))
            return real.finditer(Counted(text))

    redactor = replace(redactor, patterns=(Reading(),))
    assert len(redactor.events(lines)) == len(lines)
    assert max(seen) < 60_000
    assert sum(seen) < 20 * sum(map(len, lines))


def test_entries_of_a_list_and_texts_of_a_voice_are_one_text_with_and_without_spaces():
    redactor = redactor_of(["4111 ?2222|12345"])
    assert redactor.json({"n": ["4111", "2222"], "d": [1, 2, 3, 4, 5, 6]})["n"] == [MARK, MARK]
    assert redactor.json([1, 2, 3, 4, 5, 6]) == [MARK] * 5 + [6]
    assert redactor.pieces(["41", "112222", "is"]) == [MARK, MARK, "is"]


def test_a_conversation_keeps_its_names_times_and_numbers_of_ours_and_can_be_read_again():
    call = Call(call_id="4111", name="pay", arguments={"card": 4111}, status="executed", at_ticks=4111, result=[4111])
    held = conversation(calls=(call,), problems=(Problem(kind="agent", message="heard 4111"),))
    kept = redactor_of(["4111", "4{10}"]).conversation(held)
    assert (kept.item_id, kept.scenario_sha256, kept.duration_ticks) == ("travel_01", "4" * 64, 4111)
    assert kept.agent.settings == {"greeting": f"I am {MARK}"}
    (found,) = kept.calls
    assert (found.arguments, found.result, found.at_ticks) == ({"card": MARK}, [MARK], 4111)
    assert kept.problems[0].message == f"heard {MARK}"
    assert parse_json(Conversation, dump_json(kept), where="") == kept


@pytest.mark.parametrize("pattern", [r".", r"\w+", r"\d", "a", "(?s).*"])
def test_a_result_can_be_read_again_whatever_the_pattern(pattern):
    result = a_result("travel_01", "failed", cause="said 4111", warnings=("4111",))
    kept = redactor_of([pattern]).data(result)
    assert parse_json(Result, dump_json(kept), where="") == kept
    assert (kept.item_id, kept.nodeid, kept.outcome, kept.agent.name) == (
        result.item_id,
        result.nodeid,
        result.outcome,
        result.agent.name,
    )


def test_what_a_judge_was_asked_and_said_loses_it_too_and_keeps_its_question():
    judge = Judge(model="m4111", host="h", prompt_version=1, prompt_sha256="4111", temperature=0.0)
    asked = Asked(question="argument", tool="pay", argument="card", expected=4111, actual="4112")
    found = redactor_of(["4111"]).data(
        Judgement(item_id="4111", judge=judge, asked=asked, correct=False, reason="4111 is another")
    )
    assert (found.judge, found.item_id, found.asked.question) == (judge, "4111", "argument")
    assert (found.asked.expected, found.asked.actual, found.reason) == (MARK, "4112", f"{MARK} is another")


def test_what_holds_no_match_is_the_same_object_and_says_nothing_of_it():
    result, held = a_result(), conversation()
    redactor = redactor_of(["nowhere"])
    assert redactor.data(result) is result
    assert redactor.conversation(held) == held


@pytest.mark.parametrize(
    ("pattern", "why"), [("(", "no regular expression"), ("", "empty"), ("a{9999999999}", "no reg")]
)
def test_a_bad_pattern_is_refused_in_one_line(pattern, why):
    with pytest.raises(PatternRefused, match=why) as refused:
        redactor_of([pattern])
    assert "\n" not in str(refused.value)


def test_a_pattern_that_would_take_for_ever_is_refused_before_anything_runs():
    check_speed(redactor_of([r"\b(?:\d[ -]?){13,16}\b", "(?i)milan|rome", r"[\w.+-]+@[\w-]+\.\w+"]))
    with pytest.raises(PatternRefused, match="repeats a repeat"):
        check_speed(redactor_of(["(a+)+$"]))
