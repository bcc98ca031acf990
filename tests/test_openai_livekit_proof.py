"""The double of OpenAI's Realtime API and its Grok flavour, proved by livekit-agents' plugins in their own environment.

VOICEBENCH_LIVEKIT_PYTHON names its interpreter (pip install livekit-plugins-openai livekit-plugins-xai): their pins
collide with other clients', so they are not among the development dependencies.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.servers.openai_script import Call, Say, Script, recite
from tests.servers.openai_server import openai_server

PYTHON = os.environ.get("VOICEBENCH_LIVEKIT_PYTHON")
CLIENT = Path(__file__).parent / "third_party" / "livekit_realtime.py"
CALL = Call("search_flights", '{"destination": "Milan"}')

pytestmark = pytest.mark.skipif(PYTHON is None, reason="VOICEBENCH_LIVEKIT_PYTHON is not set")


def seen_by_livekit(flavour, script):
    line = recite([CALL, Say(0.5, "Hello there.")], heard=["Hi."])
    with openai_server(script, line) as double:
        done = subprocess.run(
            [PYTHON, str(CLIENT), flavour, double.url], capture_output=True, text=True, timeout=60, check=False
        )
    assert done.stdout, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1]), double.sessions


@pytest.mark.parametrize(
    ("flavour", "script"),
    [("openai", Script()), ("xai", Script(dialect="grok", pings=True))],
    ids=["openai", "xai"],
)
def test_livekits_plugin_holds_a_turn_with_a_tool(flavour, script):
    seen, (session,) = seen_by_livekit(flavour, script)
    assert seen["errors"] == []
    assert seen["events"] == ["speech_started", "speech_stopped"]
    assert seen["calls"] == [["search_flights", '{"destination": "Milan"}']]
    assert seen["user"][-1:] == ["Hi."]
    assert (seen["texts"], seen["audio_s"]) == (["Hello there."], [pytest.approx(0.5)])
    outputs = [e["item"] for e in session.seen if e["type"] == "conversation.item.create"]
    assert [item["type"] for item in outputs if item["type"] == "function_call_output"] == ["function_call_output"]
    assert [e["type"] for e in session.seen].count("response.create") == 1


@pytest.mark.parametrize("flavour", ["openai", "xai"])
def test_the_same_client_fails_on_a_scripted_fault(flavour):
    error = {"type": "server_error", "code": "server_error", "message": "Planted failure."}
    dialect = "grok" if flavour == "xai" else "ga"
    seen, _ = seen_by_livekit(flavour, Script(dialect=dialect, on_turn=[{"error": error}, "drop"]))
    assert any("returned an error" in told for told in seen["errors"])
    assert any("closed unexpectedly" in told for told in seen["errors"])
    assert seen["texts"] == []
