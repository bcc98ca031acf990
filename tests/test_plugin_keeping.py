"""`--voicebench-no-audio` and `--voicebench-redact`: what is not to be kept is in no file and on no screen."""

from __future__ import annotations

import json
import shutil
import textwrap
from pathlib import Path

import pytest
from servers.judge_server import judge_server
from suites_for_pytest import (
    PASSING,
    latest_run,
    pytest_in_process,
    run_apart,
    scenario_yaml,
    summary_of,
    write_conftest,
    write_suite,
)

from pytest_voicebench.conversation_files import load_conversation
from pytest_voicebench.redacting import MARK
from pytest_voicebench.saved_run import load_run

SECRETS = ("Quillon", "4111 2222", "41112222", "Zürich-7")
"""A name, a number in words and as a number, and a text with a letter that JSON may escape."""

PATTERN = r"(?i)quillon|4111 ?2222|Zürich-7"

OURS = ("suites", "conftest.py", "pytest.ini", "nasty.py")

NASTY = """
import sys, logging, warnings
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pytest_voicebench.agents.protocol import ToolCall, ToolCancelled, Transcript
from scripted import CLOSE, Scripted
from pytest_voicebench.conversation import AgentInfo

@dataclass
class Nasty(Scripted):
    script: list = field(default_factory=list)
    @property
    def info(self):
        return AgentInfo(name="nasty", clock=self.clock, settings={"greeting": "Hello Quillon"})
    @asynccontextmanager
    async def connect(self, setup):
        print("connecting Quillon")
        logging.warning("card 4111 2222")
        warnings.warn("warned of Quillon")
        for bit in ("Qui", "ll", "on"):
            setup.log.received({"type": "delta", "delta": bit})
        setup.log.received({"type": "call", "arguments": '{"where": "Z\\\\u00fcrich-7", "card": 41112222}'})
        async with Scripted.connect(Nasty(script=self.script, clock=self.clock), setup) as line:
            yield line

def call(name, **arguments):
    return ToolCall(call_id=name, name=name, arguments=arguments)

SCRIPT = [
    (3.0, Transcript(speaker="user", text="Find me Quillon a flight", item_id="u")),
    (4.8, call("search_flights", destination="Zürich-7", date="2026-06-03")),
    (4.9, call("search_flights", destination="Milan", date="2026-06-03", Quillon=41112222)),
    (4.95, call("pay_Quillon", card=41112222)),
    (5.0, Transcript(speaker="agent", text="Dear Quillon, 4111", item_id="a")),
    (5.1, Transcript(speaker="agent", text="2222 is your card", item_id="b")),
    (6.0, CLOSE),
]
"""

AGENTS = """
import nasty

@pytest.fixture(scope="session")
def agent():
    class Chosen(nasty.Nasty):
        pass
    return Chosen(script=list(nasty.SCRIPT), clock={clock!r})

def pytest_runtest_call(item):
    if "travel_03" in item.nodeid: raise RuntimeError("no Quillon, no 4111 2222")

@pytest.fixture(autouse=True)
def told(record_property):
    record_property("who", "Quillon of Zürich-7")
"""


def write_run(folder: Path, clock: str = "virtual") -> None:
    """Three scenarios that hold the secrets in their own words, and an agent that repeats them wherever it can."""
    write_conftest(folder, AGENTS.format(clock=clock))
    (folder / "nasty.py").write_text(textwrap.dedent(NASTY))
    suite = write_suite(folder / "suites", *(scenario_yaml(f"travel_{n:02}") for n in (1, 2, 3)))
    text = suite.read_text().replace("A flight to Milan", "A flight for Quillon").replace("Find me a", "Quillon me a")
    suite.write_text(text.replace("destination: Milan", "destination: Zürich-7"), encoding="utf-8")
    for timing in (folder / "suites" / "audio").glob("*.json"):
        timing.write_text(timing.read_text().replace('"Find"', '"Quillon"'))


def artifacts(folder: Path) -> dict[str, bytes]:
    """Every file below the folder that a run has written, and every name of one."""
    files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    left = [path for path in files if path.relative_to(folder).parts[0] not in OURS]
    return {str(path.relative_to(folder)): path.read_bytes() for path in left}


def forms(secret: str) -> list[bytes]:
    """A text as files may hold it."""
    return [secret.encode(), json.dumps(secret)[1:-1].encode(), secret.encode("utf-16-le")]


def leaks(folder: Path, shown: str) -> list[str]:
    """Where a secret stands."""
    places = {**artifacts(folder), "(terminal)": shown.encode()}
    return [
        f"{name}: {secret}"
        for name, data in places.items()
        for secret in SECRETS
        for form in forms(secret)
        if form.lower() in data.lower()
    ]


def scores(folder: Path) -> list[object]:
    """Outcome and every figure of each item."""
    rows = load_run(latest_run(folder)).results
    cards = [(r.item_id, r.outcome, r.scorecard) for r in rows]
    return [
        (i, o, c and (c.passed, c.f1_names, c.f1_match, c.f1_strict, c.argument_accuracy, c.times, c.manners))
        for i, o, c in cards
    ]


WAYS = pytest.mark.parametrize(
    ("way", "plugins", "clock"),
    [
        ((), (), "virtual"),
        (("-n", "2"), ("xdist.plugin",), "virtual"),
        (("--voicebench-concurrency=3",), (), "wall"),
    ],
    ids=["alone", "workers", "at-once"],
)


@WAYS
def test_a_planted_value_is_in_no_artifact_byte_by_byte(tmp_path, way, plugins, clock):
    write_run(tmp_path, clock)
    more = ("-rA", "--junitxml=theirs.xml", *way)
    with judge_server() as double:
        judge = {"OPENAI_BASE_URL": double.url, "OPENAI_API_KEY": "key"}
        args = (f"--voicebench-redact={PATTERN}", "--voicebench-judge=double,retries=0", *more)
        status, shown = run_apart(tmp_path, *args, plugins=plugins, **judge)
        prompts = repr([request.body for request in double.seen])
    assert status == 1, shown
    assert leaks(tmp_path, shown + prompts) == []
    assert MARK in shown
    assert "Scenario(" not in shown
    assert "SOUND WAS NOT" in shown
    written = "".join(str(name) for name in artifacts(tmp_path))
    for name in ("conversation.json", "events.jsonl", "results.jsonl", "plan.json", "summary.json", "junit.xml"):
        assert name in written
    assert "theirs.xml" in artifacts(tmp_path)


def test_without_the_option_the_same_search_finds_the_value_in_every_kind_of_file(tmp_path):
    write_run(tmp_path)
    _, shown = run_apart(tmp_path, "-rA", "--junitxml=theirs.xml", plugins=())
    found = {Path(leak.partition(":")[0]).name for leak in leaks(tmp_path, shown)}
    assert found >= {
        "conversation.json",
        "result.json",
        "results.jsonl",
        "plan.json",
        "summary.json",
        "junit.xml",
        "theirs.xml",
        "(terminal)",
    }


def test_scores_are_those_of_what_was_said_whatever_is_kept(tmp_path):
    write_run(tmp_path)
    run_apart(tmp_path, plugins=())
    plain = scores(tmp_path)
    run_apart(tmp_path, f"--voicebench-redact={PATTERN}", "--voicebench-no-audio", plugins=())
    assert scores(tmp_path) == plain
    assert plain[0][2] is not None


@WAYS
def test_without_audio_no_sound_is_written_and_every_place_says_why(tmp_path, way, plugins, clock):
    write_run(tmp_path, clock)
    _, shown = run_apart(tmp_path, "--voicebench-no-audio", "-v", *way, plugins=plugins)
    run = latest_run(tmp_path)
    assert [path.name for path in run.rglob("*") if path.suffix in (".flac", ".wav", ".ogg", ".raw", ".pcm")] == []
    held = load_conversation(run / "items" / "travel_01")
    assert held.withheld == ("sound",)
    assert "(no recording was kept: --voicebench-no-audio)" in shown
    assert "withheld sound (--voicebench-no-audio)" in shown
    assert summary_of(tmp_path)["header"]["withheld"] == {"sound": True, "patterns": 0}
    assert "audio.flac" not in (run / "junit.xml").read_text()
    assert "travel_01.withheld" in (run / "junit.xml").read_text()


def test_a_run_without_sound_is_rescored_to_the_same_scores(tmp_path):
    write_run(tmp_path)
    run_apart(tmp_path, "--voicebench-no-audio", plugins=())
    before = scores(tmp_path)
    status, shown = run_apart(tmp_path, "--voicebench-rescore=latest", plugins=())
    assert status == 1, shown
    assert scores(tmp_path) == before
    assert not list(latest_run(tmp_path).rglob("audio.flac"))
    assert "3 items compared: 3 are the same" in shown


def test_a_redacted_run_says_in_one_line_what_cannot_be_rescored(tmp_path):
    write_run(tmp_path)
    run_apart(tmp_path, f"--voicebench-redact={PATTERN}", plugins=())
    _, shown = run_apart(tmp_path, "--voicebench-rescore=latest", plugins=())
    assert "of 2 of 3 items text was redacted (--voicebench-redact): they cannot be judged again" in shown
    rows = {row.item_id: row for row in load_run(latest_run(tmp_path)).results}
    assert (rows["travel_01"].outcome, rows["travel_01"].error_kind) == ("error", "suite")
    assert "cannot be judged again" in rows["travel_01"].cause


def test_rescoring_can_redact_and_leave_out_the_sound_of_a_run_that_kept_everything(tmp_path):
    write_run(tmp_path)
    run_apart(tmp_path, plugins=())
    before, first = scores(tmp_path), latest_run(tmp_path)
    args = ("--voicebench-rescore=latest", f"--voicebench-redact={PATTERN}", "--voicebench-no-audio")
    _, shown = run_apart(tmp_path, *args, plugins=())
    again = latest_run(tmp_path)
    assert scores(tmp_path) == before
    assert not list(again.rglob("audio.flac"))
    shutil.rmtree(first)
    shutil.rmtree(tmp_path / ".pytest_cache", ignore_errors=True)  # of the first run
    assert leaks(tmp_path, shown) == []


def test_a_resumed_run_keeps_what_it_kept(tmp_path):
    write_run(tmp_path)
    run_apart(tmp_path, f"--voicebench-redact={PATTERN}", plugins=())
    status, shown = run_apart(tmp_path, "--voicebench-resume=latest", plugins=())
    assert status == 4
    assert "what is kept of" in shown
    status, shown = run_apart(tmp_path, "--voicebench-resume=latest", f"--voicebench-redact={PATTERN}", plugins=())
    assert status == 1
    assert leaks(tmp_path, shown) == []


def test_patterns_of_the_ini_file_count_too(pytester, monkeypatch):
    run = pytest_in_process(pytester, monkeypatch)
    ini = "[pytest]\nasyncio_default_fixture_loop_scope = session\nvoicebench_redact =\n    Milan\n    June\n"
    (pytester.path / "pytest.ini").write_text(ini)
    write_suite(pytester.path / "suites", scenario_yaml("travel_01"))
    assert run(PASSING, "--voicebench-redact=third").ret == 0
    text = (latest_run(pytester.path) / "items" / "travel_01" / "conversation.json").read_text()
    assert f"Find me a flight to {MARK} on {MARK} {MARK}." in text
    assert not any(word in text for word in ("Milan", "June", "third"))


@pytest.mark.parametrize("pattern", ["(", "", "(a+)+$"])
def test_a_pattern_that_cannot_be_used_is_a_usage_error_of_one_line(pytester, monkeypatch, pattern):
    run = pytest_in_process(pytester, monkeypatch)
    write_suite(pytester.path / "suites", scenario_yaml("travel_01"))
    result = run(PASSING, f"--voicebench-redact={pattern}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.stderr.lines if line.strip()]
    assert line.startswith("ERROR: --voicebench-redact: ")
    assert not (pytester.path / "reports").exists()
