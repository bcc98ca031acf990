"""Rescoring: a run's conversations judged again, with nobody called and no item lost."""

from __future__ import annotations

import json
import os
import shutil
import socket

import pytest
from suites_for_pytest import (
    PASSING,
    SILENT,
    latest_run,
    outcomes,
    pytest_in_process,
    run_apart,
    scenario_yaml,
    summary_of,
    write_conftest,
    write_suite,
)

from pytest_voicebench.merging import lay_over, write_merge
from pytest_voicebench.saved_run import load_run

IDS = ("travel_01", "travel_02", "travel_03")


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest in this process; other plugins are named."""
    run_here = pytest_in_process(pytester, monkeypatch)
    return lambda *args, plugins=(): run_here("-W", "ignore", *args, plugins=plugins)


def write_scenarios(folder, *ids, **changes):
    return write_suite(folder / "suites", *(scenario_yaml(name, **changes) for name in ids or IDS))


def rows(folder):
    return {row.item_id: row for row in load_run(latest_run(folder)).results}


def without_header(run_folder):
    data = json.loads((run_folder / "summary.json").read_bytes())
    assert data.pop("header")
    return json.dumps(data)


def lines(run_folder):
    return sorted((run_folder / "results.jsonl").read_bytes().splitlines())


MIXED = """
@pytest.fixture
def agent(agent, scenario):
    if scenario.id == "travel_02": return Scripted([(5.0, SEARCH)])
    if scenario.id == "travel_03": raise ConnectionError("nobody")
    if scenario.id == "travel_04": pytest.skip("no budget")
    if scenario.id == "travel_05": return Scripted([], raises={'send': OSError('reset')})
    return agent
"""

NOBODY = """
@pytest.fixture(scope="session")
def server(): raise AssertionError("a server was started")

@pytest.fixture
def agent(server): raise AssertionError("an agent was built")
"""


def test_when_nothing_changed_everything_is_the_same_whatever_the_workers(tmp_path):
    write_conftest(tmp_path, MIXED)
    ids = [f"travel_{n:02}" for n in range(1, 6)]
    write_scenarios(tmp_path, *ids)
    run_apart(tmp_path, PASSING, plugins=())
    first = latest_run(tmp_path)
    write_conftest(tmp_path, NOBODY)
    for way in (["-p", "no:xdist"], ["-n", "0"], ["-n", "2"]):
        plugins = () if "no:xdist" in way else ("xdist.plugin",)
        status, text = run_apart(tmp_path, f"--voicebench-rescore={first.name}", *way, plugins=plugins)
        assert status == pytest.ExitCode.TESTS_FAILED, text
        again = latest_run(tmp_path)
        assert again != first
        assert "planned 5 = 1 passed + 1 failed + 2 error + 1 skipped + 0 not run" in text
        assert without_header(again) == without_header(first)
        assert lines(again) == lines(first)
        header = summary_of(tmp_path)["header"]
        assert header["rescored_from"] == first.name
        assert header["scored_before"] == ["voicebench 1"]
        assert header["held_at"] == json.loads((first / "summary.json").read_text())["header"]["started_at"]


def test_latest_is_the_run_before_this_one_also_for_workers(tmp_path):
    write_conftest(tmp_path)
    write_scenarios(tmp_path)
    run_apart(tmp_path, PASSING, plugins=())
    for way in (["-n", "2"], ["-n", "0"], ["-n", "2"]):
        before = latest_run(tmp_path).name
        status, text = run_apart(tmp_path, "--voicebench-rescore=latest", *way)
        assert status == 0, text
        assert summary_of(tmp_path)["header"]["rescored_from"] == before


@pytest.mark.parametrize("form", ["{name}", "reports/{name}", "{path}", "latest", "reports/latest"])
def test_a_run_is_found_by_name_by_folder_and_as_latest(pytester, run, form):
    write_scenarios(pytester.path, "travel_01")
    run(PASSING)
    first = latest_run(pytester.path)
    assert run("--voicebench-rescore", form.format(name=first.name, path=first)).ret == 0
    assert summary_of(pytester.path)["header"]["rescored_from"] == first.name


def test_nobody_is_called_and_no_socket_is_opened(pytester, run, monkeypatch):
    write_scenarios(pytester.path)
    run(PASSING)
    write_conftest(pytester.path, NOBODY)

    def refuse(*args, **kwargs):
        raise AssertionError("a conversation was held")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr("pytest_voicebench.runner.Runner.__init__", refuse)
    result = run("--voicebench-rescore=latest")
    assert result.ret == 0
    assert (
        f"voicebench: rescoring {summary_of(pytester.path)['header']['rescored_from']}: no agent" in result.stdout.str()
    )
    assert "voicebench: 3 items compared: 3 are the same.\n" in result.stdout.str()
    assert {row.agent.name for row in rows(pytester.path).values()} == {"simulated"}


def test_changed_expectations_are_judged_and_shown(pytester, run):
    suite = write_scenarios(pytester.path)
    run(PASSING)
    before = {i: row.facts.expect_sha256 for i, row in rows(pytester.path).items()}
    suite.write_text(suite.read_text().replace("date: 2026-06-03", "date: 2026-06-04", 1))
    result = run("--voicebench-rescore=latest")
    assert outcomes(pytester.path) == {
        "travel_01": ("failed", None),
        "travel_02": ("passed", None),
        "travel_03": ("passed", None),
    }
    after = {i: row.facts.expect_sha256 for i, row in rows(pytester.path).items()}
    assert [i for i in before if before[i] != after[i]] == ["travel_01"]
    text = result.stdout.str()
    assert "2026-06-04" in text
    run_name = summary_of(pytester.path)["header"]["rescored_from"]
    assert f"voicebench: 1 expectation changed since {run_name}\n" in text
    assert "voicebench: 3 items compared: 1 now fails, 2 are the same.\n" in text
    assert f"python -m pytest_voicebench compare {run_name} {latest_run(pytester.path).name}\n" in text
    assert f"pytest 'suites/travel.yaml::scenario[travel_01]' --voicebench-rescore={run_name}" in text


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "Milan",
            "Turin",
            "step 1 said 'Find me a flight to Milan on June third.'",
        ),
        ("settle_s: 1.0", "settle_s: 2.0", "a recording, the room, tools, mock answers, instructions"),
    ],
)
def test_a_scenario_whose_stimulus_changed_is_refused_with_what_changed(pytester, run, old, new, told):
    suite = write_scenarios(pytester.path, "travel_01")
    run(PASSING)
    name = latest_run(pytester.path).name
    for path in (suite, *suite.parent.glob("audio/turn.a.*json")):  # the words stand in the timing file too
        path.write_text(path.read_text().replace(old, new))
    assert run("--voicebench-rescore=latest").parseoutcomes() == {"errors": 1}
    (row,) = rows(pytester.path).values()
    assert (row.outcome, row.error_kind) == ("error", "suite")
    assert row.cause.startswith(f"suite: not the scenario that {name} held: ")
    assert (row.scorecard, row.official) == (None, None)
    assert told in row.cause


def test_an_item_that_the_run_lacks_is_an_error_and_stays_in_the_denominator(pytester, run):
    write_scenarios(pytester.path, "travel_01")
    run(PASSING)
    name = latest_run(pytester.path).name
    write_scenarios(pytester.path, "travel_01", "travel_02")
    run("--voicebench-rescore=latest")
    assert outcomes(pytester.path) == {"travel_01": ("passed", None), "travel_02": ("error", "suite")}
    row = rows(pytester.path)["travel_02"]
    assert row.cause == f"suite: not in {name}: it has no item travel_02"
    assert row.agent.name == "simulated"
    assert summary_of(pytester.path)["counts"]["planned"] == 2


def test_errors_and_skips_are_carried_over_with_their_reasons_and_files(pytester, run):
    write_conftest(pytester.path, MIXED)
    write_scenarios(pytester.path, *(f"travel_{n:02}" for n in range(1, 6)))
    run(PASSING)
    first, old = latest_run(pytester.path), rows(pytester.path)
    result = run("--voicebench-rescore=latest", "-rs")
    new = rows(pytester.path)
    assert new == old
    assert [new[i].outcome for i in new] == ["passed", "failed", "error", "skipped", "error"]
    text = result.stdout.str()
    assert f"carried over from {first.name}: no budget" in text
    assert f"carried over from {first.name}: ConnectionError: nobody" in text
    assert (latest_run(pytester.path) / new["travel_05"].folder / "conversation.json").is_file()
    assert new["travel_05"].official is not None
    assert new["travel_03"].official is None


def test_the_official_card_of_an_error_follows_the_expectation_of_today(pytester, run):
    write_conftest(pytester.path, MIXED)
    suite = write_scenarios(pytester.path, "travel_05")
    run(PASSING)
    before = rows(pytester.path)["travel_05"].official
    suite.write_text(suite.read_text().replace("    expect:\n      calls:", "    expect:\n      calls: []\n    #", 1))
    suite.write_text(suite.read_text().replace("        - search_flights: {destination", "    # {destination", 1))
    run("--voicebench-rescore=latest")
    row = rows(pytester.path)["travel_05"]
    assert (row.outcome, before.tools.expected, row.official.tools.expected) == ("error", 1, 0)


def test_what_never_ran_stays_not_run(pytester, run):
    write_scenarios(pytester.path)
    run(SILENT, "-x")
    first = latest_run(pytester.path)
    result = run("--voicebench-rescore=latest")
    assert without_header(latest_run(pytester.path)) == without_header(first)
    assert [o for o, _ in outcomes(pytester.path).values()] == ["failed", "not_run", "not_run"]
    assert f"not run in {first.name}: there is no conversation to judge" in result.stdout.str()
    assert result.parseoutcomes() == {"failed": 1, "errors": 2}


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda path: path.write_text("{"), "not JSON"),
        (lambda path: path.write_text('{"format": 9}'), "update pytest-voicebench"),
        (lambda path: path.write_text('{"format": 1}'), "item_id is missing"),
        (lambda path: path.unlink(), "No such file"),
        (lambda path: shutil.rmtree(path.parent), "No such file"),
        (lambda path: (path.unlink(), os.mkfifo(path)), "not an ordinary file"),
    ],
)
def test_a_damaged_conversation_is_one_line_of_its_item_alone(pytester, run, damage, told):
    write_scenarios(pytester.path)
    run(PASSING)
    damage(latest_run(pytester.path) / "items/travel_02/conversation.json")
    result = run("--voicebench-rescore=latest")
    assert [o for o, _ in outcomes(pytester.path).values()] == ["passed", "error", "passed"]
    row = rows(pytester.path)["travel_02"]
    assert row.error_kind == "infrastructure"
    assert told in row.cause
    assert "conversation.json" in row.cause
    assert "rescore.py" not in result.stdout.str()


def test_a_result_that_points_outside_its_run_is_refused(pytester, run):
    write_scenarios(pytester.path, "travel_01")
    run(PASSING)
    log = latest_run(pytester.path) / "results.jsonl"
    log.write_text(log.read_text().replace('"items/travel_01"', '"../elsewhere"'))
    run("--voicebench-rescore=latest")
    (row,) = rows(pytester.path).values()
    assert row.outcome == "error"
    assert "lies outside the run" in row.cause


def test_a_run_that_could_not_be_read_whole_is_judged_again_and_no_gate_holds(pytester, run):
    write_scenarios(pytester.path)
    run(PASSING)
    log = latest_run(pytester.path) / "results.jsonl"
    log.write_text(log.read_text() + '{"item_id": "travel_02", "outcome": "failed"}\n')
    result = run("--voicebench-rescore=latest", "--voicebench-gate=pass_at_1 >= 0.5")
    assert [o for o, _ in outcomes(pytester.path).values()] == ["passed"] * 3
    result.stdout.fnmatch_lines(["voicebench: * could not be read whole: *results.jsonl:4: *"])
    result.stdout.fnmatch_lines(["voicebench: inconclusive: 1 of 1 gate cannot be told"])
    assert run("--voicebench-rescore=latest", "--voicebench-gate=pass_at_1 >= 0.5", "--voicebench-strict").ret == 1


def test_a_run_of_several_agents_keeps_its_ids_and_agents(pytester, run):
    write_scenarios(pytester.path)
    run(PASSING, SILENT)
    first, old = latest_run(pytester.path), rows(pytester.path)
    run("--voicebench-rescore=latest")
    assert list(rows(pytester.path)) == list(old)
    assert rows(pytester.path) == old
    assert without_header(latest_run(pytester.path)) == without_header(first)
    write_scenarios(pytester.path, *IDS, "travel_04")
    run("--voicebench-rescore=latest", "-k", "travel_04")
    found = {i: (row.outcome, row.agent.name) for i, row in rows(pytester.path).items()}
    assert found == {
        "simulated-travel_04": ("error", "simulated"),
        "simulated_no_op-travel_04": ("error", "simulated_no_op"),
    }


def test_an_agent_fixture_with_parameters_keeps_its_ids_and_is_not_run(pytester, run):
    write_scenarios(pytester.path, "travel_01")
    two = "@pytest.fixture(params=['x', 'y/../z'])\ndef agent(request): "
    write_conftest(pytester.path, two + "return Scripted([(5.0, SEARCH)])\n")
    run()
    old = rows(pytester.path)
    write_conftest(pytester.path, two + "raise AssertionError('built')\n")
    run("--voicebench-rescore=latest")
    assert rows(pytester.path) == old
    assert list(old) == ["x-travel_01", "y/../z-travel_01"]


def test_selection_and_last_failed_work(pytester, run):
    suite = write_scenarios(pytester.path)
    run(PASSING)
    name = latest_run(pytester.path).name
    suite.write_text(suite.read_text().replace("date: 2026-06-03", "date: 2026-06-04", 1))
    run(f"--voicebench-rescore={name}", "-k", "travel_01 or travel_02", plugins=["cacheprovider"])
    assert list(outcomes(pytester.path)) == ["travel_01", "travel_02"]
    run(f"--voicebench-rescore={name}", "--lf", plugins=["cacheprovider"])
    assert outcomes(pytester.path) == {"travel_01": ("failed", None)}
    assert run(f"--voicebench-rescore={name}", "-m", "hard").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert run(f"--voicebench-rescore={name}", "-m", "easy").parseoutcomes() == {"passed": 2, "failed": 1}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([PASSING, "--voicebench-rescore=latest"], "*--agent simulated has no effect beside --voicebench-rescore*"),
        (
            ["--voicebench-rescore=gone"],
            "*--voicebench-rescore: gone: no such run, neither as a folder nor in *reports/",
        ),
        (["--voicebench-rescore=suites"], "*suites/results.jsonl: No such file*"),
    ],
)
def test_what_cannot_be_rescored_is_a_usage_error(pytester, run, arguments, told):
    write_scenarios(pytester.path, "travel_01")
    run(PASSING)
    before = latest_run(pytester.path)
    result = run(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([told])
    assert latest_run(pytester.path) == before


def test_the_agent_of_the_ini_file_does_not_stand_in_the_way(pytester, run):
    write_scenarios(pytester.path, "travel_01")
    run(PASSING)
    assert run("--voicebench-rescore=latest", "-o", "voicebench_agent=nobody_of_that_name").ret == 0


OWN = """
import pytest
@pytest.mark.voicebench("suites/travel.yaml", "travel_01", "travel_09")
def test_mine(scenario, conversation, agent):
    assert conversation.item_id == scenario.item_id
    assert agent.info.name == "simulated"
    with pytest.raises(RuntimeError, match="no agent is called"):
        agent.connect(None)
"""


def test_a_test_of_the_users_own_gets_the_saved_conversation(pytester, run):
    write_scenarios(pytester.path, "travel_01")
    run(PASSING)
    write_scenarios(pytester.path, "travel_01", "travel_09")
    pytester.makepyfile(test_mine=OWN)
    write_conftest(pytester.path, "@pytest.fixture\ndef agent(): raise AssertionError('built')\n")
    result = run("--voicebench-rescore=latest", "test_mine.py", "-rE")
    assert result.parseoutcomes() == {"passed": 1, "errors": 1}
    result.stdout.fnmatch_lines(["ERROR test_mine.py::test_mine[[]travel_09] - *not in *"])


def test_either_run_can_be_deleted_and_no_sound_is_stored_twice(pytester, run):
    write_scenarios(pytester.path)
    run(PASSING)
    first = latest_run(pytester.path)
    run("--voicebench-rescore=latest")
    second = latest_run(pytester.path)
    names = ("audio.flac", "conversation.json")
    for name in names:
        one, other = (folder / "items/travel_01" / name for folder in (first, second))
        assert one.samefile(other)
    assert not (first / "items/travel_01/result.json").samefile(second / "items/travel_01/result.json")
    shutil.rmtree(first)
    assert run("--voicebench-rescore=latest").ret == 0
    assert summary_of(pytester.path)["header"]["rescored_from"] == second.name


def test_where_the_disk_has_no_hard_links_the_files_are_copied(pytester, run, monkeypatch):
    write_scenarios(pytester.path, "travel_01")
    run(PASSING)
    first = latest_run(pytester.path)

    def refuse(*args, **kwargs):
        raise OSError("no links here")

    monkeypatch.setattr("os.link", refuse)
    assert run("--voicebench-rescore=latest").ret == 0
    one, other = (f / "items/travel_01/audio.flac" for f in (first, latest_run(pytester.path)))
    assert one.read_bytes() == other.read_bytes()
    assert not one.samefile(other)


FLAKY = """
DONE = []
@pytest.fixture
def agent(agent, scenario):
    DONE.append(scenario.id)
    if DONE.count(scenario.id) == 1: raise ConnectionError("not yet")
    return agent
"""


def test_attempts_carry_over_and_the_one_that_counted_is_judged(pytester, run):
    suite = write_scenarios(pytester.path, "travel_01")
    write_conftest(pytester.path, FLAKY)
    run(PASSING, "--reruns=1", plugins=["pytest_rerunfailures"])
    first = latest_run(pytester.path)
    assert rows(pytester.path)["travel_01"].attempts == ("error", "passed")
    run(f"--voicebench-rescore={first.name}")
    assert rows(pytester.path)["travel_01"].attempts == ("error", "passed")
    assert without_header(latest_run(pytester.path)) == without_header(first)
    suite.write_text(suite.read_text().replace("date: 2026-06-03", "date: 2026-06-04"))
    run(f"--voicebench-rescore={first.name}")
    row = rows(pytester.path)["travel_01"]
    assert (row.outcome, row.attempts) == ("failed", ("error", "failed"))


def test_a_run_outside_the_reports_folder_is_named_as_it_was_given(pytester, run):
    suite = write_scenarios(pytester.path, "travel_01")
    run(PASSING)
    latest_run(pytester.path).rename(pytester.path / "kept")
    suite.write_text(suite.read_text().replace("date: 2026-06-03", "date: 2026-06-04", 1))
    text = run("--voicebench-rescore=kept").stdout.str()
    assert "scenario[travel_01]' --voicebench-rescore=kept\n" in text


def test_what_a_merge_laid_over_is_judged_and_keeps_where_it_came_from(pytester, run):
    write_scenarios(pytester.path)
    run(SILENT)
    base = latest_run(pytester.path)
    run(SILENT, "-k", "travel_02")
    rerun = latest_run(pytester.path)
    merged = pytester.path / "reports/merged"
    saved = load_run(base), load_run(rerun)
    write_merge(lay_over(*saved), *saved, merged)
    run("--voicebench-rescore=merged")
    new, old = rows(pytester.path), {row.item_id: row for row in load_run(merged).results}
    assert new == old
    assert new["travel_02"].taken_from == rerun.name
    assert new["travel_02"].attempts == ("failed", "failed")
