"""Keys of the environment and of `.env` that an own agent's code shows wherever it can: no file or line holds one."""

from __future__ import annotations

import json

import pytest
from suites_for_pytest import XDIST, run_apart, scenario_yaml, write_conftest, write_suite

from pytest_voicebench.agents.credentials import Secret, known_secrets, parts_of

KEY = "sk-planted-in-the-environment-8282"
FILED = "sk-planted-in-a-file-of-keys-4646"

LEAKING = """
import logging, os, warnings
from pytest_voicebench.agents.protocol import Fault, ToolCall, Transcript
from pytest_voicebench.conversation import AgentInfo

KEY, FILED = os.environ["OWN_API_KEY"], open(".env").read().partition("=")[2].strip()

class Line(scripted.ScriptedLine):
    async def send(self, audio):
        await super().send(audio)
        if self.agent.setup.conversation_id == "travel_01" and len(self.agent.sent) > 60:
            raise ConnectionError(f"401 from https://api.example.com/v1?key={KEY}: no {FILED}")

    async def answer(self, results):
        self.agent.setup.log.received({"type": "answered", "authorization_was": f"Bearer {KEY}", "body": FILED})

class Leaking(scripted.Scripted):
    def __repr__(self): return f"Leaking({KEY})"

    @property
    def info(self): return AgentInfo(name="leaking", clock="virtual", settings={"greeting": f"with {KEY}"})

    @scripted.asynccontextmanager
    async def connect(self, setup):
        self.setup = setup
        print("connecting with", KEY)
        for name in ("websockets.client", "openai._base_client", "httpx", "own"):
            logging.getLogger(name).debug("> Authorization: Bearer %s", KEY)
        logging.getLogger("own").warning("body %r", {"key": FILED})
        warnings.warn(f"deprecated key {KEY}")
        if setup.conversation_id == "travel_02": raise RuntimeError(f"refused {KEY}")
        yield Line(self)

SCRIPT = [
    (4.5, ToolCall(call_id="c1", name="search_flights", arguments={"destination": KEY, "date": "2026-06-03"})),
    (5.0, Transcript(speaker="agent", text=f"my key is {FILED}", item_id="a")),
    (6.0, Fault(kind="infrastructure", message=f"closed 1008: not for {KEY}, {FILED}")),
]

@pytest.fixture
def agent(): return Leaking(SCRIPT)

@pytest.fixture(autouse=True)
def told(record_property, request):
    record_property("key", KEY)
    yield
    headers, cut = {"Authorization": "Bearer " + KEY}, ["x" * 90, KEY, "y" * 130]
    if "travel_03" in request.node.name: raise RuntimeError(f"{headers} {KEY!r}")
"""

WAYS = {"alone": (("-p", "no:xdist"), ()), "workers": (("-n", "2"), XDIST)}
LOUD = ("-rA", "-v", "--tb=long", "-l", "--junitxml=theirs.xml", "--log-file=pytest.log", "--log-level=DEBUG")
LIVE = ("-o", "log_cli=true", "--log-cli-level=DEBUG")


@pytest.mark.parametrize("way", WAYS)
def test_a_key_that_an_own_agent_shows_is_in_no_file_and_no_line(tmp_path, way):
    words, plugins = WAYS[way]
    write_conftest(tmp_path, LEAKING)
    (tmp_path / ".env").write_text(f"FILED_TOKEN={FILED}\n")
    write_suite(tmp_path / "suites", *(scenario_yaml(f"travel_{n:02}") for n in (1, 2, 3)))
    _, text = run_apart(tmp_path, *LOUD, *LIVE, *words, plugins=plugins, OWN_API_KEY=KEY)
    files = [p for p in tmp_path.rglob("*") if p.is_file() and p.suffix not in (".flac", ".pyc") and p.name != ".env"]
    assert {"events.jsonl", "conversation.json", "report.html", "theirs.xml", "manifest.json"} <= {
        p.name for p in files
    }
    for secret in (KEY, FILED):
        for part in (secret[:16], secret[-12:]):
            assert [line for line in text.splitlines() if part in line] == []
            assert [path.name for path in files if part.encode() in path.read_bytes()] == []
    assert "***" in text
    assert "no ***" in text  # of the close reason, or of the answer's body


@pytest.mark.parametrize(
    "body", ["def agent(): raise RuntimeError(KEY)", "class agent:\n    def __init__(self): raise ValueError(KEY)"]
)
def test_an_agent_that_cannot_be_made_is_told_without_the_key_in_its_message(tmp_path, body):
    write_conftest(tmp_path)
    (tmp_path / "mine.py").write_text(f"import os\nKEY = os.environ['OWN_API_KEY']\n{body}\n")
    write_suite(tmp_path / "suites", scenario_yaml("travel_01"))
    status, text = run_apart(tmp_path, "--agent=mine:agent", plugins=(), OWN_API_KEY=KEY)
    assert status != 0
    assert "***" in text
    assert KEY not in text


def test_a_value_is_found_whole_as_json_and_cut_short():
    import re

    pattern = re.compile(parts_of(Secret('sk-"quoted"-ümlaut-77', "A_KEY")))
    for shown in ('sk-"quoted"-ümlaut-77', json.dumps('sk-"quoted"-ümlaut-77'), '\'sk-"quoted"-ü...', "...mlaut-77'"):
        assert "sk-" not in pattern.sub("", shown)
        assert "77" not in pattern.sub("", shown)
    assert not pattern.search("sk- and -77")


def test_secrets_of_files_are_known_as_those_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("OWN_API_KEY", KEY)
    (tmp_path / ".env.local").write_text(f"OTHER_SECRET={FILED}\nNAME=nothing-of-that-kind\n")
    values = [secret.reveal() for secret in known_secrets(tmp_path)]
    assert KEY in values
    assert FILED in values
    assert "nothing-of-that-kind" not in values
