"""The double of Moshi's protocol as PersonaPlex has it, proved by livekit-agents' plugin in its own environment.

VOICEBENCH_PERSONAPLEX_PYTHON names its interpreter (pip install livekit-plugins-nvidia sphn).
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("sphn")

from tests.servers.moshi_server import MoshiScript, moshi_server
from tests.servers.openai_script import Say, recite

PYTHON = os.environ.get("VOICEBENCH_PERSONAPLEX_PYTHON")
CLIENT = Path(__file__).parent / "third_party" / "livekit_personaplex.py"

pytestmark = pytest.mark.skipif(PYTHON is None, reason="VOICEBENCH_PERSONAPLEX_PYTHON is not set")


def seen_by_livekit(script):
    with moshi_server(script, recite([Say(0.8, "Hello there.")])) as double:
        command = [PYTHON, str(CLIENT), f"ws://127.0.0.1:{double.port}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.stdout, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1]), double


@pytest.mark.parametrize("script", [MoshiScript(), MoshiScript(padding=True)], ids=["plain", "padding"])
def test_livekits_plugin_holds_a_turn(script):
    seen, double = seen_by_livekit(script)
    assert (seen["errors"], seen["text"]) == ([], " Hello there.")
    assert 0.8 <= seen["loud_s"] <= 1.0
    assert double.queries == [{"voice_prompt": "NATM1.pt", "text_prompt": "Be brief.", "seed": "7"}]
    assert double.sessions[0].turns == 1


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (MoshiScript(status=503), "503"),
        (MoshiScript(greets=False), "deadline"),
        (MoshiScript(on_turn=[{"close": 1011}]), "closed unexpectedly"),
        (MoshiScript(stops=True), "deadline"),
        (MoshiScript(on_turn=[{"binary": b"\1garbage garbage garbage"}]), "deadline"),
    ],
    ids=["503", "no handshake", "1011", "no more frames", "no opus"],
)
def test_the_same_client_fails_on_a_scripted_fault(script, told):
    seen, _ = seen_by_livekit(script)
    assert any(told in error for error in seen["errors"])
    assert seen["text"] in ("", " Hello there.")
    assert seen["loud_s"] < 0.8
