"""`local` as it hears through a telephone, on the virtual clock: `--agent=tests.servers.phone_local:build`."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from pytest_voicebench.agents.local import LocalAgent
from pytest_voicebench.agents.twilio.mulaw import RATE_HZ, decode_mulaw, encode_mulaw
from pytest_voicebench.audio import Audio, StreamResampler


class PhoneLocal:
    """What the user says goes through 8 kHz mu-law; all else is as it is."""

    def __init__(self, **settings: object) -> None:
        self.inner = LocalAgent(**settings)
        self.info = replace(self.inner.info, name="phone_local", input_hz=RATE_HZ)

    @asynccontextmanager
    async def connect(self, setup):
        async with self.inner.connect(setup) as line:
            yield Telephone(line, self.inner.info.input_hz)


class Telephone:
    def __init__(self, line: Any, rate_hz: int) -> None:
        self.line, self.rate_hz = line, rate_hz
        self.resampler = StreamResampler(RATE_HZ, rate_hz)
        self.unheard = np.zeros(0, np.int16)
        self.receive, self.answer = line.receive, line.answer
        self.played, self.inject = line.played, line.inject

    async def send(self, audio: Audio) -> None:
        heard = self.resampler.feed(decode_mulaw(encode_mulaw(audio.samples)))
        self.unheard, size = np.concatenate([self.unheard, heard]), self.rate_hz // 50
        while len(self.unheard) >= size:
            block, self.unheard = self.unheard[:size], self.unheard[size:]
            await self.line.send(Audio(samples=block, rate_hz=self.rate_hz))


def build(**settings: object) -> PhoneLocal:
    return PhoneLocal(**settings)
