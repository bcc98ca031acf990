"""Faults of others' files: YAML that changes meaning, ids that break things, recordings that lie."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from pytest_voicebench.audio import RATE_HZ, resample
from pytest_voicebench.audio_files import read_audio
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.files import file_sha256
from pytest_voicebench.loading import SuiteError, load_suite
from pytest_voicebench.scenario import Scenario
from pytest_voicebench.timing_file import read_timing, timing_path, write_timing
from tests.fault_stage import written
from tests.scripted import Scripted
from tests.stage import hold
from tests.voice import spoken

STRINGS = ("country", "time", "early", "order_id", "zip", "date", "version", "flight", "room")


def noted(folder: Path, args: str) -> Path:
    """A suite that expects one call of `note` with these arguments."""
    path = written(folder, f"calls: [note: {args}]" if args.startswith("{") else f"calls:\n  - note:\n{args}")
    own = "".join(f"    {name}: {{type: string}}\n" for name in STRINGS)
    note = f"note:\n  description: Note.\n  parameters:\n{own}    budget: {{type: number}}\n    no: {{type: integer}}\n"
    note += "    quantity: {type: integer}\n    many: {type: array, items: {type: integer}}\n    max: {type: object}\n"
    with (folder / "tools.yaml").open("a", encoding="utf-8") as tools:
        tools.write(note + "  returns: {status: success}\n")
    return path


def arguments(path: Path) -> dict[str, Any]:
    (scenario,) = load_suite(path).scenarios
    return dict(scenario.expect.calls[0].args)


def problems(path: Path) -> list[str]:
    """What is wrong, one line each, without the path."""
    with pytest.raises(SuiteError) as caught:
        load_suite(path)
    lines = [str(problem) for problem in caught.value.problems]
    assert all(re.match(re.escape(str(path.parent)) + r"/[a-z]+\.yaml:\d+: ", line) for line in lines), lines
    return [line.removeprefix(f"{path}:") for line in lines]


# --- YAML


def test_plain_scalars_keep_their_text_and_numbers_are_numbers(tmp_path: Path) -> None:
    """K1: the version is the one that must be quoted, and that is said."""
    args = (
        "{country: no, time: 12:30, early: 09:30, order_id: 00123, zip: 02134, date: 2026-10-07, budget: 1e3, version: "
    )
    (problem,) = problems(noted(tmp_path / "plain", args + "1.10}"))
    assert problem.endswith('fault.expect.calls[0].note.version: expected text, got the number 1.10; quote it: "1.10"')
    assert arguments(noted(tmp_path / "quoted", args + '"1.10"}')) == {
        "country": "no",
        "time": "12:30",
        "early": "09:30",
        "order_id": "00123",
        "zip": "02134",
        "date": "2026-10-07",
        "budget": 1000.0,
        "version": "1.10",
    }


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ("      flight: BA #12", '"#12" is read as a comment; quote the whole text'),
        ("      room: #12", 'room: expected text, got nothing; text that starts with # must be quoted: "#..."'),
        ("{b:1}", 'note has no argument "b:1"'),
        ("{many: [1,2:3]}", 'many[1]: expected a whole number, got text "2:3"'),
        ("{flight: $RESULT_0.flights[0].flight_id}", 'text that holds any of [ ] { } , : # @ ` must be quoted: "..."'),
    ],
)
def test_comment_and_colon_traps_are_told(tmp_path: Path, args: str, told: str) -> None:
    """K3."""
    (problem,) = problems(noted(tmp_path, args))
    assert told in problem


def test_a_key_that_looks_like_false_stays_text(tmp_path: Path) -> None:
    """K4."""
    assert arguments(noted(tmp_path, "{no: 1}")) == {"no": 1}


ID_PLACE = "  - id: fault\n"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("007", '"007" is not a name'),
        ("7", 'expected text, got the number 7; quote it: "7"'),
        ("1.10", 'expected text, got the number 1.10; quote it: "1.10"'),
        ("'a::b'", "is not a name"),
        ("'a[b'", "is not a name"),
        ("'a]b'", "is not a name"),
        ("a/b", "is not a name"),
        ("../x", "is not a name"),
        ("a b", "is not a name"),
        ("''", "the text is empty"),
        ('"a\\x01b"', "is not a name"),
        ('"a\\nb"', "is not a name"),
    ],
)
def test_an_id_that_is_no_name_is_refused_before_it_is_a_path_or_a_node(tmp_path: Path, given: str, told: str) -> None:
    """K4, M5."""
    path = written(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace(ID_PLACE, f"  - id: {given}\n"), encoding="utf-8")
    (problem,) = problems(path)
    assert told in problem
    assert problem.isprintable()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("---\n---\nid: a\n", "a second document; one document a file"),
        ("voicebench: 1\n---\n", "a second document; one document a file"),
        ("\ufeffvoicebench: 1\n", "byte-order mark"),
        ("voicebench: 1\nscenarios:\n\t- id: a\n", "a tab in the indentation; use spaces"),
        ('voicebench: 1\nx: !!python/object/apply:os.system ["true"]\n', "tags are not read"),
    ],
)
def test_documents_marks_tabs_and_tags_are_refused(tmp_path: Path, text: str, told: str) -> None:
    """K5. The design decides otherwise than the list: one document a file."""
    path = tmp_path / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    assert any(told in problem for problem in problems(path))


@pytest.mark.parametrize("key", ["expected_call", "expected_tool_call", "expects"])
def test_a_misspelled_expectation_is_no_silent_pass(tmp_path: Path, key: str) -> None:
    """A7, K7: in place of `expect`, and in place of `calls`."""
    path = written(tmp_path, "calls: [ping: {}]")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("    expect:", f"    {key}:"), encoding="utf-8")
    assert any(f'unknown key "{key}"' in p for p in problems(path))
    assert any('the key "expect" is missing' in p for p in problems(path))
    path.write_text(text.replace("calls:", f"{key}:"), encoding="utf-8")
    assert any(f'unknown key "{key}"' in p for p in problems(path))


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ("{order_id: 4111111111111111111111}", "a whole number above 2^53 loses digits in JSON; quote it"),
        ("{budget: .inf}", ".inf is not a number that JSON can hold"),
        ("{budget: .nan}", ".nan is not a number that JSON can hold"),
        ("{budget: 1e999}", "1e999"),
    ],
)
def test_numbers_that_json_cannot_hold_are_refused(tmp_path: Path, args: str, told: str) -> None:
    """K8."""
    assert told in problems(noted(tmp_path, args))[0]


def test_true_is_no_whole_number_and_a_whole_float_is_one(tmp_path: Path) -> None:
    """L3: decided as JSON Schema decides."""
    assert "expected a whole number, got true" in problems(noted(tmp_path / "a", "{quantity: true}"))[0]
    assert arguments(noted(tmp_path / "b", "{quantity: 1.0}")) == {"quantity": 1}


# --- recordings

Fault = Callable[[Path, NDArray[np.int16]], None]


def plain(path: Path, samples: NDArray[np.int16]) -> None:
    soundfile.write(path, samples, RATE_HZ, subtype="PCM_16")


def claiming(share: float) -> Fault:
    """The header says that the file holds this share of its samples."""

    def write(path: Path, samples: NDArray[np.int16]) -> None:
        plain(path, samples)
        data = bytearray(path.read_bytes())
        at = data.index(b"data") + 4
        data[at : at + 4] = int(int.from_bytes(data[at : at + 4], "little") * share).to_bytes(4, "little")
        path.write_bytes(data)

    return write


def cut(path: Path, samples: NDArray[np.int16]) -> None:
    plain(path, samples)
    path.write_bytes(path.read_bytes()[:-1])


def floats(**at: float) -> Fault:
    """A float file with odd samples: sample number by name."""

    def write(path: Path, samples: NDArray[np.int16]) -> None:
        table = samples / 32768.0
        for name, value in at.items():
            table[int(name[1:])] = value
        soundfile.write(path, table, RATE_HZ, subtype="FLOAT")

    return write


def level(gain: float) -> Fault:
    return lambda path, samples: plain(path, np.clip(samples * gain, -32768, 32767).astype(np.int16))


def suite_with(folder: Path, fault: Fault) -> Path:
    """A suite whose only recording, two seconds of speech and more, is a WAV file with this fault."""
    path = written(folder)
    flac, wav = folder / "audio" / "user.flac", folder / "audio" / "user.wav"
    fault(wav, read_audio(flac).audio.samples)
    timing = read_timing(timing_path(flac))
    write_timing(timing_path(wav), replace(timing, audio_sha256=file_sha256(wav)), "annotated")
    path.write_text(path.read_text(encoding="utf-8").replace("user.flac", "user.wav"), encoding="utf-8")
    return path


def held(path: Path) -> tuple[Scenario, Conversation, Scripted]:
    agent = Scripted([])
    (scenario,) = load_suite(path).scenarios
    return scenario, hold(scenario, agent), agent


@pytest.mark.parametrize(
    ("fault", "warning"),
    [
        (claiming(0.0), "the header says 0.000 s of sound, the file holds 2.500 s: read to the end of the file"),  # N1
        (claiming(0.5), "the header says 1.250 s of sound, the file holds 2.500 s: read to the end of the file"),  # N3
        (cut, "the last 1 bytes are part of a sample and were dropped"),  # N4
        (floats(s100=4.0, s200=-4.0), "2 samples beyond full scale were clipped"),  # N7
        (level(0.0027), "very quiet: its peak is -60 dBFS; an agent may not hear it"),  # N11
        (level(60.0), "clipped: "),  # N11
    ],
)
def test_a_recording_with_a_fault_is_played_whole_and_the_item_says_so(
    tmp_path: Path, fault: Fault, warning: str
) -> None:
    _, conversation, agent = held(suite_with(tmp_path, fault))
    (found,) = conversation.warnings
    assert found.startswith(f"user.wav: {warning}")
    assert conversation.problems == ()
    assert conversation.recording is not None
    sent = np.concatenate([block.samples for block in agent.sent])
    assert np.abs(sent[int(2.2 * RATE_HZ) : int(2.3 * RATE_HZ)]).max() > 0  # to the last word
    assert not sent[int(2.6 * RATE_HZ) :].any()


def test_a_sound_recording_has_no_remarks(tmp_path: Path) -> None:
    assert held(suite_with(tmp_path, plain))[1].warnings == ()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_recording_that_cannot_be_played_is_the_suites_fault_and_no_agent_is_contacted(
    tmp_path: Path, bad: float
) -> None:
    """N7: what collection cannot see without decoding every file."""
    _, conversation, agent = held(suite_with(tmp_path, floats(s100=bad)))
    (problem,) = conversation.problems
    assert (problem.kind, conversation.ended) == ("suite", "problem")
    assert problem.message.endswith("user.wav: 1 samples are not numbers (NaN or infinite); export it again")
    assert not hasattr(agent, "setup")


@pytest.mark.parametrize("header_only", [False, True])
def test_an_empty_recording_is_told_at_collection(tmp_path: Path, header_only: bool) -> None:
    """N5."""

    def write(path: Path, samples: NDArray[np.int16]) -> None:
        plain(path, samples[:0]) if header_only else path.touch()

    (problem,) = problems(suite_with(tmp_path, write))
    why = "the file has a header and no samples" if header_only else "the file is empty"
    assert f"user.wav: no audio: {why}" in problem


def test_opposite_phases_are_refused_where_one_voice_is_needed(tmp_path: Path) -> None:
    """N8: in a suite two channels are refused at collection; the mix is refused wherever it can be asked for."""

    def write(path: Path, samples: NDArray[np.int16]) -> None:
        soundfile.write(path, np.stack([samples, -samples], axis=1), RATE_HZ)

    (problem,) = problems(suite_with(tmp_path, write))
    assert "has two channels" in problem
    with pytest.raises(ValueError, match="cancel each other out when mixed"):
        read_audio(tmp_path / "audio" / "user.wav", channel="mix")


def test_ten_seconds_at_44100_hz_are_160000_samples_at_16000_hz_and_end_where_they_ended(tmp_path: Path) -> None:
    """N9."""
    samples = np.concatenate([resample_to(spoken(9.5), 44_100), np.zeros(22_050, np.int16)])
    soundfile.write(tmp_path / "x.wav", samples, 44_100)
    found = resample(read_audio(tmp_path / "x.wav").audio, 16_000).samples
    assert (len(samples), len(found)) == (441_000, 160_000)
    ends = [np.flatnonzero(np.abs(s.astype(int)) > 300)[-1] / hz for s, hz in ((samples, 44_100), (found, 16_000))]
    assert ends[1] == pytest.approx(ends[0], abs=0.001)


def resample_to(samples: NDArray[np.int16], rate_hz: int) -> NDArray[np.int16]:
    from pytest_voicebench.audio import Audio

    return resample(Audio(samples=samples, rate_hz=RATE_HZ), rate_hz).samples
