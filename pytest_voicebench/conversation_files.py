"""A conversation in its folder: conversation.json, audio.flac (24 kHz, user left, agent right), events.jsonl."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_voicebench.codec import CodecError, dump_json, from_json, parse_text
from pytest_voicebench.conversation import FORMAT, Conversation, Recording
from pytest_voicebench.files import read_file, write_atomically
from pytest_voicebench.timeline import RATE_HZ

JSON_NAME = "conversation.json"
AUDIO_NAME = "audio.flac"
EVENTS_NAME = "events.jsonl"


class ConversationUnreadable(Exception):  # noqa: N818 - says what is the case, for a person
    """A saved conversation that is missing, damaged or of an unknown format; one line that names the file."""


def save_conversation(conversation: Conversation, folder: Path) -> None:
    """Write its files, each whole or not at all; equal conversations give equal bytes.

    The sound is written first, so that a conversation.json is never without it. A conversation that was loaded
    without its recording leaves the sound that is there; a recording of no samples (the agent was absent) leaves no
    audio.flac, because FLAC cannot hold nothing. An agent in this process has no events.jsonl. Raises CodecError for
    values that are not JSON, before anything is written, and ValueError for tracks of different lengths.
    """
    text = dump_json(conversation) + b"\n"
    if conversation.wire_events:
        write_atomically(folder / EVENTS_NAME, "".join(f"{e}\n" for e in conversation.wire_events).encode())
    if conversation.recording is not None:
        _save_recording(conversation.recording, folder / AUDIO_NAME)
    write_atomically(folder / JSON_NAME, text)


def _save_recording(recording: Recording, path: Path) -> None:
    from pytest_voicebench.audio_files import write_flac  # here: others only want the names of the files

    if len(recording.user) == len(recording.agent) == 0:
        path.unlink(missing_ok=True)
        return
    write_flac(path, [recording.user, recording.agent], RATE_HZ)


def load_conversation(folder: Path) -> Conversation:
    """The conversation of a folder, without its recording (see `load_recording`). Raises ConversationUnreadable."""
    path = folder / JSON_NAME
    try:
        data = parse_text(read_file(path), where=str(path))
        _check_format(data, path)
        return from_json(Conversation, data, where=str(path))
    except OSError as error:
        raise ConversationUnreadable(f"{path}: {error.strerror}") from None
    except CodecError as error:
        raise ConversationUnreadable(str(error)) from None


def load_events(folder: Path) -> tuple[str, ...]:
    """The lines of a folder's events.jsonl, none where there is no such file. Raises ConversationUnreadable."""
    path = folder / EVENTS_NAME
    try:
        return tuple(read_file(path).decode().splitlines())
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        raise ConversationUnreadable(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def load_recording(folder: Path) -> Recording:
    """Both voices of a folder's audio.flac. Raises ConversationUnreadable."""
    from pytest_voicebench.audio_files import AudioError, read_flac

    path = folder / AUDIO_NAME
    try:
        tracks, rate_hz = read_flac(path)
    except AudioError as error:
        raise ConversationUnreadable(str(error)) from None
    if len(tracks) != 2 or rate_hz != RATE_HZ:
        found = f"{len(tracks)} tracks at {rate_hz} Hz"
        raise ConversationUnreadable(f"{path}: expected 2 tracks (user, agent) at {RATE_HZ} Hz, found {found}")
    return Recording(user=tracks[0], agent=tracks[1])


def _check_format(data: object, path: Path) -> None:
    found = data.get("format") if isinstance(data, dict) else None
    if found != FORMAT:
        advice = "update pytest-voicebench" if isinstance(found, int) and found > FORMAT else "record it again"
        shown = json.dumps(found)
        raise ConversationUnreadable(f"{path}: format {shown} is not readable here (this is format {FORMAT}): {advice}")
