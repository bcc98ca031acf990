"""Many conversations at once in one process: which are begun, in what order they are told, and what becomes of them."""

from __future__ import annotations

import json
import signal
import subprocess
import textwrap
import time
import xml.etree.ElementTree as ET
from collections import Counter
from functools import partial

import pytest
import stage
from suites_for_pytest import (
    PASSING,
    XDIST,
    _with_words,
    command,
    environment,
    heed_ctrl_c,
    latest_run,
    outcomes,
    pytest_in_process,
    run_apart,
    scenario_yaml,
    summary_of,
    write_conftest,
    write_suite,
)

from pytest_voicebench.plugin.progress import ItemProgress, ProgressLine
from pytest_voicebench.timing_file import timing_path, write_timing

MANY = """
import json, pathlib, stage
from contextlib import asynccontextmanager
from pytest_voicebench.agents.protocol import AgentAudio
from pytest_voicebench.audio import Audio
from pytest_voicebench.conversation import AgentInfo

LOG = pathlib.Path("conversations.jsonl")

class Many:
    '''Holds any number of conversations at once; the first `together` of them wait for one another.'''
    def __init__(self, name="many", together=1, **says):
        self.name, self.together, self.says = name, together, says
        self.open, self.all_there = 0, None
    def __repr__(self): return "Many()"
    @property
    def info(self): return AgentInfo(name=self.name, clock="wall")
    def note(self, what, item_id):
        with LOG.open("a") as file: file.write(json.dumps([what, item_id, self.name, self.open]) + "\\n")
    def script(self, item_id):
        says = self.says.get(item_id, "answers")
        if says == "absent": raise ConnectionError("nobody")
        voice = AgentAudio(item_id="a", audio=Audio(samples=stage.voice("filler"), rate_hz=24000))
        if says == "answers": return [(1.8, SEARCH), (2.0, voice)]
        return {"late": [(1.8, SEARCH), (6.0, voice)], "no call": [(2.0, voice)], "waits": []}[says]
    @asynccontextmanager
    async def connect(self, setup):
        self.open += 1
        self.note("begun", setup.conversation_id)
        try:
            self.all_there = self.all_there or asyncio.Event()
            if self.open >= self.together: self.all_there.set()
            await self.all_there.wait()
            async with Scripted(self.script(setup.conversation_id), clock="wall").connect(setup) as line:
                yield line
        finally:
            self.open -= 1
            self.note("ended", setup.conversation_id)

"""

SESSION = "@pytest.fixture(scope='session')\ndef agent({}): return Many({})\n"


def fixture(*, needs="", **settings):
    """A conftest.py with that session-scoped agent."""
    given = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return MANY + SESSION.format(needs, given)


def suite(folder, n=4, conftest="", **more):
    """Short conversations on the wall clock: three seconds and a half each."""
    write_conftest(folder, conftest)
    path, timing = stage.recording(_made(folder / "suites/audio") / "turn.a.flac", ("filler",))
    write_timing(timing_path(path), _with_words(timing), "synthesized")
    names = [f"travel_{i:02}" for i in range(1, n + 1)]
    file = write_suite(folder / "suites", *(scenario_yaml(name, **more.get(name, {})) for name in names))
    file.write_text(file.read_text().replace("settle_s: 1.0", "settle_s: 0.5"))
    return names


def _made(folder):
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest in this process; nothing it prints may be a traceback of ours."""
    in_process = partial(pytest_in_process(pytester, monkeypatch), "-p", "no:xdist")

    def checked(*args, **more):
        result = in_process(*args, **more)
        text = result.stdout.str() + result.stderr.str()
        assert "INTERNALERROR" not in text
        assert "Traceback" not in text
        assert "never retrieved" not in text
        return result

    return checked


def log(folder, what="begun"):
    """Items whose conversations were begun (or ended), in order."""
    lines = (folder / "conversations.jsonl").read_text().splitlines()
    return [item for kind, item, *_ in map(json.loads, lines) if kind == what]


def most_open(folder):
    return max(json.loads(line)[3] for line in (folder / "conversations.jsonl").read_text().splitlines())


def rows(folder):
    return [json.loads(line) for line in (latest_run(folder) / "results.jsonl").read_text().splitlines()]


def test_conversations_are_held_at_once_and_told_in_the_order_of_the_items(pytester, run):
    names = suite(pytester.path, 4, fixture(together=4))
    result = run("--voicebench-concurrency=4", "-v", "--junitxml=theirs.xml")
    assert result.ret == 0, result.stdout.str()
    assert log(pytester.path) == names
    assert [row["item_id"] for row in rows(pytester.path)] == names
    told = [line.split("[")[1].split("]")[0] for line in result.outlines if "PASSED" in line]
    assert told == names
    cases = {case.get("name"): float(case.get("time")) for case in ET.parse("theirs.xml").iter("testcase")}
    assert len(cases) == 4
    for row in rows(pytester.path):
        assert cases[f"scenario[{row['item_id']}]"] >= row["duration_s"]
    assert summary_of(pytester.path)["header"]["concurrency"] == 4
    result.stdout.fnmatch_lines(["*4 conversations at once*"])


def test_no_more_than_asked_for_are_held_and_the_next_begins_when_one_is_over(pytester, run):
    names = suite(pytester.path, 5, fixture(together=2, travel_01="late"))
    assert run("--voicebench-concurrency=2").ret == 0
    assert most_open(pytester.path) == 2
    assert log(pytester.path) == names
    assert log(pytester.path, "ended").index("travel_02") < log(pytester.path, "ended").index("travel_01")


def measured_left_out(value):
    """The summary without its header and without what was measured in seconds, in its tables too."""
    if isinstance(value, list):
        return [measured_left_out(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "columns" in value:
        kept = [at for at, name in enumerate(value["columns"]) if not name.endswith("_s")]
        value = value | {"rows": [[name, [cells[at] for at in kept]] for name, cells in value["rows"]]}
    return {k: measured_left_out(v) for k, v in value.items() if k != "header" and not k.endswith("_s")}


DOUBLE = """
import pathlib
from servers.socket_agent import SocketAgent, simulated_server

class Double:
    info = SocketAgent(0, "", "each").info
    def __init__(self, port): self.port = port
    def __repr__(self): return "Double()"
    def connect(self, setup):
        behaviour = {"travel_02": "no_op", "travel_03": "argument_swapper"}.get(setup.conversation_id, "oracle")
        return SocketAgent(self.port, setup.conversation_id, behaviour).connect(setup)

@pytest.fixture(scope="session")
def agent():
    with simulated_server(pathlib.Path("suites/travel.yaml").absolute()) as port: yield Double(port)
"""


def test_apart_from_measured_times_the_summary_is_that_of_a_run_of_one_at_a_time(pytester, run, monkeypatch):
    monkeypatch.setattr("pytest_voicebench.validity.LATE_P99_S", 3600.0)  # how late a busy machine is, is measured too
    suite(pytester.path, 4, DOUBLE)
    found = []
    for more in ([], ["--voicebench-concurrency=4"]):
        run(*more)
        found.append(json.dumps(measured_left_out(summary_of(pytester.path))))
        assert [o for o, _ in outcomes(pytester.path).values()] == ["passed", "failed", "failed", "passed"]
    assert found[0] == found[1]
    assert '"passed": 2' in found[0]


def test_with_an_agent_on_the_virtual_clock_nothing_changes(pytester, run):
    suite(pytester.path, 3)
    found = []
    for more in ([], ["--voicebench-concurrency=8"]):
        assert run(PASSING, *more).ret == 0
        folder = latest_run(pytester.path)
        summary = summary_of(pytester.path)
        del summary["header"]
        items = {p.relative_to(folder): p.read_bytes() for p in (folder / "items").rglob("*") if p.is_file()}
        found.append((json.dumps(summary), (folder / "results.jsonl").read_bytes(), items))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("-x", [("failed", None)] + [("not_run", None)] * 3),
        ("--maxfail=2", [("failed", None)] * 2 + [("not_run", None)] * 2),
    ],
)
def test_what_was_begun_for_items_that_do_not_run_is_cancelled_and_counts_as_not_run(pytester, run, word, expected):
    says = {"travel_01": "no call", "travel_02": "no call", "travel_03": "waits", "travel_04": "waits"}
    names = suite(pytester.path, 4, fixture(together=4, **says))
    result = run("--voicebench-concurrency=4", word)
    assert result.ret != 0
    assert list(outcomes(pytester.path).values()) == expected
    assert log(pytester.path) == names
    assert sorted(log(pytester.path, "ended")) == names
    assert summary_of(pytester.path)["counts"]["not_run"] == expected.count(("not_run", None))


def test_items_that_are_skipped_or_deselected_are_not_begun(pytester, run):
    marks = """
    def pytest_collection_modifyitems(items):
        for item in items:
            if "travel_03" in item.name: item.add_marker(pytest.mark.skipif(True, reason="not today"))
            if "travel_04" in item.name: item.add_marker(pytest.mark.xfail(run=False))
    """
    more = {"travel_02": {"more": "speakers: [a]\n    skip: not yet"}}
    suite(pytester.path, 6, fixture() + textwrap.dedent(marks), **more)
    run("--voicebench-concurrency=6", "-k", "not travel_05")
    assert log(pytester.path) == ["travel_01", "travel_06"]
    assert Counter(o for o, _ in outcomes(pytester.path).values())["passed"] == 2


def test_a_conversation_that_its_item_never_asks_for_is_cancelled(pytester, run):
    skips = """
@pytest.fixture(autouse=True)
def mood(request):
    if "travel_02" in request.node.name: pytest.skip("no mood")
"""
    suite(pytester.path, 3, fixture(together=3, travel_02="waits") + skips)
    assert run("--voicebench-concurrency=3").ret == 0
    assert sorted(log(pytester.path, "ended")) == ["travel_01", "travel_02", "travel_03"]
    assert list(outcomes(pytester.path).values()) == [("passed", None), ("skipped", None), ("passed", None)]


def test_what_goes_wrong_while_one_is_begun_belongs_to_its_item(pytester, run):
    suite(pytester.path, 3, fixture(together=3, travel_02="absent"))
    run("--voicebench-concurrency=3")
    assert list(outcomes(pytester.path).values()) == [("passed", None), ("error", "agent_absent"), ("passed", None)]


def test_a_rerun_holds_a_fresh_conversation(pytester, run):
    once = fixture(together=2).replace(
        'if says == "absent": raise', 'if item_id == "travel_02" and not LOG.read_text().count("ended"): raise'
    )
    suite(pytester.path, 2, once)
    result = run("--voicebench-concurrency=2", "--reruns=1", plugins=("pytest_rerunfailures",))
    assert result.ret == 0, result.stdout.str()
    assert Counter(log(pytester.path)) == {"travel_01": 1, "travel_02": 2}
    assert [(r["item_id"], r["outcome"]) for r in rows(pytester.path)] == [
        ("travel_01", "passed"),
        ("travel_02", "error"),
        ("travel_02", "passed"),
    ]


def test_several_agents_are_held_at_once(pytester, run):
    suite(pytester.path, 2)
    module = (pytester.path / "conftest.py").read_text() + MANY
    (pytester.path / "many_agents.py").write_text(module + "one, two = Many('one', 2), Many('two', 2)\n")
    result = run("--agent=many_agents:one", "--agent=many_agents:two", "--voicebench-concurrency=4")
    assert result.ret == 0, result.stdout.str()
    assert [a["name"] for a in summary_of(pytester.path)["agents"]] == ["one", "two"]
    assert len(log(pytester.path)) == 4


def test_agents_of_a_session_fixture_with_parameters_do_not_get_each_others_conversations(pytester, run):
    params = "@pytest.fixture(scope='session', params=['x', 'y'])\ndef agent(request): return Many(request.param, 2)\n"
    suite(pytester.path, 2, MANY + params)
    assert run("--voicebench-concurrency=4").ret == 0
    lines = [json.loads(line) for line in (pytester.path / "conversations.jsonl").read_text().splitlines()]
    assert [(item, name) for kind, item, name, _ in lines if kind == "begun"] == [
        ("travel_01", "x"),
        ("travel_02", "x"),
        ("travel_01", "y"),
        ("travel_02", "y"),
    ]


@pytest.mark.parametrize(
    ("conftest", "words", "told"),
    [
        (
            "",
            ["--voicebench-concurrency=0"],
            "--voicebench-concurrency must be a whole number from 1 to 10000, not '0'",
        ),
        (
            "",
            ["-o", "voicebench_concurrency=many"],
            "voicebench_concurrency must be a whole number from 1 to 10000, not 'many'",
        ),
        (
            "@pytest.fixture\ndef agent(): return Scripted([])\n",
            ["--voicebench-concurrency=2"],
            "--voicebench-concurrency needs an agent that is there before its item: the `agent` fixture of "
            "suites/travel.yaml::scenario[travel_01] has the scope 'function'; write @pytest.fixture(scope='session'), "
            "or run it with -n",
        ),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error_of_one_line(pytester, run, conftest, words, told):
    suite(pytester.path, 1, conftest)
    result = run(*words)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert [line for line in result.errlines if line] == [f"ERROR: {told}"]
    assert not (pytester.path / "reports").exists()


def test_beside_workers_the_choice_is_the_users(tmp_path):
    suite(tmp_path, 1)
    status, text = run_apart(tmp_path, PASSING, "--voicebench-concurrency=8", "-n", "2", plugins=XDIST)
    assert status == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in text.splitlines() if line.startswith("ERROR")]
    assert "--voicebench-concurrency 8" in line
    assert "-n 2" in line
    assert "choose one" in line
    assert run_apart(tmp_path, PASSING, "--voicebench-concurrency=8", "-n", "0", plugins=XDIST)[0] == 0


def test_ctrl_c_ends_a_hundred_conversations_and_leaves_a_summary(tmp_path):
    suite(tmp_path, 100, fixture(**{f"travel_{n:02}": "waits" for n in range(1, 101)}))
    with subprocess.Popen(
        command("--voicebench-concurrency=100", plugins=()),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=heed_ctrl_c,
    ) as process:
        begun = tmp_path / "conversations.jsonl"
        while process.poll() is None and not (begun.exists() and len(begun.read_text().splitlines()) >= 100):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        text = process.communicate(timeout=60)[0].decode()
    assert process.returncode == pytest.ExitCode.INTERRUPTED, text
    assert "Traceback" not in text
    assert summary_of(tmp_path)["counts"]["not_run"] == 100
    assert "100 not run" in text
    assert (latest_run(tmp_path) / "junit.xml").exists()
    assert sorted(log(tmp_path, "ended")) == sorted(log(tmp_path))


def test_the_progress_line_says_how_many_are_in_progress():
    written = []

    class Line(ProgressLine):
        def write(self, text):
            written.append(text)

    at = ItemProgress(name="travel_01", line=Line(config=None, shown=True, planned=9))
    at.show()
    at.tell(12.4)
    at.in_progress = 7
    at.show()
    assert written == [" 1/9 travel_01", " 1/9 travel_01, 12 s (7 in progress)"]
