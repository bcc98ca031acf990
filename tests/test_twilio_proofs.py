"""The adapter `twilio` against what others wrote: Twilio's own package, and pipecat's serializers for two services.

VOICEBENCH_TWILIO_PYTHON names an interpreter with `pip install twilio`, VOICEBENCH_PIPECAT_PYTHON one with
`pip install pipecat-ai fastapi uvicorn websockets`.
"""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
import stage

from pytest_voicebench.agents.twilio import Twilio
from pytest_voicebench.audio import RATE_HZ
from tests.servers.openai_script import Say, recite
from tests.servers.twilio_server import twilio_server

CLIENTS = Path(__file__).parent / "third_party"
TWILIO_PYTHON = os.environ.get("VOICEBENCH_TWILIO_PYTHON")
PIPECAT_PYTHON = os.environ.get("VOICEBENCH_PIPECAT_PYTHON")
TOKEN = "planted-token-2468"

needs_twilio = pytest.mark.skipif(TWILIO_PYTHON is None, reason="VOICEBENCH_TWILIO_PYTHON is not set")
needs_pipecat = pytest.mark.skipif(PIPECAT_PYTHON is None, reason="VOICEBENCH_PIPECAT_PYTHON is not set")


@contextmanager
def running(python, script, *args):
    """A third party's process; what it prints comes line by line."""
    process = subprocess.Popen(
        [python, str(CLIENTS / script), *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        yield process
    finally:
        process.stdin.close()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def called(tmp_path, agent, *steps):
    return stage.hold(stage.scenario(tmp_path, *steps, settle_s=1.0, max_duration_s=30.0), agent)


def voice_call(tmp_path, monkeypatch, *, token=TOKEN, kind="connect"):
    """A call through a page of Twilio's package to the double: the conversation, what the page saw, the double."""
    monkeypatch.setenv("TWILIO_AUTH_TOKEN", token)
    with twilio_server(None, recite([Say(0.5)])) as double:
        with running(TWILIO_PYTHON, "twilio_voice.py", TOKEN, double.url, kind) as page:
            url = f"http://127.0.0.1:{page.stdout.readline().strip()}/voice?tenant=7&lang=en"
            agent = Twilio(voice_url=url, parameters={"language": "en-GB"})
            talk = called(tmp_path, agent, stage.say(tmp_path, "turn", "filler"))
            seen = json.loads(page.stdout.readline())
            for session in double.sessions:
                page.stdin.write(f"{double.url} {session.headers['X-Twilio-Signature']}\n")
                seen["handshake"] = json.loads(page.stdout.readline())["valid"]
        return talk, seen, double


@needs_twilio
def test_twilios_package_accepts_our_signatures_and_its_twiml_is_read(tmp_path, monkeypatch):
    talk, seen, double = voice_call(tmp_path, monkeypatch)
    assert (talk.problems, talk.ended) == ((), "settled")
    assert (seen["valid"], seen["handshake"]) == (True, True)
    assert seen["form"]["language"] == "en-GB"
    (session,) = double.sessions
    assert session.start["customParameters"]["tenant"] == '<7> & "more"'
    assert session.start["callSid"] == seen["form"]["CallSid"]
    assert sum(chunk.heard_ticks for chunk in talk.chunks) == RATE_HZ // 2


@needs_twilio
def test_twilios_package_refuses_a_signature_by_another_token(tmp_path, monkeypatch):
    talk, seen, double = voice_call(tmp_path, monkeypatch, token="another")
    assert (seen["valid"], double.sessions) == (False, [])
    assert [(p.kind, "HTTP 403" in p.message) for p in talk.problems] == [("agent_absent", True)]


@needs_twilio
def test_twiml_of_twilios_package_without_a_stream_is_refused(tmp_path, monkeypatch):
    talk, seen, _ = voice_call(tmp_path, monkeypatch, kind="say")
    assert seen["valid"]
    assert [p.message.partition(": ")[2] for p in talk.problems] == ["the TwiML has no <Connect><Stream>: it holds Say"]


@needs_pipecat
@pytest.mark.parametrize("dialect", ["twilio", "telnyx"])
def test_pipecats_serializers_hear_every_block_and_are_heard_and_clear(tmp_path, dialect):
    with running(PIPECAT_PYTHON, "pipecat_phone.py", dialect) as bot:
        url = f"ws://127.0.0.1:{bot.stdout.readline().strip()}/ws"
        agent = Twilio(url=url, dialect=dialect, parameters={"language": "en"})
        first = stage.say(tmp_path, "first", "filler")
        second = stage.say(tmp_path, "second", "reply", when=stage.into_agent(1.0))
        talk = called(tmp_path, agent, first, second)
        seen = json.loads(bot.stdout.readline())
    assert talk.problems == ()
    assert (seen["kind"], seen["cleared"], seen["turns"]) == (dialect, 1, 2)
    told = [json.loads(line)["event"] for line in talk.wire_events]
    start = next(event for event in told if isinstance(event, dict) and event.get("event") == "start")
    if dialect == "twilio":
        assert seen["call"]["stream_id"] == start["streamSid"]
        assert (seen["call"]["body"]["language"], "tools_url" in seen["call"]["body"]) == ("en", True)
    else:
        assert seen["call"]["stream_id"] == start["stream_id"]
        assert (seen["call"]["from"], seen["call"]["to"]) == (agent.caller, agent.called)
    blocks = talk.duration_ticks // 480
    assert blocks - 2 <= seen["frames"] <= blocks
    assert seen["samples"] == 160 * seen["frames"]
    (cleared,) = talk.clears_ticks
    before = sum(c.heard_ticks for c in talk.chunks if c.received_ticks < cleared)
    after = sum(c.heard_ticks for c in talk.chunks if c.received_ticks >= cleared)
    assert 0.9 * RATE_HZ <= before < 4 * RATE_HZ
    assert after == pytest.approx(4 * RATE_HZ, abs=0.05 * RATE_HZ)


@needs_pipecat
def test_pipecat_hangs_up_on_a_call_of_another_service(tmp_path):
    with running(PIPECAT_PYTHON, "pipecat_phone.py", "twilio") as bot:
        url = f"ws://127.0.0.1:{bot.stdout.readline().strip()}/ws"
        talk = called(tmp_path, Twilio(url=url, dialect="telnyx"), stage.say(tmp_path, "first", "filler"))
        assert json.loads(bot.stdout.readline())["kind"] == "telnyx"
    assert [(p.kind, p.message) for p in talk.problems] == [
        ("infrastructure", "the server closed the connection (1008 a call of telnyx)")
    ]
