"""The agent `cascaded` as a description: settings in, a line out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pytest_voicebench.agents.briefing import briefing
from pytest_voicebench.agents.cascaded.writing_down import WritingDown
from pytest_voicebench.agents.hearing import INPUT_HZ
from pytest_voicebench.agents.protocol import Setup
from pytest_voicebench.agents.turn_based.agent import TurnBased
from pytest_voicebench.agents.turn_based.answering import Answering
from pytest_voicebench.agents.turn_based.endpoints import Endpoint, Service
from pytest_voicebench.agents.turn_based.history import History
from pytest_voicebench.agents.turn_based.speaking import Emit, Loudspeaker, Mouth
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.conversation import AgentInfo


@dataclass(frozen=True, kw_only=True, repr=False)
class Cascaded(TurnBased):
    """Speech to text, chat with tools, speech, at OpenAI-compatible endpoints; its fields are the settings.

    `stt_url`, `llm_url` and `tts_url` stand in for `url`. `language` is told to the transcription, `auto` tells none.
    The rest is described at TurnBased.
    """

    stt_url: str = ""
    stt_model: str = "gpt-transcribe"
    language: str = "en"
    llm_url: str = ""
    llm_model: str = "gpt-4o"
    tts_url: str = ""
    tts_model: str = "gpt-4o-mini-tts"
    voice: str = "alloy"

    NAME: ClassVar[str] = "cascaded"
    TEXTS: ClassVar[tuple[str, ...]] = ("stt_model", "language", "llm_model", "tts_model", "voice")

    def urls(self) -> Mapping[str, str]:
        """The address of each service, by the setting that gives it."""
        return {name: getattr(self, name) or self.url for name in ("stt_url", "llm_url", "tts_url")}

    @property
    def info(self) -> AgentInfo:
        """What the report says: all that is asked of the three services, and who gets the key."""
        return AgentInfo(
            name=self.NAME,
            model=f"{self.stt_model} + {self.llm_model} + {self.tts_model}",
            transport="http",
            clock="wall",
            input_hz=INPUT_HZ,
            settings={
                **self.urls(),
                "stt_model": self.stt_model,
                "language": self.language,
                "llm_model": self.llm_model,
                "temperature": self.temperature if self.temperature >= 0 else None,
                "tts_model": self.tts_model,
                "voice": self.voice,
                **self.turn_settings(),
            },
        )

    def services(self) -> Sequence[Service]:
        """Transcription, chat, speech."""
        urls = self.urls()
        stt_options = {} if self.language == "auto" else {"language": self.language}
        return (
            self.service("transcription", urls["stt_url"], self.stt_model, stt_options),
            self.service("chat", urls["llm_url"], self.llm_model, self.chat_options()),
            self.service("speech", urls["tts_url"], self.tts_model, {"voice": self.voice}),
        )

    def answering(self, setup: Setup, endpoints: Sequence[Endpoint], emit: Emit, log: WireLog) -> Answering:
        """The user's words are written down, answered, and the answer spoken."""
        stt, llm, tts = endpoints
        history, loudspeaker = History(briefing(setup)), Loudspeaker(emit, asyncio.get_running_loop().time)
        return Answering(
            setup=setup,
            listening=WritingDown(stt, history, emit),
            llm=llm,
            loudspeaker=loudspeaker,
            mouth=Mouth(tts, loudspeaker, emit),
            history=history,
            emit=emit,
        )
