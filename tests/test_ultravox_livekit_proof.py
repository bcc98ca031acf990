"""The double of Ultravox, proved by livekit-agents' plugin in its own environment.

VOICEBENCH_LIVEKIT_PYTHON names its interpreter (pip install livekit-plugins-ultravox): its pins collide with other
clients', so it is not among the development dependencies.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.servers.openai_script import Call, Say, recite
from tests.servers.ultravox_script import UltravoxScript
from tests.servers.ultravox_server import ultravox_server

PYTHON = os.environ.get("VOICEBENCH_LIVEKIT_PYTHON")
CLIENT = Path(__file__).parent / "third_party" / "livekit_ultravox.py"
CALL = Call("search_flights", '{"destination": "Milan"}')


def has_plugin() -> bool:
    """Whether that environment has the plugin; one made for other tests may lack it."""
    if PYTHON is None:
        return False
    look = "import importlib.util as u, sys; sys.exit(u.find_spec('livekit.plugins.ultravox') is None)"
    return subprocess.run([PYTHON, "-c", look], capture_output=True, timeout=60, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not has_plugin(), reason="VOICEBENCH_LIVEKIT_PYTHON has no livekit-plugins-ultravox")


def seen_by_livekit(script, *turns, what="turn"):
    line = recite(*(turns or ([CALL, Say(0.5, "Hello there.")],)), heard=["Hi."])
    with ultravox_server(script, line) as double:
        command = [PYTHON, str(CLIENT), double.url, what]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.stdout, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1]), double


@pytest.mark.parametrize(
    "script",
    [UltravoxScript(key="uv-test"), UltravoxScript(whole_texts=True), UltravoxScript(unknown=True)],
    ids=["plain", "whole_texts", "unknown"],
)
def test_livekits_plugin_holds_a_turn_with_a_tool(script):
    seen, double = seen_by_livekit(script)
    assert seen["errors"] == []
    assert seen["order"] == ["listening", "thinking", "call", "speaking", "listening"]
    assert seen["calls"] == [["search_flights", '{"destination": "Milan"}']]
    assert seen["user"] == ["Hi."]
    assert seen["audio_s"] == [0.0, 0.5]
    assert ("Hello there." in seen["texts"][1], seen["texts"][0]) == (True, "")
    (session,) = double.sessions
    assert [(m["type"], m["invocationId"], m["result"]) for m in session.seen] == [
        ("client_tool_result", "invocation-1", '"ok"')
    ]
    (request,) = double.requests
    assert request["medium"]["serverWebSocket"] == {
        "inputSampleRate": 16_000,
        "outputSampleRate": 24_000,
        "clientBufferSizeMs": 30_000,
    }
    assert double.headers[0]["X-API-Key"] == "uv-test"
    assert double.queries == [{"enableGreetingPrompt": "false"}]


def test_livekits_plugin_barges_in():
    seen, _ = seen_by_livekit(UltravoxScript(), [Say(20.0, "A long one.")], [Say(0.3, "Sorry.")], what="barge_in")
    assert seen["errors"] == []
    first = ["listening", "thinking", "speaking"]
    assert seen["order"][:7] == [*first, "clear", *first]
    assert seen["texts"][-1] == "Sorry."
    assert seen["audio_s"][-1] == 0.3


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (UltravoxScript(key="uv-another"), "HTTP 403"),
        (UltravoxScript(status=429, retry_after="3"), "HTTP 429"),
        (UltravoxScript(status=400), "HTTP 400"),
        (UltravoxScript(body="{}"), "no joinUrl received"),
        (UltravoxScript(on_turn=[{"close": 1011}]), "closed unexpectedly"),
        (UltravoxScript(on_audio=["drop"]), "closed unexpectedly"),
        (UltravoxScript(malformed=True), "deadline"),
    ],
    ids=["key", "429", "400", "no address", "1011", "drop", "malformed"],
)
def test_the_same_client_fails_on_a_scripted_fault(script, told):
    seen, _ = seen_by_livekit(script)
    assert any(told in error for error in seen["errors"]), seen
    assert "listening" not in seen["order"][1:]


def test_the_same_client_loses_sound_where_pieces_end_in_the_middle_of_a_sample():
    seen, _ = seen_by_livekit(UltravoxScript(odd=True))
    assert seen["errors"] == []
    assert 0 < seen["audio_s"][1] < 0.5
