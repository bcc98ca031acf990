"""Doubles of providers, each in a process of its own with the `local` agent behind it: the agents that reach them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import ROOT

_GEMINI = "ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
_COSTS = "cost_hear_s=0.4,cost_think_s=0.2"
_VOICE_COST = "cost_speak_s=0.2"
_ONE_PATIENCE = f"local,input_hz={{hz}},endpoint_open_s=2.2,cost_speak_s=0,{_COSTS}"
_OWN_TURNS = "vad=silero_onnx,silence_ms=2200,url=http://127.0.0.1:{port}/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Double:
    """A module under tests/servers, what it has behind it, what `--agent` is told to reach it, and the same untold.

    Both sides are charged more time for hearing, thinking and speaking than the computing takes, so that what is left
    between them is the wire's. The reference is sent the user's speech at the rate that the wire takes, `hz`.
    """

    module: str
    agent: str
    behind: str = f"local,{_COSTS},{_VOICE_COST}"
    reference: str = f"local,input_hz={{hz}},{_COSTS},{_VOICE_COST}"


DOUBLES: Mapping[str, Double] = {
    "gpt-realtime": Double(module="openai_server", agent="gpt-realtime,url=ws://127.0.0.1:{port}/v1/realtime"),
    "grok": Double(module="openai_server", agent="grok,dialect=ga,url=ws://127.0.0.1:{port}/v1/realtime"),
    **{
        f"gemini-live-{version}": Double(
            module="gemini_server", agent=f"gemini-live-{version},url=ws://127.0.0.1:{{port}}/{_GEMINI}"
        )
        for version in ("2.5", "3.1", "3.8")
    },
    "ultravox": Double(module="ultravox_server", agent="ultravox,url=http://127.0.0.1:{port}/api"),
    "cascaded": Double(
        module="cascade_local", agent=f"cascaded,{_OWN_TURNS}", behind=f"local,{_COSTS}", reference=_ONE_PATIENCE
    ),
    "audio_chat": Double(
        module="cascade_local",
        agent=f"audio_chat,answer=text,{_OWN_TURNS}",
        behind=f"local,{_COSTS}",
        reference=_ONE_PATIENCE,
    ),
    "nemotron-voicechat": Double(
        module="omni_server", agent="nemotron-voicechat,url=ws://127.0.0.1:{port}/v1/realtime"
    ),
    "twilio": Double(
        module="twilio_server",
        agent="twilio,url=ws://127.0.0.1:{port}/media",
        reference=f"tests.servers.phone_local:build,{_COSTS},{_VOICE_COST}",
    ),
}
"""By the name of an agent. Where we take the turns ourselves, we wait for as long a silence as `local`, which then has
one patience for all turns, and the reply comes sentence by sentence, at no charge. Over the telephone `local` hears
mu-law at 8 kHz, on both sides."""


@contextmanager
def double_process(name: str, suite: Path) -> Iterator[str]:
    """What to give `--agent`, while the double runs. The suite tells it what no JSON schema says of its tools."""
    double = DOUBLES[name]
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    server = subprocess.Popen(
        [sys.executable, "-m", f"tests.servers.{double.module}", double.behind, str(suite)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        yield double.agent.format(port=int(server.stdout.readline()))
    finally:
        server.stdin.close()
        server.wait(timeout=10)
