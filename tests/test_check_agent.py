"""`check-agent`: what each line of its table says of a conversation, and the command as a person runs it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from builders import call, conversation, span, turn

from pytest_voicebench.__main__ import main
from pytest_voicebench.agents.simulated import build
from pytest_voicebench.checking.findings import Held, findings
from pytest_voicebench.checking.run import hold_scenes
from pytest_voicebench.checking.scenes import scenes
from pytest_voicebench.conversation import Chunk, Delivery, Problem, Transcribed, to_ticks

REQUEST = turn(0.0, 10.0)
CALL = replace(call("track_order", 11.0), acknowledged_ticks=to_ticks(11.1))
OTHER = replace(call("search_products", 11.5), acknowledged_ticks=to_ticks(11.6))


def held(**fields):
    return Held(conversation=replace(conversation(), utterances=(REQUEST,), **fields))


def line(name, scene, of_scene):
    return next((f.verdict, f.told) for f in findings({scene: of_scene}) if f.name == name)


@pytest.mark.parametrize(
    ("name", "scene", "of_scene", "verdict", "told"),
    [
        ("connect", "request", held(), "works", "ready"),
        (
            "connect",
            "request",
            held(problems=(Problem(kind="agent_absent", message="no connection"),)),
            "fails",
            "agent_absent: no connection",
        ),
        ("pacing", "request", held(delivery=Delivery(planned_blocks=9, sent_blocks=7)), "fails", "took 7 of 9 blocks"),
        (
            "pacing",
            "request",
            held(delivery=Delivery(planned_blocks=9, sent_blocks=9, late_p99_s=0.0213, late_max_s=0.0405)),
            "fails",
            "blocks 21.3 ms late at the 99th percentile, 40.5 at most; 20 and 100 ms are allowed",
        ),
        (
            "pacing",
            "request",
            held(delivery=Delivery(planned_blocks=9, sent_blocks=9, late_p99_s=0.0012)),
            "works",
            "blocks 1.2 ms late",
        ),
        (
            "pacing",
            "request",
            held(delivery=Delivery(planned_blocks=9, sent_blocks=9, late_p99_s=0.0012, read_late_p99_s=0.0004)),
            "works",
            "messages read 0.4 ms late",
        ),
        (
            "pacing",
            "request",
            held(
                delivery=Delivery(
                    planned_blocks=9, sent_blocks=9, late_p99_s=0.001, read_late_p99_s=0.01, answer_late_max_s=0.1301
                )
            ),
            "fails",
            "an answer left 130.1 ms late; 100 are allowed",
        ),
        ("one turn", "request", held(agent_speech=(span(10.8, 12),)), "works", "spoke 0.80 s after the user's end"),
        ("one turn", "request", held(agent_speech=(span(1, 2),)), "fails", "no speech was heard after"),
        ("tool round trip", "request", held(calls=()), "fails", "no call ran and was answered; calls: none"),
        (
            "tool round trip",
            "request",
            held(calls=(CALL,), agent_speech=(span(10.5, 11),)),
            "fails",
            "nothing was said",
        ),
        (
            "tool round trip",
            "request",
            held(calls=(CALL,), agent_speech=(span(10.5, 11.2),)),
            "fails",
            "nothing was said",
        ),
        ("tool round trip", "request", held(calls=(CALL,), agent_speech=(span(10.5, 13),)), "works", "track_order"),
        ("tool round trip", "request", held(calls=(CALL,), agent_speech=(span(12, 13),)), "works", "track_order"),
        (
            "tool round trip",
            "request",
            held(calls=(replace(CALL, name="nobodys", status="rejected"),), agent_speech=(span(12, 13),)),
            "fails",
            "no call ran and was answered; calls: nobodys rejected",
        ),
        (
            "tool round trip",
            "request",
            held(calls=(replace(CALL, acknowledged_ticks=None, response_id="r1"),)),
            "fails",
            "calls: track_order executed (its result waits for TurnEnd of 'r1': none came)",
        ),
        ("two calls", "two_calls", held(calls=(CALL,)), "fails", "asked for; ran and answered: track_order"),
        (
            "two calls",
            "two_calls",
            held(calls=(replace(CALL, status="rejected"), replace(OTHER, status="rejected"))),
            "fails",
            "ran and answered: none; calls: track_order rejected, search_products rejected",
        ),
        ("two calls", "two_calls", held(calls=(CALL, OTHER)), "works", "one after the other"),
        (
            "two calls",
            "two_calls",
            held(calls=(replace(CALL, response_id="r"), replace(OTHER, response_id="r"))),
            "works",
            "track_order, search_products, in one response",
        ),
        ("transcripts", "request", held(), "lacks", "no texts"),
        (
            "transcripts",
            "request",
            held(transcripts=(Transcribed(speaker="agent", text="Hello.", at_ticks=0),)),
            "works",
            "texts of agent",
        ),
        ("usage", "request", held(), "lacks", "counts nothing"),
        ("usage", "request", held(usage={"b": 2.0, "a": 1.5}), "works", "a 1.5, b 2"),
        ("barge-in", "barge_in", held(), "unknown", "never heard"),
        ("long silence", "silence", held(ended="line_closed"), "fails", "the line closed at"),
        ("inject", "inject", Held(unsupported="takes no text"), "lacks", "takes no text"),
        ("faults", "inject", held(), "works", "none"),
        ("faults", "inject", held(problems=(Problem(kind="agent", message="odd"),)), "fails", "odd"),
    ],
)
def test_a_line_says_what_the_conversation_shows(name, scene, of_scene, verdict, told):
    found = line(name, scene, of_scene)
    assert found[0] == verdict
    assert told in found[1]


@pytest.mark.parametrize(
    ("speech", "verdict", "told"),
    [
        (span(11, 12.5), "works", "fell silent 0.50 s after the user cut in"),
        (span(11, 15), "fails", "spoke on for 3.00 s"),
        (span(11, 11.9), "unknown", "the reply was over when the user cut in, 0.6 s after it began to be heard"),
    ],
)
def test_a_barge_in_is_seen_by_how_long_the_agent_speaks_on(speech, verdict, told):
    talk = replace(conversation(), utterances=(REQUEST, turn(12, 20, step=1)), agent_speech=(speech,))
    cut = replace(talk, clears_ticks=(to_ticks(12.4),))
    assert line("barge-in", "barge_in", Held(conversation=cut)) == (verdict, told)


def test_a_reply_that_ends_by_itself_shows_no_barge_in():
    talk = replace(conversation(), utterances=(REQUEST, turn(12, 20, step=1)), agent_speech=(span(11, 12.5),))
    verdict, told = line("barge-in", "barge_in", Held(conversation=talk))
    assert verdict == "unknown"
    assert "perhaps at its own end: no sound was cut off" in told
    heard = Chunk(item_id="i", received_ticks=0, start_ticks=0, length_ticks=2400, heard_ticks=2399)
    assert line("barge-in", "barge_in", Held(conversation=replace(talk, chunks=(heard,))))[0] == "works"


AGAIN = turn(20.0, 28.0, step=3)
GOT_IT = Transcribed(speaker="agent", text="Your order Z 909-Q is on its way.", at_ticks=to_ticks(30.0))


@pytest.mark.parametrize(
    ("fields", "verdict", "told"),
    [
        ({}, "unknown", "it took the text, and neither calls nor says what it was told (Z909Q)"),
        ({"calls": (call("track_order", 29.0, args={"order_id": "z909q"}),)}, "works", "is in its call of track_order"),
        ({"calls": (call("track_order", 11.0, args={"order_id": "Z909Q"}),)}, "unknown", "neither calls nor says"),
        ({"calls": (call("track_order", 29.0, args={"order_id": "J617"}),)}, "unknown", "neither calls nor says"),
        ({"transcripts": (GOT_IT,)}, "works", "is in what it says"),
        ({"transcripts": (replace(GOT_IT, speaker="user"),)}, "unknown", "neither calls nor says"),
        ({"transcripts": (replace(GOT_IT, at_ticks=to_ticks(12.0)),)}, "unknown", "neither calls nor says"),
    ],
)
def test_a_text_between_two_turns_must_show_in_what_the_agent_does_after_the_second(fields, verdict, told):
    talk = replace(conversation(), utterances=(REQUEST, AGAIN), **fields)
    found = line("inject", "inject", Held(conversation=talk))
    assert found[0] == verdict
    assert told in found[1]


def test_an_agent_that_never_answers_cannot_be_told_anything_between_two_turns():
    assert line("inject", "inject", held())[0] == "unknown"


def test_each_scene_is_given_as_soon_as_it_is_over():
    coming = hold_scenes(scenes()[:2], build, lambda name, at_s: None)
    assert next(coming)[0] == "request"
    coming.close()


def test_an_agent_that_takes_a_text_and_makes_nothing_of_it_is_not_called_working():
    class Forgets:
        def __init__(self, scenario):
            self.inner = build(scenario)
            self.info = self.inner.info

        @asynccontextmanager
        async def connect(self, setup):
            async with self.inner.connect(setup) as line:
                line._told = Nothing()
                yield line

    class Nothing(list):
        def append(self, _):
            """Forgotten."""

    (scene,) = [scene for scene in scenes() if scene.name == "inject"]
    for make, verdict in ((build, "works"), (Forgets, "unknown")):
        ((_, of_scene),) = hold_scenes((scene,), make, lambda name, at_s: None)
        assert line("inject", "inject", of_scene)[0] == verdict


def test_faults_are_unknown_where_no_conversation_was_held():
    absent = held(problems=(Problem(kind="agent_absent", message="no"),))
    assert line("faults", "request", absent) == ("unknown", "no conversation was held")


def test_after_a_first_conversation_without_a_connection_nothing_else_is_tried():
    class Absent:
        info = build(scenes()[0].scenario).info

        def connect(self, setup):
            raise OSError("nobody there")

    told = []
    found = dict(hold_scenes(scenes(), lambda scenario: Absent(), lambda name, at_s: told.append(name)))
    assert list(found) == ["request"]
    verdicts = {f.name: f.verdict for f in findings(found)}
    assert verdicts["connect"] == "fails"
    assert verdicts["reconnect"] == verdicts["inject"] == "unknown"


def test_an_agent_that_does_everything_right_ends_with_0(capsys):
    assert main(["check-agent", "simulated"]) == 0
    shown = capsys.readouterr().out
    assert "barge-in         works" in shown
    assert shown.splitlines()[-1] == "11 work, 1 is done without"


def test_an_agent_that_does_nothing_ends_with_1_and_each_line_says_what_is_missing(capsys):
    assert main(["check-agent", "simulated,behaviour=no_op"]) == 1
    shown = capsys.readouterr().out
    assert "one turn         FAILS         no speech was heard after the user's end" in shown
    assert "barge-in         not seen" in shown


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ("nobody", "check-agent: unknown agent 'nobody'"),
        ("grok", "check-agent: agent 'grok': XAI_API_KEY is not set"),
        ("simulated,behaviour=odd", "check-agent: agent 'simulated,behaviour=odd'"),
    ],
)
def test_an_agent_that_is_none_is_one_line_and_ends_with_2(agent, told, capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("XAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["check-agent", agent]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(told)
