"""A conversation saved to a folder: two files, whole or absent, equal bytes, clear refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pytest_voicebench.codec import CodecError
from pytest_voicebench.conversation import AgentInfo, Call, Conversation, Recording, Span
from pytest_voicebench.conversation_files import (
    ConversationUnreadable,
    load_conversation,
    load_recording,
    save_conversation,
)


def a_conversation(samples: int = 4800) -> Conversation:
    user = (np.arange(samples) % 3000).astype(np.int16)
    return Conversation(
        item_id="travel_19-b",
        scenario_sha256="00",
        agent=AgentInfo(name="simulated", clock="virtual"),
        duration_ticks=samples,
        ended="settled",
        agent_speech=(Span(start_ticks=10, end_ticks=20),),
        recording=Recording(user=user, agent=-user),
    )


def test_it_comes_back_with_each_voice_on_its_own_track(tmp_path: Path) -> None:
    conversation = a_conversation()
    save_conversation(conversation, tmp_path / "items" / "a")
    assert load_conversation(tmp_path / "items" / "a") == conversation
    recording = load_recording(tmp_path / "items" / "a")
    assert conversation.recording is not None
    np.testing.assert_array_equal(recording.user, conversation.recording.user)
    np.testing.assert_array_equal(recording.agent, conversation.recording.agent)


def test_saving_twice_gives_the_same_bytes_and_leaves_nothing_else(tmp_path: Path) -> None:
    save_conversation(a_conversation(), tmp_path)
    first = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    save_conversation(a_conversation(), tmp_path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == first
    assert sorted(first) == ["audio.flac", "conversation.json"]


def test_saving_without_a_recording_keeps_the_sound(tmp_path: Path) -> None:
    save_conversation(a_conversation(), tmp_path)
    save_conversation(replace(load_conversation(tmp_path), agent_speech=()), tmp_path)
    assert len(load_recording(tmp_path).user) == 4800
    assert load_conversation(tmp_path).agent_speech == ()


def test_a_conversation_without_a_sample_is_saved_without_sound(tmp_path: Path) -> None:
    save_conversation(a_conversation(), tmp_path)
    save_conversation(a_conversation(0), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["conversation.json"]
    with pytest.raises(ConversationUnreadable, match=r"audio\.flac: no such file$"):
        load_recording(tmp_path)


def test_a_value_that_is_not_json_writes_nothing(tmp_path: Path) -> None:
    call = Call(call_id="1", name="t", arguments={"x": float("nan")}, status="executed", at_ticks=0)
    with pytest.raises(CodecError, match=r"calls\[0\]\.arguments\.x"):
        save_conversation(replace(a_conversation(), calls=(call,)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_tracks_of_different_lengths_are_refused(tmp_path: Path) -> None:
    recording = Recording(user=np.zeros(2, np.int16), agent=np.zeros(3, np.int16))
    with pytest.raises(ValueError, match="equally long"):
        save_conversation(replace(a_conversation(), recording=recording), tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "format 2 is not readable here (this is format 1): update pytest-voicebench"),
        ({"format": None}, "format null is not readable here (this is format 1): record it again"),
        ({"ended": "bored"}, "ended: expected one of settled, "),
    ],
)
def test_a_file_that_does_not_fit_is_refused_in_one_line(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    save_conversation(a_conversation(), tmp_path)
    path = tmp_path / "conversation.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ConversationUnreadable) as caught:
        load_conversation(tmp_path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_missing_and_damaged_files_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConversationUnreadable, match=r"conversation\.json: No such file"):
        load_conversation(tmp_path)
    (tmp_path / "conversation.json").write_text("{")
    (tmp_path / "audio.flac").write_bytes(b"not sound")
    with pytest.raises(ConversationUnreadable, match="not JSON"):
        load_conversation(tmp_path)
    with pytest.raises(ConversationUnreadable, match="not a sound file"):
        load_recording(tmp_path)
