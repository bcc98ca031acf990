"""A suite file becomes the scenarios that it describes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import soundfile
from good_suites import GOOD, changed, copy_of_good
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pytest_voicebench.files import file_sha256
from pytest_voicebench.loading import SuiteError, check_distinct, is_suite_file, load_suite, recordings
from pytest_voicebench.loading.document import plain, read_document
from pytest_voicebench.loading.mistakes import Report
from pytest_voicebench.scenario import RoomTone, Trigger
from pytest_voicebench.user import load_clip


@pytest.fixture
def suite_folder(tmp_path: Path) -> Path:
    """A copy of the good suites, to be changed."""
    return copy_of_good(tmp_path / "suite")


def problems(path: Path) -> list[str]:
    """What is wrong with a suite, without paths and lines."""
    with pytest.raises(SuiteError) as caught:
        load_suite(path)
    return [f"{problem.where}: {problem.what}" for problem in caught.value.problems]


def test_two_speakers_make_two_items_and_one_speaker_makes_one_named_like_the_scenario() -> None:
    suite = load_suite(GOOD / "travel.yaml")
    assert [s.item_id for s in suite.scenarios] == ["two_corrections-a", "two_corrections-b", "one_speaker"]
    first, second, third = suite.scenarios
    assert first.id == second.id == "two_corrections"
    assert first.speaker is not None
    assert first.speaker.tone == RoomTone(seed=7, level_dbfs=-58)
    assert first.speaker.traits["native"] is True
    assert third.speaker is not None
    assert third.speaker.id == "b"
    assert third.speaker.tone is None


def test_all_that_a_scenario_says_arrives() -> None:
    scenario = load_suite(GOOD / "travel.yaml").scenarios[0]
    assert scenario.suite.today == date(2026, 4, 6)
    assert scenario.suite.stimulus == "synthetic"
    assert scenario.suite.instructions == (GOOD / "instructions.md").read_text(encoding="utf-8")
    assert (scenario.domain, scenario.difficulty, scenario.tags) == ("travel_identity", "hard", ("quick",))
    assert scenario.disfluency == ("self_correction", "filler")
    assert scenario.line == 11
    (call,) = scenario.expect.calls
    assert (call.tool, call.args) == ("search_flights", {"destination": "Milan", "date": "2026-06-03"})
    assert [(r.args, r.until) for r in scenario.retracted] == [
        ({"destination": "Rome"}, "to Milan"),
        ({"date": "2026-06-01"}, "June third"),
    ]
    (step,) = scenario.steps
    assert step.audio == GOOD / "audio" / "corrections.a.flac"
    assert step.timing is not None
    assert [word for word, _, _ in step.timing.words][:3] == ["Find", "me", "a"]


def test_recordings_may_lie_below_another_folder_with_their_timing_files_in_the_suites_own() -> None:
    first, second, third = load_suite(GOOD / "elsewhere.yaml").scenarios
    (step,) = first.steps
    assert step.audio is not None
    assert Path(str(step.audio)).samefile(GOOD / "audio" / "hello.flac")
    assert (step.channel, step.timing_file) == ("left", GOOD / "audio" / "hello.json")
    assert step.timing is not None
    assert first.speaker is not None
    assert first.speaker.id == "0a1b"
    assert (first.state_rollback, first.latency_profile) == (True, "instant")
    assert (second.state_rollback, second.latency_profile) == (False, None)
    assert third.skip == "no recording"
    assert third.steps[0].audio is None


def test_a_known_issue_may_expect_what_no_agent_can_do_and_nothing_of_it_is_lost() -> None:
    scenario = load_suite(GOOD / "elsewhere.yaml").scenarios[1]
    assert [(call.tool, call.args) for call in scenario.expect.calls] == [
        ("search_flights", {"destination": 7, "wings": 2}),
        ("teleport", {"to": "$RESULT_9.nowhere"}),
    ]


def test_without_the_known_issue_the_same_labels_are_mistakes(suite_folder: Path) -> None:
    path = changed(suite_folder / "elsewhere.yaml", "    known_issue: search_flights has no such argument\n", "")
    assert len(problems(path)) == 4


def test_a_channel_is_part_of_the_stimulus_and_a_root_is_not(suite_folder: Path) -> None:
    path = suite_folder / "elsewhere.yaml"
    before = load_suite(path).scenarios[0].sha256
    changed(path, "audio_root: audio", f"audio_root: {json.dumps(str(suite_folder / 'audio'))}")
    assert load_suite(path).scenarios[0].sha256 == before
    changed(path, "channel: left", "channel: mix")
    assert load_suite(path).scenarios[0].sha256 != before


def test_a_recording_of_two_channels_is_read_by_the_channel_named(suite_folder: Path) -> None:
    mono, rate = soundfile.read(suite_folder / "audio" / "hello.flac", dtype="int16")
    stereo = suite_folder / "audio" / "both.wav"
    soundfile.write(stereo, np.stack([np.zeros_like(mono), mono], axis=1), rate)
    timing = json.loads((suite_folder / "audio" / "hello.json").read_text(encoding="utf-8"))
    timing["audio_sha256"] = file_sha256(stereo)
    (suite_folder / "both.json").write_text(json.dumps(timing), encoding="utf-8")
    path = suite_folder / "elsewhere.yaml"
    changed(path, "audio: hello.flac, channel: left, timing: audio/hello.json", "audio: both.wav, timing: both.json")
    assert problems(path) == [
        "pointed_at.user[0].audio: both.wav: has two channels; say which is the user's, beside audio: "
        "channel: left, right or mix"
    ]
    changed(path, "audio: both.wav,", "audio: both.wav, channel: right,")
    (step,) = load_suite(path).scenarios[0].steps
    assert isinstance(step.audio, Path)
    assert load_clip(step.audio, rate, step.channel).samples.tolist() == mono.tolist()
    assert not load_clip(step.audio, rate, "left").samples.any()


def test_later_turns_wait_for_the_agent_and_when_says_otherwise() -> None:
    (scenario,) = load_suite(GOOD / "three_turns.yaml").scenarios
    assert [s.trigger for s in scenario.steps] == [
        Trigger(kind="start"),
        Trigger(kind="after_agent", seconds=0.8),
        Trigger(kind="after_agent", seconds=1.2),
    ]
    (barge,) = load_suite(GOOD / "barge_in.yaml").scenarios
    assert barge.steps[1].trigger == Trigger(kind="into_agent", seconds=1.5)
    (long_talk,) = load_suite(GOOD / "seventeen_turns.yaml").scenarios
    assert [s.kind for s in long_talk.steps] == ["say"] * 17
    assert long_talk.stimulus_text.splitlines()[16] == "And Malmo?"
    assert long_talk.max_duration_s == 900


def test_every_kind_of_step_is_read() -> None:
    (scenario,) = load_suite(GOOD / "every_step.yaml").scenarios
    steps = scenario.steps
    assert [s.kind for s in steps] == ["wait", "say", "insert", "backchannel", "insert", "inject", "wait", "end"]
    assert [s.insert for s in steps if s.kind == "insert"] == ["vocal_tic", "non_directed"]
    assert [s.seconds for s in steps if s.kind == "wait"] == [0.5, 2]
    assert steps[2].text == ""
    assert steps[3].text == "mm-hm"
    assert steps[4].text == "Not now, Tom."
    assert steps[5].text == "The caller is a gold member."
    assert steps[2].trigger == Trigger(kind="start")


def test_a_generator_is_found_but_not_run(suite_folder: Path) -> None:
    (suite_folder / "simulated_user.py").write_text("raise SystemExit\ndef asks(): ...\n", encoding="utf-8")
    (scenario,) = load_suite(suite_folder / "generated.yaml").scenarios
    assert (scenario.steps, scenario.generator) == ((), "simulated_user:asks")


def test_plain_scalars_follow_yaml_1_2() -> None:
    (scenario,) = load_suite(GOOD / "scalars.yaml").scenarios
    first, second, third = (call.args for call in scenario.expect.calls)
    assert scenario.title == "no"
    assert first == {
        "country": "no",
        "switch": "on",
        "time": "12:30",
        "early": "09:30",
        "order": "00123",
        "zip": "02134",
        "date": "2026-10-07",
    }
    assert second == {"sum": "1_000", "hex": "0x1F", "plus": "+5", "year": "1999", "version": "1.10"}
    assert third == {"budget": 1000.0, "rate": -0.5, "count": 12, "ok": True, "whole": 3}
    assert isinstance(third["whole"], int)


def test_what_may_be_added_to_pass_and_to_matching_arrives() -> None:
    (scenario,) = load_suite(GOOD / "requirements.yaml").scenarios
    expect = scenario.expect
    assert [(r.name, r.operator, r.bound) for r in expect.pass_requires] == [
        ("mentions", None, None),
        ("no_interruption", None, None),
        ("order", None, None),
        ("first_response_s", "<", 2.0),
    ]
    assert [call.allow_extra for call in expect.calls] == [("flight_id",), ()]
    assert (expect.ordered, expect.mentions, expect.aliases) == (
        True,
        ("Las Vegas", "2"),
        {"Las Vegas": ("Vegas", "Sin City")},
    )


def test_documents_are_read_and_skips_keep_their_reason() -> None:
    suite = load_suite(GOOD / "set_aside.yaml")
    assert suite.info.documents == ((GOOD / "instructions.md").read_text(encoding="utf-8"),)
    assert suite.scenarios[0].skip == "the tool is not there yet"
    assert suite.scenarios[1].known_issue == "the mock knows one flight only"


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("travel.yaml", "June third", "June fourth"),
        ("travel.yaml", "today: 2026-04-06", "today: 2026-04-07"),
        ("instructions.md", "phone", "telephone"),
        ("tools.yaml", "Find flights", "Look for flights"),
        ("tools.yaml", "price: 450.0", "price: 460.0"),
        ("mock_api.py", "success", "done"),
        ("speakers.yaml", "seed: 7", "seed: 8"),
    ],
)
def test_whatever_shapes_the_conversation_changes_its_hash(
    suite_folder: Path, file: str, before: str, after: str
) -> None:
    old = load_suite(suite_folder / "travel.yaml").scenarios[0]
    changed(suite_folder / file, before, after)
    if after == "June fourth":  # the recording is made anew, too
        timing = suite_folder / "audio" / "corrections.a.json"
        changed(timing, '"third."', '"fourth."')
        changed(timing.with_suffix("").with_suffix(".b.json"), '"third."', '"fourth."')
    new = load_suite(suite_folder / "travel.yaml").scenarios[0]
    assert new.sha256 != old.sha256


def test_what_only_judges_changes_only_the_hash_of_the_expectation(suite_folder: Path) -> None:
    old = load_suite(suite_folder / "travel.yaml").scenarios[0]
    changed(suite_folder / "travel.yaml", "mentions: [Milan]", "mentions: [Milano]")
    new = load_suite(suite_folder / "travel.yaml").scenarios[0]
    assert new.sha256 == old.sha256
    assert new.expect_sha256 != old.expect_sha256
    changed(suite_folder / "tools.yaml", "type: string, match: place", "type: string, match: text")
    newer = load_suite(suite_folder / "travel.yaml").scenarios[0]
    assert newer.sha256 == old.sha256
    assert newer.expect_sha256 != new.expect_sha256


def test_the_hash_does_not_depend_on_where_the_suite_lies_or_how_it_is_laid_out(suite_folder: Path) -> None:
    old = load_suite(GOOD / "travel.yaml").scenarios
    path = suite_folder / "travel.yaml"
    path.write_text("\n# a comment\n" + path.read_text(encoding="utf-8").replace("\n", "\r\n"), encoding="utf-8")
    new = load_suite(path).scenarios
    assert [(s.sha256, s.expect_sha256) for s in new] == [(s.sha256, s.expect_sha256) for s in old]
    assert len({s.sha256 for s in old}) == 3


def test_a_link_that_leads_outside_the_folder_is_not_followed(suite_folder: Path) -> None:
    audio = suite_folder / "audio" / "hello.flac"
    audio.rename(suite_folder.parent / "hello.flac")
    os.symlink(suite_folder.parent / "hello.flac", audio)
    assert problems(suite_folder / "minimal.yaml") == [
        'just_hello.user[0].audio: "audio/hello.flac" lies outside the suite\'s folder, where nothing is read'
    ]


def test_a_folder_behind_a_link_is_a_folder(suite_folder: Path) -> None:
    link = suite_folder.parent / "link"
    os.symlink(suite_folder, link)
    assert load_suite(link / "minimal.yaml").scenarios


def test_a_large_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_bytes(b"voicebench: 1\n" + b"# filler\n" * 1_200_000)
    assert problems(path) == ["file: 10,800,014 bytes; at most 2,000,000 are read: split the suite into several files"]


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert problems(tmp_path / "no.yaml") == ["file: there is no such file"]
    assert problems(tmp_path) == ["file: this is not a file"]


@pytest.mark.parametrize("text", ["[" * 100_000, "- " * 100_000, "{a: " * 5_000, "? " * 5_000])
def test_nesting_without_end_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text(text, encoding="utf-8")
    assert re.search("nested more than 40 deep|maximum nesting depth", problems(path)[-1])


def test_an_anchor_bomb_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "bomb.yaml"
    rows = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    path.write_text("voicebench: 1\n" + "\n".join(rows), encoding="utf-8")
    assert "yaml: *a0: aliases are not read; write the value out" in problems(path)


def test_comment_and_colon_traps_are_told(tmp_path: Path, suite_folder: Path) -> None:
    path = suite_folder / "minimal.yaml"
    changed(path, "calls: []", "calls: [{note: {b:1}}, {note: {country: #12\n}}]")
    assert problems(path) == [
        'just_hello.expect.calls[0].note: note has no argument "b:1"; known: '
        "country, switch, time, early, order, zip, date, sum, hex, plus, year, version",
        "just_hello.expect.calls[1].note.country: expected text, got nothing; "
        'text that starts with # must be quoted: "#..."',
    ]


def test_a_broken_tool_file_is_told_once_and_does_not_hide_the_suites_own_mistakes(suite_folder: Path) -> None:
    changed(suite_folder / "tools.yaml", "match: place", "match: palce")
    changed(suite_folder / "travel.yaml", "id: one_speaker", "id: One")
    first, second = problems(suite_folder / "travel.yaml")
    assert first.startswith('One.id: "One" is not a name')
    assert second.startswith("search_flights.parameters.destination.match: expected identifier, ")


def test_the_same_id_in_two_files_is_told_with_both_places(suite_folder: Path) -> None:
    other = Path(shutil.copy(suite_folder / "minimal.yaml", suite_folder / "other.yaml"))
    suites = [load_suite(suite_folder / "minimal.yaml"), load_suite(other)]
    with pytest.raises(SuiteError) as caught:
        check_distinct(suites)
    assert str(caught.value) == (
        f"{other}:8: just_hello: the id stands twice; first in {suite_folder / 'minimal.yaml'}:8"
    )
    check_distinct(suites[:1])


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("voicebench: 1\n", True),
        ("# a comment\n---\n\nvoicebench: 2\n", True),
        ("\ufeffvoicebench: 1\n", True),
        ("'voicebench': 1\n", True),
        ("services:\n  voicebench: 1\n", False),
        ("kind: tool_use\nvoicebench: 1\n", False),
        ("voicebenches: 1\n", False),
        ("", False),
        ("[1, 2", False),
    ],
)
def test_only_a_file_whose_first_key_is_voicebench_is_ours(tmp_path: Path, text: str, ours: bool) -> None:
    path = tmp_path / "docker-compose.yaml"
    path.write_text(text, encoding="utf-8")
    assert is_suite_file(path) is ours


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_named_like_a_suite_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    assert is_suite_file(tmp_path / "pipe.yaml") is False


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cn", "Co")))  # what YAML can hold unescaped
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**53), max_value=2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(value=st.dictionaries(TEXTS, JSON_VALUES, min_size=1, max_size=4))
def test_json_reads_as_itself(value: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "value.yaml"
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    report = Report(path)
    root = read_document(path, report)
    assert report.mistakes == []
    assert root is not None
    assert plain(root) == value


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=200))
def test_no_bytes_make_the_loader_fail_otherwise_than_by_its_own_error(
    data: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "noise.yaml"
    path.write_bytes(data)
    with pytest.raises(SuiteError) as caught:
        load_suite(path)
    assert all("\n" not in str(problem) for problem in caught.value.problems)


def test_loading_imports_nothing_heavy_and_a_vorbis_suite_needs_no_sound_library() -> None:
    code = (
        "import sys; from pathlib import Path; import pytest_voicebench.loading as l;"
        "heavy = {'numpy', 'yaml', 'pytest', 'jsonschema', 'pydantic', 'soundfile'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules);"
        "l.load_suite(Path(sys.argv[1])); assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(GOOD / "generated.yaml")], check=True, capture_output=True)


TONE = (np.sin(np.arange(16_000) / 10) * 8_000).astype(np.int16)


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 22_050, 44_100, 48_000])
def test_an_ordinary_vorbis_file_is_as_long_as_libsndfile_says(tmp_path: Path, rate_hz: int) -> None:
    path = tmp_path / "x.ogg"
    soundfile.write(path, TONE, rate_hz)
    info = soundfile.info(path)
    assert recordings._vorbis_length(path.read_bytes()) == (info.samplerate, info.frames / info.samplerate)


@pytest.mark.parametrize("name", ["x.wav", "x.flac", "x.mp3"])
def test_other_formats_are_left_to_libsndfile(tmp_path: Path, name: str) -> None:
    soundfile.write(tmp_path / name, TONE, 16_000)
    assert recordings._vorbis_length((tmp_path / name).read_bytes()) is None
    length = recordings._length(tmp_path / name, (tmp_path / name).read_bytes(), 0.5, None)
    assert not isinstance(length, str)
    assert length.rate_hz == 16_000
    assert length.seconds == pytest.approx(1.0, abs=0.1)


def test_a_vorbis_file_cut_short_is_read_whole_before_it_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "x.ogg"
    soundfile.write(path, np.tile(TONE, 20), 16_000)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    assert recordings._vorbis_length(path.read_bytes()) is None
    length = recordings._length(path, path.read_bytes(), 0.0, None)
    assert not isinstance(length, str)
    assert length.seconds < 15


def test_a_wav_whose_header_says_nothing_about_its_length_is_as_long_as_its_samples(tmp_path: Path) -> None:
    path = tmp_path / "x.wav"
    soundfile.write(path, TONE, 16_000)
    data = bytearray(path.read_bytes())
    at = data.index(b"data") + 4
    data[at : at + 4] = bytes(4)
    path.write_bytes(data)
    assert recordings._length(path, bytes(data), 0.0, None) == (16_000, 1.0)


@pytest.mark.parametrize(
    ("samples", "rate_hz", "message"),
    [
        (
            np.stack([TONE, TONE], axis=1),
            16_000,
            "x.wav: has two channels; say which is the user's, beside audio: channel: left, right or mix",
        ),
        (TONE, 4_000, "x.wav: its rate is 4000 Hz; convert it to one of 8000 to 96000 Hz"),
        (TONE[:0], 16_000, "x.wav: no audio: the file has a header and no samples; record it again"),
    ],
)
def test_sound_that_cannot_be_played_is_told_at_collection(
    suite_folder: Path, samples: NDArray[np.int16], rate_hz: int, message: str
) -> None:
    soundfile.write(suite_folder / "audio" / "x.wav", samples, rate_hz)
    changed(suite_folder / "minimal.yaml", "hello.flac", "x.wav")
    assert problems(suite_folder / "minimal.yaml") == [f"just_hello.user[0].audio: {message}"]


@pytest.mark.parametrize(
    ("field", "what"),
    [
        ({"rate_hz": 16_000}, "says 16000 Hz, the recording has 8000 Hz"),
        ({"speech": []}, "has no speech"),
    ],
)
def test_a_timing_file_that_does_not_fit_its_recording_is_told(
    suite_folder: Path, field: dict[str, object], what: str
) -> None:
    timing = suite_folder / "audio" / "hello.json"
    timing.write_text(json.dumps(json.loads(timing.read_text()) | field))
    assert problems(suite_folder / "minimal.yaml") == [f'just_hello.user[0].audio: "hello.json" {what}']


@pytest.mark.parametrize("text", ["[" * 100_000, '{"rate_hz": Infinity}', "", "7", '{"speech": 3}'])
def test_a_timing_file_of_another_kind_is_one_line(suite_folder: Path, text: str) -> None:
    (suite_folder / "audio" / "hello.json").write_text(text, encoding="utf-8")
    (problem,) = problems(suite_folder / "minimal.yaml")
    assert problem.startswith("just_hello.user[0].audio: hello.json: not a")


def test_noise_stops_after_five_hundred_mistakes(suite_folder: Path) -> None:
    rows = "".join(f"      - serch_flights: {{destination: Oslo{n}}}\n" for n in range(20_000))
    path = changed(suite_folder / "minimal.yaml", "expect: {calls: []}", f"expect:\n     calls:\n{rows}")
    found = problems(path)
    assert len(found) == 501
    assert found[-1] == "file: more than 500 mistakes; the rest is not listed"


def test_what_would_move_the_cursor_is_shown_as_an_escape(suite_folder: Path) -> None:
    path = changed(suite_folder / "minimal.yaml", "kind: tool_use", 'kind: "\\e[2J"')
    assert problems(path) == [r'suite.kind: expected tool_use, got "\x1b[2J"']


@pytest.mark.parametrize(
    ("text", "ends_there"),
    [
        ("a: BA #12", True),
        ("a: caf\u00e9 au lait #12\nb: 1", True),
        ("a: [x, BA #12\n  , y]", True),
        ("a: BA # 12", False),
        ("a: BA#12", False),
        ("a: 'BA #12'", False),
        ("a: |\n  BA #12", False),
        ("a: b ## heading", False),
    ],
)
def test_a_hash_that_may_be_meant_as_text_is_told(tmp_path: Path, text: str, ends_there: bool) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    report = Report(path)
    assert read_document(path, report) is not None
    assert ["is read as a comment" in m.what for m in report.mistakes] == [True] * ends_there


LINES = (GOOD / "requirements.yaml").read_text(encoding="utf-8").splitlines()
ODD = ("null", "[]", "{}", "true", "-1", '"x"', "[[1]]", "{a: {b: c}}", "*x", '"$RESULT_0.a"', ".nan", "|", "")


@settings(max_examples=150, deadline=None)
@given(at=st.integers(0, len(LINES) - 1), value=st.sampled_from((*ODD, None)))
def test_whatever_stands_at_a_key_the_loader_gives_a_suite_or_its_own_error(
    at: int, value: str | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "odd"
    if not folder.exists():
        copy_of_good(folder)
    changed_line = [] if value is None else [f"{LINES[at].partition(':')[0]}: {value}"]
    path = folder / "odd.yaml"
    path.write_text("\n".join([*LINES[:at], *changed_line, *LINES[at + 1 :]]), encoding="utf-8")
    found: Sequence[object]
    try:
        found = load_suite(path).scenarios
    except SuiteError as error:
        found = error.problems
    assert found


@pytest.mark.parametrize(
    ("made_by", "told"),
    [
        ({"engine": "flite", "voice": "slt"}, "engine: flite"),
        ({"voice": "slt"}, "voice: slt"),
        ({"source": "synthesized"}, "source: synthesized"),
    ],
)
def test_a_suite_with_a_synthesized_recording_is_synthetic_and_must_not_call_itself_human(
    suite_folder: Path, made_by: dict[str, str], told: str
) -> None:
    path, timing = suite_folder / "minimal.yaml", suite_folder / "audio" / "hello.json"
    timing.write_text(json.dumps(json.loads(timing.read_text()) | made_by))
    suite = load_suite(path)
    assert suite.info.stimulus == "synthetic"
    assert [s.suite.stimulus for s in suite.scenarios] == ["synthetic"]
    changed(path, "today:", "stimulus: human\ntoday:")
    with pytest.raises(SuiteError) as caught:
        load_suite(path)
    what = f'human, but a voice spoke "hello.flac" (its timing file says "{told}"); write synthetic'
    assert str(caught.value) == f"{path}:6: suite.stimulus: {what}"


@pytest.mark.parametrize("source", ["aligned", "annotated"])
def test_a_suite_of_recordings_that_nothing_says_were_synthesized_is_human(suite_folder: Path, source: str) -> None:
    path, timing = suite_folder / "minimal.yaml", suite_folder / "audio" / "hello.json"
    timing.write_text(json.dumps(json.loads(timing.read_text()) | {"source": source, "engine": None, "voice": None}))
    assert load_suite(path).info.stimulus == "human"
    changed(path, "today:", "stimulus: human\ntoday:")
    assert load_suite(path).info.stimulus == "human"
