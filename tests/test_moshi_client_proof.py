"""The double of Moshi, proved by Kyutai's own client in its own environment, with a stand-in for the sound card.

VOICEBENCH_MOSHI_PYTHON names its interpreter (pip install aiohttp numpy sphn, then pip install --no-deps moshi): with
its dependencies the package would bring torch, which its client does not need.
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

PYTHON = os.environ.get("VOICEBENCH_MOSHI_PYTHON")
CLIENT = Path(__file__).parent / "third_party" / "moshi_client.py"
REPLY = [Say(0.8, "Hello there.")]

pytestmark = pytest.mark.skipif(PYTHON is None, reason="VOICEBENCH_MOSHI_PYTHON is not set")


def seen_by_kyutai(script, *turns, what="turn"):
    with moshi_server(script, recite(*turns)) as double:
        command = [PYTHON, str(CLIENT), str(double.port), what]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.stdout, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1]), double


@pytest.mark.parametrize("script", [MoshiScript(), MoshiScript(padding=True)], ids=["plain", "padding"])
def test_kyutais_client_holds_a_turn(script):
    seen, double = seen_by_kyutai(script, REPLY)
    assert (seen["ended"], seen["text"].replace("\0", "").replace("\3", "")) == ("client", " Hello there.")
    assert 10 <= seen["loud_frames"] <= 12
    assert [line for line in seen["told"] if line.startswith("Error")] == []
    (session,) = double.sessions
    assert session.turns == 1
    assert double.queries == [{}]


def test_kyutais_client_barges_in():
    seen, double = seen_by_kyutai(MoshiScript(), [Say(20.0, "A long one")], [Say(0.8, "Sorry.")], what="barge_in")
    assert (seen["ended"], seen["text"]) == ("client", " A long one Sorry.")
    assert 10 + 10 <= seen["loud_frames"] < 20.0 / 0.08
    assert double.sessions[0].turns == 2


@pytest.mark.parametrize(
    ("script", "ended", "told"),
    [
        (MoshiScript(status=503), "server", "503"),
        (MoshiScript(on_turn=[{"binary": b"\1garbage garbage garbage"}]), "server", "Lost connection with the server!"),
        (MoshiScript(stops=True), "deadline", ""),
        (MoshiScript(on_turn=[{"close": 1011}]), "server", ""),
        (MoshiScript(on_turn=["drop"]), "server", ""),
    ],
    ids=["503", "no opus", "no more frames", "1011", "drop"],
)
def test_the_same_client_fails_on_a_scripted_fault(script, ended, told):
    seen, _ = seen_by_kyutai(script, REPLY)
    assert (seen["ended"], seen["text"]) == (ended, "")
    assert told in "\n".join(seen["told"])


def test_the_same_client_tells_of_a_frame_that_is_text():
    seen, _ = seen_by_kyutai(MoshiScript(on_turn=[{"raw": "{}"}]), REPLY)
    assert any(line.startswith("Error: received from server") for line in seen["told"])
