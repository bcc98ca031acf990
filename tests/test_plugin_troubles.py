"""What goes wrong around a run (disks, settings, agents and mocks that raise) is one line and ends nothing else."""

from __future__ import annotations

import errno
import xml.etree.ElementTree as ET
from functools import partial

import pytest
from strict_junit import strict_errors
from suites_for_pytest import (
    PASSING,
    latest_run,
    outcomes,
    pytest_in_process,
    run_apart,
    scenario_yaml,
    write_conftest,
    write_suite,
)

from pytest_voicebench import conversation_files, result_files
from pytest_voicebench.codec import CodecError
from pytest_voicebench.writers import summary_json


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest in this process, with two scenarios."""
    write_suite(pytester.path / "suites", scenario_yaml("travel_01"), scenario_yaml("travel_02"))
    return partial(pytest_in_process(pytester, monkeypatch), "-p", "no:xdist")


def full(*_args, **_kwargs):
    raise OSError(errno.ENOSPC, "No space left on device")


def unwritable(*_args, **_kwargs):
    raise CodecError("usage.cost: nan has no place in JSON")


def all_text(result):
    text = result.stdout.str() + result.stderr.str()
    assert "INTERNALERROR" not in text
    assert "Traceback" not in text
    assert "exception" not in text
    return text


@pytest.mark.parametrize(
    ("module", "name", "fails", "reason"),
    [
        (conversation_files, "save_conversation", full, "No space left on device"),
        (conversation_files, "save_conversation", unwritable, "CodecError: usage.cost: nan has no place in JSON"),
        (result_files, "save_result", full, "No space left on device"),
        (result_files, "save_result", unwritable, "CodecError: usage.cost: nan has no place in JSON"),
        (result_files, "write_atomically", full, "No space left on device"),
    ],
)
def test_what_cannot_be_saved_is_an_error_of_its_item(pytester, run, monkeypatch, module, name, fails, reason):
    real = getattr(module, name)

    def first_fails(*args, **kwargs):
        return fails() if "travel_01" in str(args) and "plan.json" not in str(args) else real(*args, **kwargs)

    monkeypatch.setattr(module, name, first_fails)
    result = run(PASSING)
    text = all_text(result)
    assert outcomes(pytester.path) == {"travel_01": ("error", "infrastructure"), "travel_02": ("passed", None)}
    lines = [line for line in text.splitlines() if line.startswith("infrastructure: cannot write ")]
    assert len(lines) == 1
    assert lines[0].endswith(reason)
    assert "travel_01" in lines[0]
    assert "record.py" not in text


@pytest.mark.parametrize("fixture", ["raise RuntimeError('no key')", "pytest.skip('no budget')", "return agent"])
def test_where_nothing_at_all_can_be_saved_the_session_still_ends_with_its_tables(pytester, run, monkeypatch, fixture):
    write_conftest(pytester.path, f"@pytest.fixture\ndef agent(agent): {fixture}\n")
    monkeypatch.setattr(result_files, "save_result", full)
    monkeypatch.setattr(result_files, "append_result", full)
    monkeypatch.setattr(summary_json, "write_atomically", full)
    result = run(PASSING)
    text = all_text(result)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*= voicebench =*",
            "voicebench: cannot write *summary.json: No space left on device",
            "voicebench: Pass@1 n/a, planned 2 = 0 passed + 0 failed + 2 error + 0 skipped + 0 not run",
        ]
    )
    assert "2 infrastructure" in text


def test_a_junit_file_that_cannot_be_written_is_one_line(pytester, run):
    write_conftest(
        pytester.path,
        """
        def pytest_runtest_logreport(report):
            import pathlib
            for folder in pathlib.Path("reports").iterdir():
                if folder.is_dir(): (folder / "junit.xml").mkdir(exist_ok=True)
        """,
    )
    result = run(PASSING)
    all_text(result)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["voicebench: cannot write *junit.xml: Is a directory", "voicebench: Pass@1 1.00 (2/2)*"]
    )


def test_a_disk_that_is_full_at_the_end_leaves_no_file_in_part(tmp_path):
    write_suite(tmp_path / "suites", scenario_yaml("travel_01"))
    write_conftest(
        tmp_path,
        """
        def pytest_runtest_logfinish():
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (20, resource.RLIM_INFINITY))
        """,
    )
    status, text = run_apart(tmp_path, PASSING, "-p", "no:xdist", "--voicebench-gate=errors <= 0")
    assert "Traceback" not in text
    assert status == pytest.ExitCode.TESTS_FAILED
    for name in ("summary.json", "summary.md", "report.html", "junit.xml"):
        assert f"{name}: File too large" in text
    left = {path.name: path.stat().st_size for path in latest_run(tmp_path).iterdir() if path.is_file()}
    assert set(left) == {"plan.json", "results.jsonl", "manifest.json"}
    assert min(left.values()) > 20


def test_a_damaged_line_of_the_results_is_a_note_and_the_tables_appear(pytester, run):
    write_conftest(
        pytester.path,
        """
        def pytest_runtest_logfinish():
            import pathlib
            (path,) = pathlib.Path("reports").glob("*/results.jsonl")
            path.write_text(path.read_text().replace('"outcome":"passed"', '"outcome":"great"', 1))
        """,
    )
    result = run(PASSING, "-k", "travel_01")
    all_text(result)
    result.stdout.fnmatch_lines(
        ["voicebench: *results.jsonl:1: outcome: expected one of *", "voicebench: Pass@1 n/a, *1 error*"]
    )


INFO = """
class Odd(Scripted):
    @property
    def info(self): {body}

def odd(): return Odd([])
"""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise KeyError('VOICE_KEY')", "the info of Odd raises KeyError: 'VOICE_KEY'"),
        ("return self.model.name", "the info of Odd raises AttributeError: 'Odd' object has no attribute 'model'"),
        ("return {'name': 'odd'}", "the info of Odd is a dict, not an AgentInfo"),
    ],
)
def test_an_info_that_raises_is_one_line(pytester, run, body, words):
    write_conftest(pytester.path, INFO.format(body=body) + "\n@pytest.fixture\ndef agent(): return Odd([])\n")
    assert f"infrastructure: {words}" in all_text(run("-W", "ignore"))
    assert set(outcomes(pytester.path).values()) == {("error", "infrastructure")}
    (pytester.path / "odd_agents.py").write_text((pytester.path / "conftest.py").read_text())
    write_conftest(pytester.path)
    result = run("--agent=odd_agents:odd", "--voicebench-reports=other")
    all_text(result)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.errlines if line.startswith("ERROR")]
    assert line == f"ERROR: agent 'odd_agents:odd': {words}"
    assert not (pytester.path / "other").exists()


@pytest.mark.parametrize("reports", ["pytest.ini", "pytest.ini/below", "/proc/nope"])
def test_a_reports_folder_that_cannot_be_made_is_a_usage_error(pytester, run, reports):
    result = run(PASSING, f"--voicebench-reports={reports}")
    all_text(result)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.errlines if line.startswith("ERROR")]
    assert f"{reports}/" in line
    assert "cannot be made" in line


def test_a_refused_run_leaves_no_run_folder(pytester, run):
    write_conftest(pytester.path, "@pytest.fixture\ndef agent(): return Scripted([])\n")
    result = run(PASSING)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "planned" not in all_text(result)
    assert not (pytester.path / "reports").exists()


def test_names_and_texts_of_agents_cannot_break_the_junit_files(pytester, run):
    write_conftest(
        pytester.path,
        r"""
        from dataclasses import replace
        class Odd(Scripted):
            @property
            def info(self): return replace(super().info, name='a]]>&<"', model="<!--")
        @pytest.fixture
        def agent(request): request.node.user_properties.append(("\x00own\udfff", "\x01")); return Odd([(5.0, SEARCH)])
        """,
    )
    result = run("--junitxml=theirs.xml")
    all_text(result)
    assert strict_errors(latest_run(pytester.path) / "junit.xml") == []
    names = [p.get("name") for p in ET.parse(pytester.path / "theirs.xml").iter("property")]
    assert 'voicebench.a]]>&<".pass_at_1' in names


def test_a_mock_file_that_does_not_run_is_an_error_of_the_suite_on_one_line(pytester, run):
    tools = pytester.path / "suites/tools.yaml"
    text = tools.read_text()
    tools.write_text(text[: text.index("  returns:")] + "  answer: mock_api:search\n")
    (pytester.path / "suites/mock_api.py").write_text("def search(arguments, state): return {}\n1 / 0\n")
    text = all_text(run(PASSING, "-k", "travel_01"))
    assert outcomes(pytester.path) == {"travel_01": ("error", "suite")}
    assert "suite: mock_api.py:2: ZeroDivisionError: division by zero" in text.splitlines()
    assert "toolbox.py" not in text
    assert "never retrieved" not in text


@pytest.mark.parametrize(
    ("receive", "words"),
    [
        ("while True: await asyncio.sleep(0)", "the agent spins"),
        ("await asyncio.get_running_loop().run_in_executor(None, print)", "cannot be used on the virtual clock"),
    ],
)
def test_an_agent_that_virtual_time_cannot_carry_is_an_error_on_one_line(pytester, run, monkeypatch, receive, words):
    monkeypatch.setattr("pytest_voicebench.clock.SPIN_LIMIT", 1000)
    write_conftest(
        pytester.path,
        f"""
        from contextlib import asynccontextmanager

        class Line(scripted.ScriptedLine):
            async def receive(self):
                yield scripted.Ready()
                {receive}

        class Agent(Scripted):
            @asynccontextmanager
            async def connect(self, setup):
                yield Line(self)

        @pytest.fixture
        def agent(): return Agent([])
        """,
    )
    text = all_text(run("-k", "travel_01"))
    assert outcomes(pytester.path) == {"travel_01": ("error", "infrastructure")}
    (line,) = [line for line in text.splitlines() if line.startswith("infrastructure: ")]
    assert words in line
    assert "clock.py" not in text
    assert "never retrieved" not in text


LOOK = "@pytest.fixture(params=['x', 'y'])\ndef agent(request): return Scripted([(5.0, SEARCH)]{})\n"


@pytest.mark.parametrize(("more", "times"), [("", 1), (", input_hz=16000 if request.param == 'x' else 8000", 0)])
def test_agents_that_look_the_same_are_noticed_once(pytester, run, more, times):
    write_conftest(pytester.path, LOOK.format(more))
    text = all_text(run())
    notice = (
        "voicebench: 2 agents of this run look the same in reports (name 'scripted'): give each its own AgentInfo.name"
    )
    assert text.splitlines().count(notice) == times


ASYNC = "async def agent():\n    await asyncio.sleep(0)\n    return Scripted([(5.0, SEARCH)])\n"
SESSION = "[pytest]\nasyncio_default_fixture_loop_scope = session\n"


@pytest.mark.parametrize(
    ("decorator", "ini", "trouble"),
    [
        ("@pytest_asyncio.fixture(loop_scope='session')", "[pytest]\n", None),
        ("@pytest.fixture", SESSION + "asyncio_mode = auto\n", None),
        ("@pytest.fixture", SESSION, "is not run by pytest-asyncio in its strict mode"),
        ("@pytest_asyncio.fixture", "[pytest]\n", "runs in an event loop that stands still during conversations"),
    ],
)
def test_the_notice_on_async_agents_names_two_ways_that_work(pytester, run, decorator, ini, trouble):
    write_conftest(pytester.path, f"{decorator}\n{ASYNC}")
    (pytester.path / "pytest.ini").write_text(ini)
    text = run("-k", "travel_01", "-W", "ignore").stdout.str()
    notices = [line for line in text.splitlines() if line.startswith("voicebench: the async `agent` fixture")]
    assert notices == (
        [
            f"voicebench: the async `agent` fixture {trouble}: decorate it with "
            "@pytest_asyncio.fixture(loop_scope='session'), or set asyncio_mode = auto and "
            "asyncio_default_fixture_loop_scope = session in pytest's ini file"
        ]
        if trouble
        else []
    )
    if trouble is None:
        assert outcomes(pytester.path) == {"travel_01": ("failed", None)}


def test_the_last_lines_stand_below_everything_and_begin_with_the_score(pytester, run):
    write_conftest(
        pytester.path,
        "@pytest.fixture\ndef agent(agent, scenario): return agent if scenario.id == 'travel_01' else Scripted([])\n",
    )
    result = run(PASSING)
    at = next(i for i, line in enumerate(result.outlines) if "short test summary info" in line)
    below = [line for line in result.outlines[at:] if line.startswith("voicebench:")]
    assert below == [
        "voicebench: Pass@1 scripted 0.00 (0/1), simulated 1.00 (1/1)",
        "voicebench: planned 2 = 1 passed + 1 failed + 0 error + 0 skipped + 0 not run",
        f"voicebench: results in reports/{latest_run(pytester.path).name}",
    ]
