"""The parts of the agent `cascaded` that need no service: sentences, calls in pieces, the history a model is told."""

from __future__ import annotations

import io
import wave
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.agents.protocol import ToolResult
from pytest_voicebench.agents.turn_based.delivery import InSentences
from pytest_voicebench.agents.turn_based.history import History, Reply, Sentence
from pytest_voicebench.agents.turn_based.sentences import LONGEST, SentenceSplitter
from pytest_voicebench.agents.turn_based.speaking import Loudspeaker
from pytest_voicebench.agents.turn_based.streamed_calls import StreamedCalls, WrittenCall
from pytest_voicebench.agents.turn_based.wav import wav_of
from pytest_voicebench.audio import Audio


def split(*pieces):
    splitter = SentenceSplitter()
    return [s for piece in pieces for s in splitter.feed(piece)] + splitter.rest()


@pytest.mark.parametrize(
    ("pieces", "sentences"),
    [
        (["I found two flights. The first costs ", "$120.50. Sho", "uld I book it?"],
         ["I found two flights.", "The first costs $120.50.", "Should I book it?"]),
        (["Dr. Smith is in. Yes."], ["Dr. Smith is in.", "Yes."]),
        (["No. I am sorry! "], ["No. I am sorry!"]),
        (["One line of text\nand another one"], ["One line of text", "and another one"]),
        (['He said "not today." And left.'], ['He said "not today."', "And left."]),
        ([" ", "\n", ""], []),
        (["no end at all"], ["no end at all"]),
    ],
)  # fmt: skip
def test_text_is_cut_where_a_sentence_ends_and_another_text_begins(pieces, sentences):
    assert split(*pieces) == sentences


def test_a_sentence_is_given_as_soon_as_the_next_one_begins():
    splitter = SentenceSplitter()
    assert splitter.feed("I found two flights.") == []
    assert splitter.feed(" The") == ["I found two flights."]


def test_a_text_without_an_end_is_cut_at_a_space():
    pieces = split("word " * 600)
    assert all(len(p) <= LONGEST for p in pieces)
    assert " ".join(pieces).split() == ["word"] * 600
    assert [len(p) for p in split("x" * 2500)] == [1000, 1000, 500]


@given(st.lists(st.text(alphabet="ab .!?\n", max_size=30), max_size=20))
def test_no_word_is_lost_or_added_however_the_text_is_cut_into_pieces(pieces):
    assert "".join("".join(split(*pieces)).split()) == "".join("".join(pieces).split())


def told(*pieces):
    calls = StreamedCalls()
    for piece in pieces:
        calls.add(piece)
    return [(c.call_id, c.name, c.arguments) for c in calls.calls()]


def piece(index, call_id=None, name=None, arguments=None):
    place = {} if index is None else {"index": index}
    return [{**place, "id": call_id, "function": {"name": name, "arguments": arguments}}]


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        ([piece(0, "a", "f", ""), piece(0, arguments='{"x"'), piece(0, arguments=": 1}")], [("a", "f", '{"x": 1}')]),
        ([piece(0, "a", "f", "{"), piece(1, "b", "g", "["), piece(0, arguments="}"), piece(1, arguments="]")],
         [("a", "f", "{}"), ("b", "g", "[]")]),
        ([piece(0, "a", "f", "1"), piece(0, "a", "f", "2")], [("a", "f", "12")]),
        ([piece(None, "a", "f", "{"), piece(None, arguments="}"), piece(None, "b", "g", "{}")],
         [("a", "f", "{}"), ("b", "g", "{}")]),
        ([piece(0, "a", "f", "{}"), piece(0, "b", "f", '{"x"'), piece(0, arguments=": 1}")],
         [("a", "f", "{}"), ("b", "f", '{"x": 1}')]),
        ([piece(0, "a", "f", ""), piece(0, "", None, "{}"), piece(0, "b", "g", ""), piece(0, "", None, "{}")],
         [("a", "f", "{}"), ("b", "g", "{}")]),
        ([piece(0, "a", "f", '{"x"'), piece(0, "b", "f", ": 1}"), piece(0, "c", None, "")], [("a", "f", '{"x": 1}')]),
        ([None, "x", [1], [{}], [{"index": 0, "function": None}]], [("", "", ""), ("", "", "")]),
    ],
)  # fmt: skip
def test_pieces_of_calls_come_together_by_index(pieces, calls):
    assert told(*pieces) == calls


def test_what_cannot_be_said_is_no_sentence():
    reply, said = Reply(), []
    delivery = InSentences(reply, map(str, count(1)), said.append)
    for text in ("Your flight is booked! ", "\U0001f60a", "\n------------\n", "Það er allt. ", "**"):
        delivery.take({"content": text})
    delivery.end(called=False)
    assert [s.text for s in said] == ["Your flight is booked!", "Það er allt."]
    assert reply.sentences == said


def test_text_that_comes_in_parts_is_said_and_thoughts_are_not():
    reply, said = Reply(), []
    delivery = InSentences(reply, map(str, count(1)), said.append)
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    for content in ([thought], [{"type": "text", "text": "Your flight "}, 7, {"type": "text"}], "is booked."):
        delivery.take({"content": content, "reasoning_content": "Let me see."})
    delivery.end(called=False)
    assert [s.text for s in said] == ["Your flight is booked."]


def test_a_sentence_that_was_broken_off_is_sent_no_further():
    emitted, sentence = [], Sentence(item_id="s1", text="one two three")
    loudspeaker = Loudspeaker(emitted.append, lambda: 1.0)
    piece = Audio(samples=np.ones(2400, np.int16), rate_hz=24_000)
    loudspeaker.play(sentence, piece)
    told = History("Help.")
    told.begin().sentences.append(sentence)
    told.stop()
    loudspeaker.stop()
    loudspeaker.play(sentence, piece)
    assert len(emitted) == 1
    assert (sentence.sent_s, loudspeaker.playing) == (0.1, False)


def history(*sentences, calls=()):
    """A user's turn and a reply with these sentences, each of 2 s and complete."""
    told = History("Help.")
    told.heard("hi")
    reply = told.begin()
    reply.sentences += [Sentence(item_id=f"s{n}", text=t, sent_s=2.0, complete=True) for n, t in enumerate(sentences)]
    told.called(reply, calls)
    return told


def spoken(told):
    return [m["content"] for m in told.messages() if m["role"] == "assistant"]


def test_a_reply_is_told_with_what_was_played_of_it():
    told = history("one two three four", "five six seven eight")
    assert spoken(told) == ["one two three four five six seven eight"]
    told.played("s1", 1.0)
    assert spoken(told) == ["one two three four five six"]
    told.played("s0", 1.5)
    told.played("s1", 0.0)
    assert spoken(told) == ["one two three"]
    assert told.settled
    told.played("s0", 0.0)
    assert spoken(told) == []
    assert not told.settled


def test_what_was_never_made_was_never_said():
    told = history("one two three four")
    reply = told.begin()
    text = "a" * 15 + " " + "b" * 14  # two seconds at 15 characters a second
    reply.sentences += [Sentence(item_id="half", text=text, sent_s=1.0), Sentence(item_id="none", text="never")]
    assert [s.item_id for s in told.stop()] == ["half"]
    assert told.stop() == []
    assert spoken(told) == ["one two three four", "a" * 15]


def test_calls_stay_when_the_words_around_them_are_cut_and_results_follow_them():
    told = history("one two", calls=[WrittenCall("a", "f", "{}"), WrittenCall("b", "g", "{")])
    told.heard("wait")
    assert told.waiting
    told.played("s0", 0.0)
    told.answered([ToolResult(call_id="a", name="f", result={"n": 1}), ToolResult(call_id="x", name="f", result=0)])
    assert told.waiting
    told.answered([ToolResult(call_id="b", name="g", result={"error": "no JSON"}, is_error=True)])
    assert not told.waiting
    _, _, reply, first, second, user = told.messages()
    assert (reply["content"], [c["function"]["arguments"] for c in reply["tool_calls"]]) == (None, ["{}", "{"])
    assert [(m["tool_call_id"], m["content"]) for m in (first, second)] == [
        ("a", '{"n": 1}'),
        ("b", '{"error": "no JSON"}'),
    ]
    assert user == {"role": "user", "content": "wait"}


def test_ids_of_calls_are_made_unique():
    told = history(calls=[WrittenCall("", "f"), WrittenCall("a", "f"), WrittenCall("a", "g")])
    ids = [c["id"] for m in told.messages() for c in m.get("tool_calls", [])]
    assert (len(set(ids)), ids[1]) == (3, "a")
    assert all(ids)


@pytest.mark.parametrize(("ending", "settled"), [("reply", True), ("calls", False), ("user", False), ("start", True)])
def test_a_history_is_settled_after_a_reply_that_called_nothing(ending, settled):
    told = History("Help.") if ending == "start" else history("one", calls=[WrittenCall("a")] * (ending == "calls"))
    if ending == "user":
        told.heard("and?")
    assert told.settled is settled


def test_a_wav_file_holds_the_samples_exactly():
    samples = np.array([-32768, -1, 0, 1, 32767], np.int16)
    with wave.open(io.BytesIO(wav_of(samples.astype(np.float32) / 32768.0))) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16_000, 1, 2)
        assert np.frombuffer(file.readframes(9), "<i2").tolist() == samples.tolist()
