"""Doubles of providers, each in a process of its own with the `local` agent behind it: the agents that reach them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.processes import ROOT

_GEMINI = "ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"

DOUBLES: Mapping[str, tuple[str, str]] = {
    "gpt-realtime": ("openai_server", "gpt-realtime,url=ws://127.0.0.1:{port}/v1/realtime"),
    "grok": ("openai_server", "grok,dialect=ga,url=ws://127.0.0.1:{port}/v1/realtime"),
    "gemini-live-2.5": ("gemini_server", f"gemini-live-2.5,url=ws://127.0.0.1:{{port}}/{_GEMINI}"),
    "gemini-live-3.1": ("gemini_server", f"gemini-live-3.1,url=ws://127.0.0.1:{{port}}/{_GEMINI}"),
    "gemini-live-3.8": ("gemini_server", f"gemini-live-3.8,url=ws://127.0.0.1:{{port}}/{_GEMINI}"),
    "ultravox": ("ultravox_server", "ultravox,url=http://127.0.0.1:{port}/api"),
    "cascaded": ("cascade_local", "cascaded,silence_ms=2200,url=http://127.0.0.1:{port}/v1"),
    "audio_chat": ("cascade_local", "audio_chat,silence_ms=2200,answer=text,url=http://127.0.0.1:{port}/v1"),
    "nemotron-voicechat": ("omni_server", "nemotron-voicechat,url=ws://127.0.0.1:{port}/v1/realtime"),
    "twilio": ("twilio_server", "twilio,url=ws://127.0.0.1:{port}/media"),
}
"""For the name of an agent: the module of its double under tests/servers, and what `--agent` is told.

`local` waits 2.2 s before it answers; where we take the turns ourselves, we wait as long. On the telephone it hears
8 kHz, which costs it words.
"""


@contextmanager
def double_process(name: str, suite: Path) -> Iterator[str]:
    """What to give `--agent`, while the double runs. The suite tells it what no JSON schema says of its tools."""
    module, agent = DOUBLES[name]
    words = ["local"] if module != "cascade_local" else []
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    server = subprocess.Popen(
        [sys.executable, "-m", f"tests.servers.{module}", *words, str(suite)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        yield agent.format(port=int(server.stdout.readline()))
    finally:
        server.stdin.close()
        server.wait(timeout=10)
