"""The double of a cascade's services with the parts of the agent `local` in them: Whisper, its rules, its voice.

`cascade_process(suite)` runs it in a process of its own, so that recognition makes nobody's blocks late; the process
(`python -m tests.servers.cascade_local AGENT [SUITE.yaml]`, where AGENT is `local` with its settings) prints its port
and ends with its standard input. The suite is read only for what a JSON schema does not say of its tools. Hearing,
thinking and speaking take as long as the settings charge for them, or as the computing takes where that is longer.
"""

from __future__ import annotations

import functools
import io
import json
import os
import subprocess
import sys
import threading
import time
import wave
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_voicebench.agents.hearing import INPUT_HZ
from pytest_voicebench.audio import RATE_HZ, resample
from tests.servers.cascade_chat import sounds_of
from tests.servers.cascade_script import Call, Chat, Script
from tests.servers.cascade_server import cascade_server
from tests.servers.openai_script import setup_of
from tests.servers.openai_server import ENDS_WITHIN_S

if TYPE_CHECKING:
    from pytest_voicebench.agents.local.settings import LocalSettings

Json = Any


@contextmanager
def charged(cost_s: float):
    """A block of work that takes at least so long."""
    end_s = time.monotonic() + cost_s
    yield
    time.sleep(max(0.0, end_s - time.monotonic()))


def local_script(tools: dict[str, Any], settings: LocalSettings) -> Script:
    """The three services. Whisper and the voice are used by one request at a time."""
    from pytest_voicebench.agents.local.recognition import load_recognizer
    from pytest_voicebench.agents.local.vocabulary import expected_words
    from pytest_voicebench.agents.voice import find_voice

    one_at_a_time = threading.Lock()
    prompt = expected_words(settings.prompt, list(tools.values()))
    recognizer, voice = load_recognizer(settings.model, settings.beam, prompt), find_voice(settings.voice)

    @functools.lru_cache(maxsize=256)  # a chat tells all speech again with every request
    def heard(wav: bytes) -> str:
        with wave.open(io.BytesIO(wav)) as file:
            samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        with charged(settings.cost_hear_s * len(samples) / INPUT_HZ), one_at_a_time:
            return recognizer.transcribe(samples.astype(np.float32) / 32768.0)

    def spoken(text: str) -> np.ndarray:
        with one_at_a_time:
            return resample(voice.say(text), RATE_HZ).samples

    def planned_in_time(body: Json) -> Chat:
        turn_of(body["messages"], heard)  # listening is charged apart
        thinks = body["messages"][-1]["role"] == "user"
        with charged(settings.cost_think_s if thinks else 0.0):
            return planned(body, tools, heard)

    return Script(heard=heard, chats=planned_in_time, voice=spoken)


def planned(body: Json, tools: dict[str, Any], heard: Callable[[bytes], str]) -> Chat:
    """What the rules do next with the conversation: the next call of the plan, or a reply when all are made."""
    from pytest_voicebench.agents.local.reply import reply_text
    from pytest_voicebench.agents.local.understanding.planner import plan
    from pytest_voicebench.agents.local.understanding.references import Reference, resolve

    session = {"instructions": body["messages"][0]["content"], "tools": [t["function"] for t in body["tools"]]}
    setup = setup_of(session, tools)
    before, words, made = turn_of(body["messages"], heard)
    steps = plan(" ".join(words), setup.tools, setup.today, before)
    ready = [step for step in steps if not step.missing]
    if len(made) >= len(ready):
        return Chat(reply_text(made, [step for step in steps if step.missing]))
    step, known = ready[len(made)], [*before, *made]
    found = {k: resolve(v, known) if isinstance(v, Reference) else v for k, v in step.arguments.items()}
    return Chat(calls=[Call(step.tool, json.dumps({k: v for k, v in found.items() if v is not None}))])


def turn_of(messages: list[Json], heard: Callable[[bytes], str]) -> tuple[list[Any], list[str], list[Any]]:
    """Calls before the user's turn, what the user said in it, and the calls made since; a turn ends with a reply.

    Words of the user are text, or the sound that is in the message.
    """
    from pytest_voicebench.agents.local.understanding.references import Known

    before: list[Any] = []
    words: list[str] = []
    made: list[Any] = []
    results = {m["tool_call_id"]: json.loads(m["content"]) for m in messages if m["role"] == "tool"}
    for message in messages:
        if message["role"] == "user":
            content = message["content"]
            words += [content] if isinstance(content, str) else [heard(wav) for wav in sounds_of(message)]
        elif message["role"] == "assistant" and not message.get("tool_calls"):
            before, words, made = [*before, *made], [], []
        for call in message.get("tool_calls") or ():
            function = call["function"]
            arguments = json.loads(function["arguments"])
            made.append(Known(tool=function["name"], arguments=arguments, result=results[call["id"]]))
    return before, words, made


@contextmanager
def cascade_process(suite: Path | None = None):
    """The port of the double in a process of its own."""
    root = Path(__file__).parents[2]
    args = [sys.executable, "-m", "tests.servers.cascade_local", "local", *([str(suite)] if suite else [])]
    paths = os.pathsep.join([str(root), str(root / "tests")])
    server = subprocess.Popen(
        args,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
    )
    try:
        yield int(server.stdout.readline())
    finally:
        server.stdin.close()
        server.wait(timeout=ENDS_WITHIN_S)


def main(agent_text: str, suite: Path | None) -> None:
    """Serve until standard input closes. Who measures goes first."""
    from pytest_voicebench.agents.local.settings import settings_from
    from pytest_voicebench.agents.naming import parse_agent
    from pytest_voicebench.loading import load_suite

    os.nice(10)
    settings = settings_from(dict(parse_agent(agent_text).settings))
    tools = dict(load_suite(suite).info.tools) if suite else {}
    with cascade_server(local_script(tools, settings)) as double:
        print(double.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]) if sys.argv[2:] else None)
