"""`--agent=livekit-room` from a wrong setting to the outcome of an item, without a server; see the proof for one."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import json
import socket
import sys
import types

import pytest
import stage
from suites_for_pytest import run_apart, scenario_yaml, write_conftest, write_suite

from pytest_voicebench.agents.credentials import secrets_in
from pytest_voicebench.agents.livekit_room import LiveKitRoom
from pytest_voicebench.agents.livekit_room.seat import _reason
from pytest_voicebench.agents.naming import AgentNameError, build_agent, check_hosted, parse_agent

SECRET = "planted-secret-88123"
VARIABLES = {"LIVEKIT_URL": "wss://me.example.com", "LIVEKIT_API_KEY": "key-77", "LIVEKIT_API_SECRET": SECRET}

pytest.importorskip("mcp_types", reason="tools over HTTP need the extra 'tools'")


@pytest.fixture(autouse=True)
def installed(monkeypatch, tmp_path):
    """The variables are set, and the client counts as installed; a description does not load it."""
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    if importlib.util.find_spec("livekit.rtc") is None:
        client = types.ModuleType("livekit.rtc")
        client.__spec__ = importlib.machinery.ModuleSpec("livekit.rtc", None)
        monkeypatch.setitem(sys.modules, "livekit.rtc", client)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("", "missing a required argument: 'agent_name'"),
        ("agent_name=", "agent_name must be the name that the agent's worker registers, not ''"),
        ("agent_name=5", "agent_name must be the name that the agent's worker registers, not 5"),
        ("agent_name=a,url=nowhere", "url must be the address of a WebSocket"),
        ("agent_name=a,metadata=en", "metadata must be a JSON object"),
        ("agent_name=a,metadata=[1]", "metadata must be a JSON object"),
        ("agent_name=a,tools=mine", "tools must be both or host or session, not 'mine'"),
        ("agent_name=a,tools_at=0.0.0.0:80", "say as tools_public_url how the agent reaches it"),
        ("agent_name=a,tools=session,tools_at=127.0.0.1:80", "tools_at and tools_public_url belong to tools=host or"),
        ("agent_name=a,tools=session,tools_public_url=https://h", "tools_at and tools_public_url belong to tools=host"),
        ("agent_name=a,join_timeout_s=0", "join_timeout_s must be from 1 to 600, not 0"),
        ("agent_name=a,join_timeout_s=soon", "join_timeout_s must be a number, not 'soon'"),
        ("agent=a", "no setting 'agent' (did you mean 'agent_name'?)"),
    ],
)
def test_a_wrong_setting_is_one_line(settings, told):
    with pytest.raises(AgentNameError) as refused:
        check_hosted(parse_agent(f"livekit-room,{settings}" if settings else "livekit-room"))
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_missing_variable_is_named_on_one_line(monkeypatch, variable):
    monkeypatch.delenv(variable)
    with pytest.raises(AgentNameError) as refused:
        check_hosted(parse_agent("livekit-room,agent_name=a"))
    assert f"{variable} is not set" in str(refused.value)
    assert SECRET not in str(refused.value)


def test_a_wrong_url_in_the_environment_is_told_with_its_variable(monkeypatch):
    monkeypatch.setenv("LIVEKIT_URL", "me.example.com")
    with pytest.raises(AgentNameError, match="LIVEKIT_URL: url must be the address of a WebSocket"):
        check_hosted(parse_agent("livekit-room,agent_name=a"))


def test_a_missing_client_is_told_with_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "livekit.rtc", None)
    with pytest.raises(AgentNameError, match=r"pip install 'pytest-voicebench\[livekit\]'"):
        check_hosted(parse_agent("livekit-room,agent_name=a"))


def test_what_is_missing_ends_a_run_before_anything_is_read(tmp_path):
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", scenario_yaml("travel_01"))
    status, text = run_apart(tmp_path, "--agent=livekit-room,agent_name=a", LIVEKIT_API_SECRET="")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert text.strip().splitlines() == [text.strip()]
    assert "LIVEKIT_API_SECRET is not set" in text or "need the extra 'livekit'" in text


def test_the_report_shows_the_settings_and_neither_key_nor_secret():
    agent = build_agent(parse_agent('livekit-room,agent_name=travel,metadata="{\\"language\\": \\"en\\"}"'), None)
    info = agent.info
    assert (info.name, info.transport, info.clock, info.input_hz) == ("livekit-room", "livekit room", "wall", 48_000)
    assert info.settings["url"] == "wss://me.example.com"
    assert info.settings["metadata"] == '{"language": "en"}'
    for shown in (repr(agent), repr(info), json.dumps(dict(info.settings))):
        assert SECRET not in shown
        assert "key-77" not in shown


def test_secrets_in_the_metadata_are_shown_nowhere_and_hidden_from_the_log():
    metadata = {"language": "en", "crm": {"api_key": "planted-crm-4410"}, "token": "short"}
    agent = LiveKitRoom(agent_name="a", metadata=json.dumps(metadata))
    assert agent.info.settings["metadata"] == '{"language": "en", "crm": {"api_key": "***"}, "token": "***"}'
    assert [s.reveal() for s in secrets_in(metadata)] == ["planted-crm-4410"]
    for shown in (repr(agent), repr(agent.info)):
        assert "planted-crm" not in shown


@pytest.mark.parametrize(("url", "told"), [("http://h:1", "ws://h:1"), ("https://h", "wss://h"), ("ws://h", "ws://h")])
def test_the_address_of_the_server_may_be_that_of_its_api(url, told):
    assert LiveKitRoom(agent_name="a", url=url).info.settings["url"] == told


@pytest.mark.parametrize(
    ("value", "told"), [(None, "no reason given"), (1, "CLIENT_INITIATED"), (5, "ROOM_DELETED"), (99, "reason 99")]
)
def test_a_reason_that_the_client_does_not_know_is_told_by_its_number(monkeypatch, value, told):
    """Raised inside the client's callback it would be lost, and the agent's leaving with it."""
    models = pytest.importorskip("livekit.protocol.models")
    client = importlib.import_module("livekit.rtc")
    monkeypatch.setattr(client, "DisconnectReason", models.DisconnectReason, raising=False)
    assert _reason(value) == told


def nobody():
    """A port at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def test_a_server_that_is_not_there_is_told_on_one_line(tmp_path, monkeypatch):
    pytest.importorskip("livekit.rtc.room", reason="rooms need the extra 'livekit'")
    url = f"ws://127.0.0.1:{nobody()}"
    (problem,) = stage.hold(stage.scenario(tmp_path), LiveKitRoom(agent_name="a", url=url)).problems
    assert (problem.kind, problem.message) == ("agent_absent", f"LiveKit ({url}): nobody listens there")
