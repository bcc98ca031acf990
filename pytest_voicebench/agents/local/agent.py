"""The local agent as a description: settings in, a line out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from pytest_voicebench.agents.detectors import SileroOnnx
from pytest_voicebench.agents.hearing import Hearing
from pytest_voicebench.agents.local.line import LocalLine
from pytest_voicebench.agents.local.recognition import load_recognizer
from pytest_voicebench.agents.local.settings import settings_from
from pytest_voicebench.agents.local.vocabulary import expected_words
from pytest_voicebench.agents.protocol import Line, Setup
from pytest_voicebench.agents.voice import check_voice, find_voice
from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.whisper import check_installed


class LocalAgent:
    """A cascaded voice agent without network: Silero, Whisper, rules, flite or Pico.

    Keyword arguments are the fields of LocalSettings, as values or as text. Raises ValueError, in one line, for others
    and where a package of the extra or the voice is not installed.
    """

    def __init__(self, **settings: object) -> None:
        self._settings = settings_from(settings)
        check_installed(self._settings.model)
        check_voice(self._settings.voice)
        model = "tiny.en" if self._settings.model == "bundled" else self._settings.model
        self._info = AgentInfo(
            name="local",
            model=f"whisper {model} + rules",
            transport="process",
            clock="virtual",
            input_hz=self._settings.input_hz,
            settings=self._settings.as_mapping(),
        )

    @property
    def info(self) -> AgentInfo:
        """What the report says; every threshold and cost is in it."""
        return self._info

    def connect(self, setup: Setup) -> AbstractAsyncContextManager[Line]:
        """Open a line. Raises AgentAbsent, in one line, where the extra or its weights are missing."""
        return self._open(setup)

    @asynccontextmanager
    async def _open(self, setup: Setup) -> AsyncIterator[Line]:
        settings = self._settings
        voice = find_voice(settings.voice)
        recognizer = load_recognizer(settings.model, settings.beam, expected_words(settings.prompt, setup.tools))
        line = LocalLine(setup, settings, Hearing(settings, SileroOnnx()), recognizer, voice)
        try:
            yield line
        finally:
            await line.close()

    def __repr__(self) -> str:
        return f"LocalAgent({', '.join(f'{k}={v!r}' for k, v in self._settings.as_mapping().items())})"
