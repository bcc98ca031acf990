"""The double of Gemini Live, proved by Google's own google-genai: it accepts the double, and fails on its faults.

VOICEBENCH_GENAI_PYTHON names an interpreter with google-genai, else this one's is used where it is installed. The
client speaks TLS only, so that the double gets a certificate of its own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_voicebench.audio import RATE_HZ
from tests.servers.gemini_script import GeminiScript
from tests.servers.gemini_server import gemini_server
from tests.servers.openai_script import Call, Say, recite
from tests.servers.tls import new_certificate, server_context


def installed() -> bool:
    try:
        return importlib.util.find_spec("google.genai") is not None
    except ModuleNotFoundError:
        return False


PYTHON = os.environ.get("VOICEBENCH_GENAI_PYTHON") or (sys.executable if installed() else None)
CLIENT = Path(__file__).parent / "third_party" / "gemini_live.py"
CALL = Call("search_flights", '{"destination_city": "Milan"}')
HELLO = [CALL, CALL, Say(0.5, "Hello there.")]

pytestmark = [
    pytest.mark.skipif(PYTHON is None, reason="google-genai is not installed, and VOICEBENCH_GENAI_PYTHON is not set"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with"),
]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 and its key."""
    return new_certificate(tmp_path_factory.mktemp("tls"))


def seen_by_genai(certificate, script, *turns, what="turn"):
    line = recite(*(turns or (HELLO,)), heard=["Hi."])
    with gemini_server(script, line, ssl=server_context(certificate)) as double:
        command = [PYTHON, str(CLIENT), str(double.port), str(certificate[0]), what]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1]), double


@pytest.mark.parametrize(
    "script",
    [GeminiScript(key="AIza-test"), GeminiScript(joined=True), GeminiScript(text_frames=True), GeminiScript(odd=True)],
    ids=["plain", "joined", "text_frames", "odd"],
)
def test_google_genai_holds_a_turn_with_two_calls_in_one_message(certificate, script):
    seen, double = seen_by_genai(certificate, script)
    assert seen["error"] is None
    assert seen["order"] == ["calls", "sound", "generation_complete", "turn_complete"]
    assert seen["calls"] == [[["search_flights", {"destination_city": "Milan"}]] * 2]
    assert seen["bytes"] == 2 * round(0.5 * RATE_HZ)
    assert seen["types"] == ["audio/pcm;rate=24000"]
    assert (seen["user"], seen["agent"], seen["tokens"]) == ("Hi.", "Hello there.", [120])
    (session,) = double.sessions
    (answer,) = [m["toolResponse"]["functionResponses"] for m in session.seen]
    assert [(r["id"], r["response"]) for r in answer] == [("call_1", {"n": 1}), ("call_2", {"n": 1})]
    detection = double.setups[0]["realtimeInputConfig"]["automaticActivityDetection"]
    assert detection == {"silenceDurationMs": 200, "prefixPaddingMs": 100}
    assert double.headers[0]["x-goog-api-key"] == "AIza-test"


def test_google_genai_barges_in(certificate):
    turns = [Say(3.0, "A long one.")], [Say(0.3, " Sorry.")]
    seen, _ = seen_by_genai(certificate, GeminiScript(pace=0.9), *turns, what="barge_in")
    assert seen["error"] is None
    cut = ["sound", "interrupted", "turn_complete"]
    assert seen["order"] == [*cut, "sound", "generation_complete", "turn_complete"]
    assert 2 * round(0.3 * RATE_HZ) < seen["bytes"] < 2 * 3 * RATE_HZ
    assert seen["agent"] == "A long one. Sorry."


def test_google_genai_resumes_the_session_after_go_away(certificate):
    script = GeminiScript(on_audio=[{"go_away": 8}])
    seen, double = seen_by_genai(certificate, script, [Say(0.3, "One.")], [Say(0.3, "Two.")], what="resume")
    assert seen["error"] is None
    assert seen["order"].index("go_away") < seen["order"].index("resumed")
    assert seen["time_left"] == "8s"
    assert seen["agent"] == "One.Two."
    assert (len(double.sessions), len(double.setups)) == (1, 2)
    assert double.setups[1]["sessionResumption"]["handle"] in double.sessions[0].handles


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (GeminiScript(wrong_id=True), "1007"),
        (GeminiScript(key="AIza-another"), "1007"),
        (GeminiScript(refuses_setup="models/x is not found"), "1008"),
        (GeminiScript(on_turn=[{"close": 1011, "reason": "Deadline expired"}]), "1011"),
        (GeminiScript(on_audio=["drop"]), "1006"),
        (GeminiScript(on_turn=[{"raw": "{garbage"}]), "Failed to parse response"),
        (GeminiScript(malformed=True), "inlineData"),
        (GeminiScript(snake=True), "TypeError"),
    ],
    ids=["unknown_id", "key", "refused", "1011", "drop", "garbage", "malformed", "snake"],
)
def test_the_same_client_fails_on_a_scripted_fault(certificate, script, told):
    seen, _ = seen_by_genai(certificate, script)
    assert seen["error"] is not None
    assert told in seen["error"]
    assert "turn_complete" not in seen["order"]
