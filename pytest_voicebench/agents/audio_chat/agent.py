"""The agent `audio_chat` as a description: settings in, a line out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

from pytest_voicebench.agents.audio_chat.machine_voice import MachineVoice
from pytest_voicebench.agents.audio_chat.sound_messages import PARTS, SoundMessages
from pytest_voicebench.agents.briefing import briefing
from pytest_voicebench.agents.hearing import INPUT_HZ
from pytest_voicebench.agents.protocol import Setup
from pytest_voicebench.agents.turn_based.agent import Setting, TurnBased
from pytest_voicebench.agents.turn_based.answering import Answering
from pytest_voicebench.agents.turn_based.endpoints import Endpoint, Service
from pytest_voicebench.agents.turn_based.history import History
from pytest_voicebench.agents.turn_based.speaking import Emit, Loudspeaker, Mouth
from pytest_voicebench.agents.voice import check_voice, find_voice
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.conversation import AgentInfo

ANSWERS = ("audio", "wav", "text")


@dataclass(frozen=True, kw_only=True, repr=False)
class AudioChat(TurnBased):
    """Chat completions whose messages hold the user's speech, at an OpenAI-compatible server; its fields are settings.

    `answer`: what the model is asked for. `audio`: sound in pieces, as it is made (in `audio_format`, pcm16 or wav);
    `wav`: a WAV file when all of it is made, at servers that do not stream; `text`: text, which is spoken by the
    service at `tts_url` (`tts_model`, `voice`), or without one by a voice of this machine (`local_voice`: auto, flite,
    flite:NAME, pico). `voice` is also the model's own. `input`: the kind of content part that holds speech,
    `input_audio` or `audio_url`; `prompt`: a text beside the speech, for models that want one.
    The rest is described at TurnBased.
    """

    model: str = "gpt-audio"
    answer: str = "audio"
    audio_format: str = "pcm16"
    voice: str = "alloy"
    tts_url: str = ""
    tts_model: str = "gpt-4o-mini-tts"
    local_voice: str = "auto"
    input: str = "input_audio"
    prompt: str = ""

    NAME: ClassVar[str] = "audio_chat"
    TEXTS: ClassVar[tuple[str, ...]] = (
        *("model", "answer", "audio_format", "voice", "tts_model", "local_voice", "input"),
    )

    def __post_init__(self) -> None:
        """Check the settings, find the keys and the voice."""
        super().__post_init__()
        for name, allowed in (("answer", ANSWERS), ("audio_format", ("pcm16", "wav")), ("input", tuple(PARTS))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be {' or '.join(allowed)}, not {getattr(self, name)!r}")
        if not isinstance(self.prompt, str):
            raise ValueError(f"prompt must be text, not {self.prompt!r}")
        if self.tts_url and self.answer != "text":
            raise ValueError("tts_url belongs to answer=text: else the model's own sound is played")
        self._check_effects()
        if self._speaks_here:
            check_voice(self.local_voice)

    def _check_effects(self) -> None:
        """Raises ValueError for a setting that would change nothing."""
        standard = {f.name: f.default for f in fields(self)}
        for name, counts, where in (
            ("audio_format", self.answer == "audio", "answer=audio"),
            ("local_voice", self._speaks_here, "answer=text without tts_url"),
            ("tts_model", bool(self.tts_url), "tts_url"),
            ("voice", not self._speaks_here, "a model or service that speaks, not to answer=text without tts_url"),
        ):
            if not counts and getattr(self, name) != standard[name]:
                raise ValueError(f"{name} belongs to {where}")

    @property
    def _speaks_here(self) -> bool:
        return self.answer == "text" and not self.tts_url

    def urls(self) -> Mapping[str, str]:
        """The address of each service, by the setting that gives it."""
        return {"url": self.url, **({"tts_url": self.tts_url} if self.tts_url else {})}

    @property
    def info(self) -> AgentInfo:
        """What the report says: all that is asked of the model, who speaks, and who gets the key."""
        return AgentInfo(
            name=self.NAME,
            model=self.model,
            transport="http",
            clock="wall",
            input_hz=INPUT_HZ,
            settings={
                **self.urls(),
                "input": self.input,
                "prompt": self.prompt or None,
                "temperature": self.temperature if self.temperature >= 0 else None,
                **self._voice_settings(),
                **self.turn_settings(),
            },
        )

    def _voice_settings(self) -> dict[str, Setting]:
        if self._speaks_here:
            return {"answer": "text", "local_voice": self.local_voice}
        if self.tts_url:
            return {"answer": "text", "tts_model": self.tts_model, "voice": self.voice}
        return {"answer": self.answer, "audio_format": self._format, "voice": self.voice}

    @property
    def _format(self) -> str:
        return "wav" if self.answer == "wav" else self.audio_format

    def services(self) -> Sequence[Service]:
        """The model, and the service of speech where there is one."""
        options = self.chat_options()
        if self.answer != "text":
            options["modalities"] = ["text", "audio"]
            options["audio"] = {"voice": self.voice, "format": self._format}
        found = [self.service("chat", self.url, self.model, options, streamed=self.answer != "wav")]
        if self.tts_url:
            found.append(self.service("speech", self.tts_url, self.tts_model, {"voice": self.voice}))
        return found

    def answering(self, setup: Setup, endpoints: Sequence[Endpoint], emit: Emit, log: WireLog) -> Answering:
        """The user's speech is told as it is, and the answer played or spoken."""
        history, loudspeaker = History(briefing(setup)), Loudspeaker(emit, asyncio.get_running_loop().time)
        return Answering(
            setup=setup,
            listening=SoundMessages(self.input, self.prompt, history, emit),
            llm=endpoints[0],
            loudspeaker=loudspeaker,
            mouth=self._mouth(endpoints[1:], loudspeaker, emit, log),
            history=history,
            emit=emit,
        )

    def _mouth(self, speech: Sequence[Endpoint], loudspeaker: Loudspeaker, emit: Emit, log: WireLog) -> Mouth | None:
        if self.answer != "text":
            return None
        speaker = speech[0] if speech else MachineVoice(find_voice(self.local_voice), log)
        return Mouth(speaker, loudspeaker, emit)
