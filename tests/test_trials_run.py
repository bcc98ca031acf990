"""`--voicebench-trials`: each scenario held several times, each an item, in runs of pytest."""

from __future__ import annotations

import pytest
from suites_for_pytest import (
    FLAKY,
    PASSING,
    SILENT,
    XDIST,
    latest_run,
    outcomes,
    pytest_in_process,
    run_apart,
    scenario_yaml,
    write_conftest,
    write_suite,
)

from pytest_voicebench.commands import compare
from pytest_voicebench.plan import completed, read_plan
from pytest_voicebench.plugin.trials import interleave
from pytest_voicebench.result_files import read_results
from tests.servers.openai_script import Call, Say, Script, recite
from tests.servers.openai_server import openai_server

WAYS = [("-p", "no:xdist"), ("-n", "0"), ("-n", "2")]
TWICE = "--voicebench-trials=2"

AGAIN = """
def again(self, seen=[]):
    if not seen:
        seen.append(1)
        raise ConnectionError("nobody")
Flaky.again = again
"""
CALL = Call("search_flights", '{"destination": "Milan", "date": "2026-06-03"}')

ALL = ["travel_01-1", "travel_02-1", "finance_01-1", "travel_01-2", "travel_02-2", "finance_01-2"]


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest in this process; other plugins are named."""
    return pytest_in_process(pytester, monkeypatch)


def suites(folder, conftest=FLAKY):
    write_conftest(folder, conftest)
    write_suite(folder / "suites", scenario_yaml("travel_01"), scenario_yaml("travel_02"))
    write_suite(folder / "suites", scenario_yaml("finance_01"), name="zfinance.yaml")
    return folder


def run_ways(folder, ways, *args):
    return run_apart(folder, *ways, *args, plugins=() if "no:xdist" in ways else XDIST)


@pytest.mark.parametrize("ways", WAYS, ids=" ".join)
def test_each_trial_is_an_item_with_its_own_conversation_and_folder(tmp_path, ways):
    suites(tmp_path)
    _, text = run_ways(tmp_path, ways, TWICE)
    assert "6 of 6 items in 2 trials selected" in text
    assert list(outcomes(tmp_path)) == ALL  # all of one trial before the next, across files
    assert [o for o, _ in outcomes(tmp_path).values()] == ["passed", "passed", "error", "passed", "failed", "passed"]
    folder = latest_run(tmp_path)
    rows = {row.item_id: row for row in read_results(folder).results}
    assert {(row.facts.scenario_id, row.trial) for row in rows.values()} == {
        (name, trial) for name in ("travel_01", "travel_02", "finance_01") for trial in (1, 2)
    }
    assert rows["travel_02-2"].nodeid == "suites/travel.yaml::scenario[travel_02-2]"
    held = [row for row in rows.values() if row.outcome != "error"]
    assert all((folder / "items" / row.item_id / "conversation.json").is_file() for row in held)
    assert read_plan(folder).header["trials"] == 2


def test_a_run_without_trials_has_the_ids_it_always_had(tmp_path):
    suites(tmp_path, "")
    for more in ((), ("--voicebench-trials=1",)):
        _, text = run_ways(tmp_path, ("-n", "0"), PASSING, *more)
        assert "3 of 3 scenarios selected" in text
        assert list(outcomes(tmp_path)) == ["travel_01", "travel_02", "finance_01"]
        assert {row.trial for row in read_results(latest_run(tmp_path)).results} == {None}


def test_speaker_trial_and_agent_stand_in_the_id_where_there_are_several(pytester, run):
    write_suite(pytester.path / "suites", scenario_yaml("travel_19", more="speakers: [a, b]"))
    result = run(PASSING, "--agent=simulated,behaviour=slow", TWICE, "--collect-only", "-q")
    ids = [line.partition("[")[2] for line in result.outlines if "::scenario[" in line]
    assert [name.rstrip("]").split("-", 1)[1] for name in ids] == [
        *("travel_19-a-1", "travel_19-b-1") * 2,
        *("travel_19-a-2", "travel_19-b-2") * 2,
    ]


@pytest.mark.parametrize("text", ["0", "-1", "x", "2.5", "²", "101", "1000000", "nan", "1e1"])
def test_a_number_of_trials_that_is_none_is_a_usage_error(pytester, run, text):
    result = run(PASSING, f"--voicebench-trials={text}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--voicebench-trials must be a whole number from 1 to 100, not '{text}'"])


def test_the_number_of_trials_can_be_set_in_the_ini_file(pytester, run):
    suites(pytester.path, "")
    run(PASSING, "-o", "voicebench_trials=2", "-k", "travel_01")
    assert list(outcomes(pytester.path)) == ["travel_01-1", "travel_01-2"]


def test_a_part_of_the_trials_is_selected_as_any_items_are(pytester, run):
    suites(pytester.path)
    run(TWICE)
    run(TWICE, "--lf")
    assert list(outcomes(pytester.path)) == ["finance_01-1", "travel_02-2"]
    for selected, ids in (
        (("-k", "travel_02-2"), ["travel_02-2"]),
        (("-k", "travel_02"), ["travel_02-1", "travel_02-2"]),
        (("suites/travel.yaml::scenario[travel_01-2]",), ["travel_01-2"]),
    ):
        run(TWICE, *selected)
        assert list(outcomes(pytester.path)) == ids


def test_a_run_with_trials_is_resumed_without_naming_their_number(pytester, run):
    suites(pytester.path)
    run(TWICE, "-x")
    assert [o for o, _ in outcomes(pytester.path).values()] == ["passed", "passed", "error", *["not_run"] * 3]
    result = run("--voicebench-resume=latest")
    result.stdout.fnmatch_lines(["voicebench: resuming *: 2 of 6 done, to hold: 1 error, 3 not run"])
    assert [o for o, _ in outcomes(pytester.path).values()] == [
        *("passed", "passed", "error", "passed", "failed", "passed")
    ]
    refused = run("--voicebench-resume=latest", "--voicebench-trials=3")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*--voicebench-trials 3 beside a run of 2: drop the option"])


def test_a_run_with_trials_is_judged_again_trial_by_trial(pytester, run):
    suites(pytester.path)
    run(TWICE)
    before = outcomes(pytester.path)
    result = run("--voicebench-rescore=latest")
    result.stdout.fnmatch_lines(["voicebench: 6 items compared: 6 are the same."])
    assert outcomes(pytester.path) == before
    assert [row.trial for row in read_plan(latest_run(pytester.path)).items] == [1, 1, 1, 2, 2, 2]


def test_two_agents_with_trials_are_judged_again_each_by_its_own(pytester, run):
    write_suite(pytester.path / "suites", scenario_yaml("travel_01"))
    run(PASSING, SILENT, TWICE)
    before = outcomes(pytester.path)
    assert len(before) == 4
    run("--voicebench-rescore=latest")
    assert outcomes(pytester.path) == before


def test_trials_are_held_ahead_of_their_items_where_several_conversations_are_held_at_once(tmp_path):
    script = recite([CALL, Say(voice="reply")])
    suites(tmp_path, "")
    with openai_server(Script(), script) as double:
        agent = (f"--agent=gpt-realtime,url={double.url}", "--voicebench-concurrency=3")
        _, text = run_apart(tmp_path, *agent, TWICE, "-k", "travel_01 or travel_02", plugins=())
        assert len(double.sessions) == 4, text
    assert outcomes(tmp_path) == {
        f"{name}-{trial}": ("passed", None) for trial in (1, 2) for name in ("travel_01", "travel_02")
    }


def test_a_run_costs_as_much_more_as_there_are_trials(tmp_path):
    suites(tmp_path, "")
    price = "- {agent: gpt-realtime, date: 2026-01-31, source: mine, per_minute: 0.0625, step_s: 3600}\n"
    (tmp_path / "prices.yaml").write_text(price)
    with openai_server(Script(), recite([CALL, Say(voice="reply")])) as double:
        options = (
            f"--agent=gpt-realtime,url={double.url}",
            "--voicebench-prices=prices.yaml",
            "--voicebench-max-usd=4",
        )
        _, text = run_apart(tmp_path, *options, TWICE, "-k", "travel_01", "-p", "no:xdist", plugins=())
        assert len(double.sessions) == 1
    assert "estimate 7.50 USD of at most 4 for 2 conversations" in text
    assert list(outcomes(tmp_path).values()) == [("passed", None), ("not_run", None)]


def test_two_runs_with_trials_are_compared_trial_by_trial(pytester, run, capsys):
    suites(pytester.path)
    run(TWICE)
    first = latest_run(pytester.path)
    run(TWICE, "-k", "not finance_01")
    capsys.readouterr()
    assert compare.run([str(first), str(latest_run(pytester.path))]) == 1
    told = capsys.readouterr().out
    assert "4 items compared: 4 are the same" in told
    assert "finance_01-1, finance_01-2" in told


def test_reruns_are_attempts_of_a_trial(tmp_path):
    suites(tmp_path, FLAKY.replace('raise ConnectionError("nobody")', "self.again()") + AGAIN)
    status, text = run_apart(tmp_path, TWICE, "-k", "finance_01", "--reruns=1", plugins=("pytest_rerunfailures",))
    assert status == 0, text
    rows = completed(read_plan(latest_run(tmp_path)), read_results(latest_run(tmp_path)).results)
    assert [(row.trial, row.outcome, row.attempts) for row in rows] == [
        (1, "passed", ("error", "passed")),
        (2, "passed", ()),
    ]


def test_all_of_one_trial_stand_before_the_next_and_others_stay_where_they_are():
    items = ["a1", "a2", "own", "b1", "b2", "last"]
    interleave(items, [1, 2, None, 1, 2, None])
    assert items == ["a1", "b1", "own", "a2", "b2", "last"]
