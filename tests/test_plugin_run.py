"""Items that run: outcomes, errors that are not the agent's, reruns, files, and the user's own fixtures."""

from __future__ import annotations

import json

import pytest
from suites_for_pytest import (
    PASSING,
    SILENT,
    latest_run,
    outcomes,
    pytest_in_process,
    scenario_yaml,
    summary_of,
    write_conftest,
    write_suite,
)


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest in this process; other plugins are named."""
    return pytest_in_process(pytester, monkeypatch)


def three(pytester):
    return write_suite(pytester.path / "suites", *(scenario_yaml(f"travel_0{n}") for n in (1, 2, 3)))


def results_of(folder):
    return [json.loads(line) for line in (latest_run(folder) / "results.jsonl").read_text().splitlines()]


def test_a_passing_run_leaves_its_evidence(pytester, run):
    three(pytester)
    result = run(PASSING)
    assert result.ret == 0
    folder = latest_run(pytester.path)
    assert sorted(p.name for p in folder.iterdir()) == [
        "items",
        "junit.xml",
        "manifest.json",
        "plan.json",
        "report.html",
        "results.jsonl",
        "summary.json",
        "summary.md",
    ]
    for item in ("travel_01", "travel_02", "travel_03"):
        names = sorted(p.name for p in (folder / "items" / item).iterdir())
        assert names == ["audio.flac", "conversation.json", "result.json"]
    saved = json.loads((folder / "items/travel_01/conversation.json").read_text())
    assert saved["agent_speech"]  # detected before it was saved
    row = results_of(pytester.path)[0]
    assert row == json.loads((folder / "items/travel_01/result.json").read_text())
    assert (row["item_id"], row["nodeid"]) == ("travel_01", "suites/travel.yaml::scenario[travel_01]")
    assert row["agent"]["name"] == "simulated"
    result.stdout.fnmatch_lines(
        [
            f"voicebench: 3 of 3 scenarios selected, agent simulated (virtual clock), run reports/{folder.name}",
            "voicebench: Pass@1 1.00 (3/3), planned 3 = 3 passed + 0 failed + 0 error + 0 skipped + 0 not run",
            f"voicebench: results in reports/{folder.name}",
        ]
    )
    assert summary_of(pytester.path)["header"]["run"] == folder.name


def test_official_scores_stand_beside_ours_also_where_pass_differs(pytester, run):
    three(pytester)
    run("--agent=simulated,behaviour=silent_worker")
    rows = results_of(pytester.path)
    assert [(row["outcome"], row["official"]["passed"], row["official"]["turn_taken"]) for row in rows] == [
        ("failed", True, False)
    ] * 3
    (agent,) = summary_of(pytester.path)["official"]["agents"]
    assert (agent["pass_rate"]["k"], agent["turn_take_rate"]["k"], agent["items"]) == (3, 0, 3)


def test_an_error_has_the_official_scores_of_what_was_there(pytester, run):
    write_suite(pytester.path / "suites", scenario_yaml("travel_01"))
    write_conftest(
        pytester.path,
        """
        @pytest.fixture
        def agent():
            return Scripted([(1.0, SEARCH), (2.0, ConnectionResetError("gone"))])
        """,
    )
    run()
    (row,) = results_of(pytester.path)
    assert (row["outcome"], row["scorecard"]) == ("error", None)
    assert (row["official"]["tools"]["f1"], row["official"]["turn_taken"]) == (1.0, False)
    (agent,) = summary_of(pytester.path)["official"]["agents"]
    assert (agent["items"], agent["errors_as_empty"], agent["by_metric_all"]["argument_accuracy"]["value"]) == (1, 0, 1)


@pytest.mark.parametrize(("flag", "tables"), [("-q", 0), ("-rN", 2), ("-v", 5)])
def test_the_tables_are_short_unless_more_is_asked_for(pytester, run, flag, tables):
    three(pytester)
    text = run(PASSING, flag).stdout.str()
    assert text.count("\nTable ") == tables
    assert ("The same over other denominators" in text) is (flag == "-v")
    assert ("\nscores " in text) is (flag == "-v")


def test_a_failure_is_a_text_for_an_engineer_without_a_traceback(pytester, run):
    three(pytester)
    result = run(SILENT, "-k", "travel_02")
    text = result.stdout.str()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert outcomes(pytester.path) == {"travel_02": ("failed", None)}
    assert "travel_02: A flight to Milan (travel_identity, easy, filler)" in text
    assert "run.py" not in text
    assert "hidden" not in text
    again = next(line for line in result.outlines if line.strip().startswith("again"))
    assert again.split("again", 1)[1].strip() == (
        "pytest 'suites/travel.yaml::scenario[travel_02]' --agent=simulated,behaviour=no_op"
    )


@pytest.mark.parametrize(
    ("fixture", "outcome"),
    [
        (
            "def agent(): return Scripted([], raises={'connect': AgentAbsent('nobody there')})",
            ("error", "agent_absent"),
        ),
        ("def agent(): raise ConnectionRefusedError('port 7')", ("error", "agent_absent")),
        ("def agent(): raise RuntimeError('no key')", ("error", "infrastructure")),
        ("def agent(): import sys; sys.exit(3)", ("error", "infrastructure")),
        ("def agent(): return 7", ("error", "infrastructure")),
        ("async def agent(): return Scripted([])", ("error", "infrastructure")),
        ("def agent(): pytest.skip('no budget')", ("skipped", None)),
        ("def agent(): return Scripted([(5.0, SEARCH)])", ("failed", None)),
        ("def agent(): return Scripted([], raises={'send': OSError('reset')})", ("error", "infrastructure")),
        ("def agent(): return Scripted([], raises={'send': SystemExit(3)})", ("error", "infrastructure")),
    ],
)
def test_what_is_not_the_agents_fault_is_an_error_with_its_kind(pytester, run, fixture, outcome):
    write_suite(pytester.path / "suites", scenario_yaml("travel_01"))
    write_conftest(pytester.path, f"@pytest.fixture\n{fixture}\n")
    result = run("-q", "-W", "ignore")
    assert outcomes(pytester.path) == {"travel_01": outcome}
    native = {"error": "errors", "failed": "failed", "skipped": "skipped"}[outcome[0]]
    assert result.parseoutcomes() == {native: 1}
    (row,) = results_of(pytester.path)
    assert outcome[0] == "failed" or (row["cause"] and "\n" not in row["cause"])


@pytest.mark.parametrize(
    "fixture",
    [
        "@pytest.fixture\ndef agent(): return AGENT",
        "@pytest.fixture(scope='session')\ndef agent(): return AGENT",
        "@pytest_asyncio.fixture\nasync def agent():\n    await asyncio.sleep(0)\n    return AGENT",
        "@pytest_asyncio.fixture(scope='session')\nasync def agent():\n    await asyncio.sleep(0)\n    yield AGENT",
    ],
)
def test_an_own_agent_may_be_sync_or_async_and_of_any_scope(pytester, run, fixture):
    write_suite(pytester.path / "suites", scenario_yaml("travel_01"), scenario_yaml("travel_02"))
    write_conftest(pytester.path, f"AGENT = Scripted([(5.0, SEARCH)])\n{fixture}\n")
    run("-q", "-W", "error::pytest.PytestWarning", "-W", "ignore:Module already")
    assert outcomes(pytester.path) == {"travel_01": ("failed", None), "travel_02": ("failed", None)}
    assert {r["agent"]["name"] for r in results_of(pytester.path)} == {"scripted"}


def test_a_parametrized_agent_joins_the_ids(pytester, run):
    write_suite(pytester.path / "suites", scenario_yaml("travel_01"))
    write_conftest(
        pytester.path, "@pytest.fixture(params=['x', 'y/../z'])\ndef agent(request): return Scripted([(5.0, SEARCH)])\n"
    )
    run("-q")
    assert list(outcomes(pytester.path)) == ["x-travel_01", "y/../z-travel_01"]
    folders = {p.name for p in (latest_run(pytester.path) / "items").iterdir()}
    assert len(folders) == 2
    assert "x-travel_01" in folders


def test_an_async_agent_outside_the_session_loop_is_noticed_once(pytester, run):
    three(pytester)
    write_conftest(pytester.path, "@pytest_asyncio.fixture\nasync def agent(): return Scripted([])\n")
    (pytester.path / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    assert run("-q", "-k", "travel_01").stdout.str().count("asyncio_default_fixture_loop_scope = session") == 1


def test_two_agents_are_two_in_every_file(pytester, run):
    three(pytester)
    run(PASSING, SILENT, "-q", "-k", "travel_01")
    assert outcomes(pytester.path) == {
        "simulated-travel_01": ("passed", None),
        "simulated_no_op-travel_01": ("failed", None),
    }
    assert [r["agent"]["name"] for r in results_of(pytester.path)] == ["simulated", "simulated_no_op"]


def test_the_settings_given_and_the_whole_suites_hash_head_a_run_whatever_is_selected(pytester, run):
    three(pytester)
    heads = []
    for arguments in ((SILENT,), (SILENT, "-k", "travel_01"), (SILENT, "suites/travel.yaml::scenario[travel_02]")):
        result = run(*arguments)
        heads.append(summary_of(pytester.path)["header"])
        result.stdout.fnmatch_lines(
            [
                "voicebench: * selected, agent simulated behaviour=no_op (virtual clock), run *",
                "agent    simulated behaviour=no_op (*",
            ]
        )
    assert [head["given"] for head in heads] == [{"simulated": {"behaviour": "no_op"}}] * 3
    assert len({json.dumps(head["suites"]) for head in heads}) == 1


FLAKY = """
DONE = []
@pytest.fixture
def agent(agent, scenario):
    DONE.append(scenario.id)
    attempt = DONE.count(scenario.id)
    if (scenario.id, attempt) == ("travel_01", 1):
        raise ConnectionError("not yet")
    if (scenario.id, attempt) == ("travel_02", 1):
        return Scripted([(5.0, SEARCH)])
    return agent
"""


def test_a_rerun_replaces_an_error_and_never_a_failure(pytester, run):
    three(pytester)
    write_conftest(pytester.path, FLAKY)
    result = run(PASSING, "--reruns=2", plugins=["pytest_rerunfailures"])
    assert outcomes(pytester.path) == {
        "travel_01": ("passed", None),
        "travel_02": ("failed", None),
        "travel_03": ("passed", None),
    }
    result.assert_outcomes(passed=2, failed=1)
    assert "the first valid attempt failed, and it counts" in result.stdout.str()
    rows = results_of(pytester.path)
    assert [(r["item_id"], r["outcome"], r["folder"]) for r in rows] == [
        ("travel_01", "error", "items/travel_01"),
        ("travel_01", "passed", "items/travel_01/attempt_2"),
        ("travel_02", "failed", "items/travel_02"),
        ("travel_02", "passed", "items/travel_02/attempt_2"),
        ("travel_02", "passed", "items/travel_02/attempt_3"),
        ("travel_03", "passed", "items/travel_03"),
    ]
    assert (latest_run(pytester.path) / "items/travel_02/conversation.json").exists()


def test_what_was_planned_and_never_ran_is_counted(pytester, run):
    three(pytester)
    assert run(SILENT, "-x", "-q").ret == pytest.ExitCode.TESTS_FAILED
    assert list(outcomes(pytester.path).values()) == [("failed", None), ("not_run", None), ("not_run", None)]
    counts = summary_of(pytester.path)["counts"]
    assert (counts["planned"], counts["failed"], counts["not_run"]) == (3, 1, 2)


def test_last_failed_runs_what_failed(pytester, run):
    three(pytester)
    write_conftest(
        pytester.path,
        "@pytest.fixture\ndef agent(agent, scenario): return Scripted([]) if scenario.id == 'travel_02' else agent\n",
    )
    run(PASSING, "-q")
    run(PASSING, "-q", "--lf")
    assert outcomes(pytester.path) == {"travel_02": ("failed", None)}


def test_a_scenario_with_a_skip_is_skipped_and_counted(pytester, run):
    write_suite(
        pytester.path / "suites",
        scenario_yaml("travel_01", more='speakers: [a]\n    skip: "waits for a recording"'),
        scenario_yaml("travel_02"),
    )
    run(PASSING, "-q")
    assert outcomes(pytester.path) == {"travel_01": ("skipped", None), "travel_02": ("passed", None)}
    assert "waits for a recording" in results_of(pytester.path)[0]["cause"]
    assert summary_of(pytester.path)["counts"]["skipped"] == 1


def test_own_tests_use_the_fixtures_and_are_no_items_of_the_run(pytester, run):
    three(pytester)
    pytester.makepyfile(
        test_own="""
        import pytest

        @pytest.mark.voicebench("suites/travel.yaml", "travel_02", "travel_03")
        def test_it_calls_once(scenario, conversation):
            assert len(conversation.calls) == 1
            assert conversation.item_id == scenario.item_id

        def test_without_a_marker(scenario): pass
        """,
        test_typo="""
        import pytest

        @pytest.mark.voicebench("suites/travel.yaml", "travel_99")
        def test_of_nothing(scenario): pass
        """,
    )
    result = run(PASSING, "-q", "--continue-on-collection-errors", "test_own.py", "test_typo.py")
    assert "suites/travel.yaml: no scenario travel_99" in result.stdout.str()
    result.assert_outcomes(passed=2, errors=2)
    assert 'mark the test with @pytest.mark.voicebench("path/of/suite.yaml")' in result.stdout.str()
    assert not (pytester.path / "reports").exists()


def test_reports_go_where_they_are_asked_to(pytester, run):
    three(pytester)
    run(PASSING, "-q", "-k", "travel_01", "--voicebench-reports=out/put")
    run(PASSING, "-q", "-k", "travel_01", "-o", "voicebench_reports=elsewhere")
    assert (pytester.path / "out/put/latest").exists()
    assert (pytester.path / "elsewhere/latest").exists()
    assert not (pytester.path / "reports").exists()
