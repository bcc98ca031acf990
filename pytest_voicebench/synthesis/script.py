"""What is to be spoken: read from a speech script, or from a suite whose recordings are missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pytest_voicebench.scenario import RoomTone
from pytest_voicebench.synthesis.engines import Voice, default_voice
from pytest_voicebench.synthesis.markup import MarkupError, pieces

LINE = "<line>"
_VOICE_KEYS = {"engine", "voice", "pitch_hz", "rate", "size", "band_hz"}


class ScriptError(ValueError):
    """A speech script cannot be used; each line of the message is `file:line: where: what is wrong`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """One recording to make: marked text, voice, the room the timing file names, and the file."""

    text: str
    voice: Voice
    audio: Path
    speaker: str | None = None
    tone: RoomTone | None = None


class _LinedLoader(yaml.SafeLoader):
    """Mappings carry their line; all scalars stay text, so that a date or `no` is what was written."""


def _lined_mapping(loader: _LinedLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    mapping = loader.construct_mapping(node, deep=True)
    mapping[LINE] = node.start_mark.line + 1
    return mapping


_LinedLoader.yaml_implicit_resolvers = {}
_LinedLoader.add_constructor("tag:yaml.org,2002:map", _lined_mapping)


def read_script(path: Path) -> tuple[Utterance, ...]:
    """All recordings that a file asks for, in its order, whether they exist or not.

    A speech script has the keys `speech_script: 1`, `voices` (by speaker), optionally `speakers` (a file whose room
    tones go into the timing files) and `say`: entries of `audio`, `text` and `speakers`. A suite (first key
    `voicebench: 1`) gives the `say` steps of its scenarios, spoken by the first engine installed. Raises ScriptError.
    """
    content = _yaml(path)
    if "voicebench" in content:
        return tuple(_from_suite(path, content))
    if "speech_script" not in content:
        raise ScriptError(f"{path}:1: neither `speech_script: 1` nor `voicebench: 1` is its first key")
    voices = {
        str(speaker): _voice(path, str(speaker), entry)
        for speaker, entry in _mapping(path, content, "voices").items()
        if speaker != LINE
    }
    tones = _tones(path, content)
    return tuple(u for entry in _entries(path, content, "say") for u in _spoken(path, entry, voices, tones))


def _yaml(path: Path) -> dict[Any, Any]:
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_LinedLoader)
    except OSError as error:
        raise ScriptError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ScriptError(f"{path}: is not UTF-8 text") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ScriptError(f"{path}:{line}: not YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ScriptError(f"{path}: not YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(content, dict):
        raise ScriptError(f"{path}:1: must be a mapping whose first key is `speech_script: 1`")
    return content


def _mapping(path: Path, parent: dict[Any, Any], key: str) -> dict[Any, Any]:
    value = parent.get(key)
    if not isinstance(value, dict):
        raise ScriptError(f"{path}:{parent[LINE]}: {key}: missing, or not a mapping")
    return value


def _entries(path: Path, parent: dict[Any, Any], key: str) -> list[dict[Any, Any]]:
    value = parent.get(key)
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise ScriptError(f"{path}:{parent[LINE]}: {key}: missing, or not a list of mappings")
    return value


def _voice(path: Path, speaker: str, entry: Any) -> Voice:
    if not isinstance(entry, dict):
        raise ScriptError(f"{path}: voices: {speaker}: must be a mapping with `engine` and `voice`")
    where = f"{path}:{entry[LINE]}: voices: {speaker}"
    unknown = set(entry) - _VOICE_KEYS - {LINE}
    if unknown or not {"engine", "voice"} <= set(entry):
        raise ScriptError(f"{where}: needs engine and voice, may have pitch_hz, rate, size, band_hz; got {unknown}")
    try:
        band = entry.get("band_hz")
        low_hz, high_hz = (float(edge) for edge in band) if band else (0.0, 0.0)
        return Voice(
            engine=entry["engine"],
            name=entry["voice"],
            pitch_hz=float(entry["pitch_hz"]) if "pitch_hz" in entry else None,
            rate=_within(entry.get("rate", "1"), 0.5, 2.0),
            size=_within(entry.get("size", "1"), 0.7, 1.4),
            band_hz=(low_hz, high_hz) if band else None,
        )
    except (TypeError, ValueError) as error:
        raise ScriptError(f"{where}: {error}") from None


def _within(text: str, low: float, high: float) -> float:
    value = float(text)
    if not low <= value <= high:
        raise ValueError(f"{text} is not between {low} and {high}")
    return value


def _tones(path: Path, content: dict[Any, Any]) -> dict[str, RoomTone]:
    """Room tones by speaker from the speakers' file; a speaker without one has none."""
    if "speakers" not in content:
        return {}
    file = path.parent / str(content["speakers"])
    tones = {name: entry.get("tone") for name, entry in _yaml(file).items() if isinstance(entry, dict)}
    return {str(name): _tone(file, str(name), tone) for name, tone in tones.items() if tone is not None}


def _tone(file: Path, speaker: str, tone: Any) -> RoomTone:
    try:
        return RoomTone(seed=int(tone["seed"]), level_dbfs=float(tone["level_dbfs"]))
    except (KeyError, TypeError, ValueError):
        raise ScriptError(f"{file}: {speaker}: tone: expected {{seed: 1, level_dbfs: -60}}") from None


def _spoken(
    path: Path, entry: dict[Any, Any], voices: dict[str, Voice], tones: dict[str, RoomTone]
) -> Iterator[Utterance]:
    where = f"{path}:{entry[LINE]}: say"
    audio, text, speakers = entry.get("audio"), entry.get("text"), entry.get("speakers")
    if not isinstance(audio, str) or not isinstance(text, str) or not isinstance(speakers, list) or not speakers:
        raise ScriptError(f"{where}: needs audio and text, and speakers as a list")
    if len(speakers) > 1 and "{speaker}" not in audio:
        raise ScriptError(f"{where}: audio: needs {{speaker}} in its name, as there are several speakers")
    _check(where, text)
    for speaker in speakers:
        if speaker not in voices:
            raise ScriptError(f"{where}: speakers: {speaker!r} has no voice; there are {', '.join(voices)}")
        file = _inside(path, where, audio.replace("{speaker}", speaker))
        yield Utterance(text=text, voice=voices[speaker], audio=file, speaker=speaker, tone=tones.get(speaker))


def _from_suite(path: Path, content: dict[Any, Any]) -> Iterator[Utterance]:
    voice = default_voice()
    for scenario in _entries(path, content, "scenarios"):
        for step in scenario.get("user") or ():
            if not isinstance(step, dict) or not isinstance(step.get("say"), str) or "audio" not in step:
                continue
            where = f"{path}:{step[LINE]}: {scenario.get('id')}"
            _check(where, step["say"])
            for speaker in scenario.get("speakers") or [None]:
                audio = str(step["audio"]).replace("{speaker}", str(speaker))
                yield Utterance(text=step["say"], voice=voice, audio=_inside(path, where, audio), speaker=speaker)


def _check(where: str, text: str) -> None:
    try:
        pieces(text)
    except MarkupError as error:
        raise ScriptError(f"{where}: text: {error}") from None


def _inside(path: Path, where: str, audio: str) -> Path:
    """The file, which must lie in the script's folder and be an .ogg, .flac or .wav."""
    folder = path.parent.resolve()
    file = (folder / audio).resolve()
    if not file.is_relative_to(folder):
        raise ScriptError(f"{where}: audio: {audio} lies outside the folder of {path.name}")
    if file.suffix not in {".ogg", ".flac", ".wav"}:
        raise ScriptError(f"{where}: audio: {audio} must end in .ogg, .flac or .wav")
    return file
