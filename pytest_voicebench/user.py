"""The user's side: a scenario's steps become blocks of sound, on time, with the room around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from pytest_voicebench.audio import BLOCK_TICKS, RATE_HZ, Audio, Samples, resample
from pytest_voicebench.audio_files import AudioError, Channel, read_audio
from pytest_voicebench.conversation import Span, Utterance, Word, to_ticks
from pytest_voicebench.playback import Listener
from pytest_voicebench.room_tone import PAGE, room_tone, tone_page
from pytest_voicebench.scenario import RoomTone, Scenario, Step, Timing

PATIENCE_TICKS = to_ticks(30.0)
"""How long a step waits for its trigger before the agent counts as silent."""

_SPOKEN = ("say", "backchannel", "insert")


@dataclass(frozen=True, slots=True)
class Clip:
    """A recording at the rate asked for, read-only, and what is remarkable about its file."""

    samples: Samples
    warnings: tuple[str, ...]


@lru_cache(maxsize=8)
def load_clip(path: Path, rate_hz: int, channel: Channel | None = None) -> Clip:
    """A recording (of two channels: that one) at a rate, resampled once from the file. Raises AudioError."""
    file = read_audio(path, channel=channel)
    samples = resample(file.audio, rate_hz).samples
    samples.setflags(write=False)
    return Clip(samples, tuple(text.replace(f"{path}: ", f"{path.name}: ", 1) for text in file.warnings))


Clips = Mapping[tuple[Path, Channel | None], Clip]


def load_clips(scenario: Scenario, rate_hz: int) -> Clips:
    """The recordings that the scenario will play, by file and channel. Raises AudioError for one that it cannot.

    Steps that are chosen at run time are not known here.
    """
    clips = dict.fromkeys((step.audio, step.channel) for step in scenario.steps if isinstance(step.audio, Path))
    return {(path, channel): load_clip(path, rate_hz, channel) for path, channel in clips}


def first_tone(scenario: Scenario) -> RoomTone | None:
    """The room the user stands in: the speaker's, else the one of the first timing file that names one."""
    if scenario.speaker and scenario.speaker.tone:
        return scenario.speaker.tone
    return next((s.timing.tone for s in scenario.steps if s.timing and s.timing.tone), None)


@dataclass(slots=True)
class _Clip:
    """A recording being played: at the agent's rate for sending, from `start_ticks` until the next one or its end."""

    step: Step
    start_ticks: int
    end_ticks: int
    samples: Samples


@dataclass(slots=True)
class User:
    """Plays steps one at a time. Ask for `block()` every 20 ms and `give()` a step whenever `needs_step`.

    `input_hz` is the agent's rate. Recordings start on block boundaries, so both rates agree to the sample.
    """

    input_hz: int
    tone: RoomTone | None = None
    clips: Clips = field(default_factory=dict)
    """Recordings that were loaded before: nothing is read in the middle of a conversation that was known before it."""
    utterances: list[Utterance] = field(default_factory=list)
    needs_step: bool = True
    hung_up: bool = False
    finished: bool = False
    """Set by `give(None)`: no more steps will come."""
    last_step_end_ticks: int = 0
    last_turn_end_ticks: int = 0
    """End of the speech of the latest `say`."""
    _step: Step | None = None
    _index: int = -1
    _waiting_since_ticks: int = 0
    _busy_until_ticks: int | None = None
    _clip: _Clip | None = None
    _injections: list[str] = field(default_factory=list)
    _sent: list[Samples] = field(default_factory=list)

    def give(self, step: Step | None) -> None:
        """Hand over the next step, or None when there is none."""
        self.needs_step = False
        self.finished = step is None
        self._step = step
        self._index += 1
        self._waiting_since_ticks = self.last_step_end_ticks

    def advance(self, now_ticks: int, agent: Listener) -> None:
        """Let whatever is due at this block happen; may leave `needs_step` set."""
        if self._clip and now_ticks >= self._clip.end_ticks:
            self._clip = None
        if self._busy_until_ticks is not None and now_ticks >= self._busy_until_ticks:
            self._end_step(self._busy_until_ticks)
        if self._step and self._busy_until_ticks is None and self._is_due(self._step, now_ticks, agent):
            self._begin(self._step, now_ticks)

    def block(self, now_ticks: int) -> Samples:
        """The 20 ms that start now, at the agent's rate: speech over the room."""
        size = self.input_hz * BLOCK_TICKS // RATE_HZ
        block = self._room(now_ticks // BLOCK_TICKS * size, size)
        if self._clip:
            first = (now_ticks - self._clip.start_ticks) // BLOCK_TICKS * size
            block = _mix(block, self._clip.samples[first : first + size])
        self._sent.append(block)
        return block

    def gave_up(self, now_ticks: int, agent: Listener) -> bool:
        """Whether a step has waited for the agent's voice in vain: 30 s, in which the agent was silent."""
        waits = self._step is not None and self._busy_until_ticks is None
        since = max(self._waiting_since_ticks, agent.last_heard_ticks or 0)
        return waits and now_ticks - since > PATIENCE_TICKS

    def take_injections(self) -> list[str]:
        """Texts for the agent's context that became due since the last call."""
        texts, self._injections = self._injections, []
        return texts

    def track(self, duration_ticks: int) -> Samples:
        """What was sent, voice and room, at 24 kHz, exactly that long."""
        sent = np.concatenate(self._sent) if self._sent else np.zeros(0, np.int16)
        return _fit(resample(Audio(samples=sent, rate_hz=self.input_hz), RATE_HZ).samples, duration_ticks)

    def _is_due(self, step: Step, now_ticks: int, agent: Listener) -> bool:
        trigger = step.trigger
        if trigger.kind == "start":
            return True
        if agent.onset_ticks is None or agent.last_heard_ticks is None:
            return False
        if trigger.kind == "after_agent":
            answered = agent.answered(self.last_turn_end_ticks)
            return answered and now_ticks - agent.last_heard_ticks >= to_ticks(trigger.seconds)
        since = max(agent.onset_ticks, self.last_turn_end_ticks)
        return agent.speaks(now_ticks) and now_ticks - since >= to_ticks(trigger.seconds)

    def _begin(self, step: Step, now_ticks: int) -> None:
        if step.kind in _SPOKEN:
            self._play(step, now_ticks)
        elif step.kind == "wait" and step.seconds:
            self._busy_until_ticks = now_ticks + to_ticks(step.seconds)
        else:
            if step.kind == "inject":
                self._injections.append(step.text)
            self.hung_up = step.kind == "end"
            self._end_step(now_ticks)

    def _play(self, step: Step, now_ticks: int) -> None:
        samples = self._clip_samples(step)
        if self._clip:  # what is left of an earlier recording after its speech gives way
            self._clip.end_ticks = now_ticks
        end_ticks = now_ticks + -(-len(samples) * RATE_HZ // self.input_hz)
        self._clip = _Clip(step, now_ticks, end_ticks, samples)
        utterance = utterance_of(step, self._index, now_ticks, len(samples) / self.input_hz)
        self.utterances.append(utterance)
        # The step ends with its speech: a recording's silent tail plays on, but nobody waits for it.
        self._busy_until_ticks = utterance.end_ticks
        if utterance.kind == "turn":
            self.last_turn_end_ticks = utterance.end_ticks

    def _end_step(self, now_ticks: int) -> None:
        self._step = None
        self._busy_until_ticks = None
        self.needs_step = True
        self.last_step_end_ticks = now_ticks

    def _room(self, start: int, size: int) -> Samples:
        """The room's noise, by reference where no page ends in between."""
        tone, (page, offset) = self.tone, divmod(start, PAGE)
        if tone is None:
            return _silence(size)
        if offset + size > PAGE:
            return room_tone(tone.seed, tone.level_dbfs, start, size, self.input_hz)
        return tone_page(tone.seed, tone.level_dbfs, page, self.input_hz)[offset : offset + size]

    def _clip_samples(self, step: Step) -> Samples:
        if step.audio is None:
            raise AudioError(f"a step '{step.kind}' has nothing to play")
        if isinstance(step.audio, Audio):
            return resample(step.audio, self.input_hz).samples
        known = self.clips.get((step.audio, step.channel))
        return (known or load_clip(step.audio, self.input_hz, step.channel)).samples


@lru_cache(maxsize=8)
def _silence(size: int) -> Samples:
    """Read-only, shared."""
    nothing: Samples = np.zeros(size, np.int16)
    nothing.setflags(write=False)
    return nothing


def utterance_of(step: Step, index: int, start_ticks: int, duration_s: float) -> Utterance:
    """Where a step's speech lies on the timeline. Without a timing file all of the recording is speech."""
    timing = step.timing or Timing(audio_sha256="", rate_hz=0, speech=((0.0, duration_s),), words=())
    speech = tuple(
        Span(start_ticks=start_ticks + to_ticks(a), end_ticks=start_ticks + to_ticks(b)) for a, b in timing.speech
    )
    words = tuple(
        Word(text=text, start_ticks=start_ticks + to_ticks(a), end_ticks=start_ticks + to_ticks(b))
        for text, a, b in timing.words
    )
    return Utterance(
        step=index,
        kind=_utterance_kind(step),
        text=step.text,
        start_ticks=speech[0].start_ticks,
        end_ticks=speech[-1].end_ticks,
        speech=speech,
        words=words,
    )


def _utterance_kind(step: Step) -> Literal["turn", "backchannel", "vocal_tic", "non_directed"]:
    if step.kind == "say":
        return "turn"
    return "backchannel" if step.kind == "backchannel" else step.insert or "vocal_tic"


def _mix(room: Samples, voice: Samples) -> Samples:
    mixed = room.astype(np.int32)
    mixed[: len(voice)] += voice
    return np.minimum(np.maximum(mixed, -32768), 32767).astype(np.int16)  # np.clip takes three times as long


def _fit(samples: Samples, size: int) -> Samples:
    if len(samples) >= size:
        return samples[:size].copy()
    return np.concatenate([samples, np.zeros(size - len(samples), np.int16)])
