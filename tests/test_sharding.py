"""Shards: which item goes where, and runs of pytest that hold a part."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from results import a_result
from suites_for_pytest import (
    PASSING,
    XDIST,
    latest_run,
    outcomes,
    pytest_in_process,
    run_apart,
    scenario_yaml,
    summary_of,
    write_conftest,
    write_suite,
)

from pytest_voicebench.commands import merge
from pytest_voicebench.plan import read_plan
from pytest_voicebench.sharding import assign, parse_shard, selection_hash

DURATIONS = st.dictionaries(st.text("abc", min_size=1, max_size=4), st.floats(0, 600), max_size=40)


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("0/8", "there is no shard 0/8: of 8 they are 1/8 to 8/8"),
        ("9/8", "there is no shard 9/8: of 8 they are 1/8 to 8/8"),
        ("0/0", "must be NUMBER/COUNT with a count from 1 to 1000, not '0/0'"),
        ("1/0", "must be NUMBER/COUNT with a count from 1 to 1000, not '1/0'"),
        *((text, f"must be NUMBER/COUNT, as in 3/8, not {text!r}") for text in ("x", "", "3/", "-1/8", "3/8/2", "²/3")),
    ],
)  # fmt: skip
def test_what_is_no_shard_is_said_in_one_line(text: str, trouble: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - its text is compared
        parse_shard(text)
    assert str(error.value) == trouble


def test_a_shard_is_a_number_and_a_count() -> None:
    assert parse_shard("3/8") == (3, 8)
    assert parse_shard("1/1") == (1, 1)


def test_the_longest_item_goes_first_to_the_shard_with_the_least_to_do() -> None:
    found = assign({"a": 7, "b": 6, "c": 5, "d": 4, "e": 3, "f": 3}, 3)
    assert found == {"a": 1, "b": 2, "c": 3, "d": 3, "e": 2, "f": 1}  # 10, 9, 9 seconds


@given(durations=DURATIONS, shards=st.integers(1, 9))
def test_every_item_is_in_one_shard_and_none_is_longer_than_another_by_more_than_an_item(
    durations: dict[str, float], shards: int
) -> None:
    found = assign(durations, shards)
    assert set(found) == set(durations)
    assert set(found.values()) <= set(range(1, shards + 1))
    loads = [sum(s for name, s in durations.items() if found[name] == number) for number in range(1, shards + 1)]
    assert max(loads) - min(loads) <= max(durations.values(), default=0) + 0.001 * len(durations)


@given(durations=DURATIONS, shards=st.integers(1, 9), data=st.data())
def test_the_order_in_which_items_were_found_changes_nothing(
    durations: dict[str, float], shards: int, data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(list(durations.items())))
    assert assign(dict(shuffled), shards) == assign(durations, shards)


def test_the_hash_of_a_selection_tells_another_item_another_trial_and_another_expectation() -> None:
    rows = [a_result("a"), a_result("b")]
    assert selection_hash(rows) == selection_hash(rows[::-1])
    facts = replace(rows[0].facts, expect_sha256="3" * 64)
    others = [
        rows[:1],
        [*rows, a_result("c")],
        [replace(rows[0], trial=1), rows[1]],
        [replace(rows[0], facts=facts), rows[1]],
    ]
    assert len({selection_hash(rows), *map(selection_hash, others)}) == 5


# Runs


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest in this process; other plugins are named."""
    return pytest_in_process(pytester, monkeypatch)


def suite(folder, n=5):
    write_conftest(folder)
    write_suite(folder / "suites", *(scenario_yaml(f"travel_{i:02}") for i in range(1, n + 1)))
    return folder


@pytest.mark.parametrize("ways", [("-p", "no:xdist"), ("-n", "0"), ("-n", "2")], ids=" ".join)
def test_shards_hold_everything_once(tmp_path, ways):
    suite(tmp_path)
    plugins = () if "no:xdist" in ways else XDIST
    seen = []
    for number in (1, 2, 3):
        status, text = run_apart(tmp_path, PASSING, *ways, f"--voicebench-shard={number}/3", plugins=plugins)
        assert status == 0, text
        plan = read_plan(latest_run(tmp_path))
        assert f"voicebench: shard {number} of 3: {len(plan.items)} of 5 items" in text
        assert f"shard {number} of 3: {len(plan.items)} of 5 items" in summary_of(tmp_path)["header"]["shard"]
        assert (plan.shard.number, plan.shard.of) == (number, 3)
        assert [row.item_id for row in plan.shard.selection] == [f"travel_0{i}" for i in range(1, 6)]
        assert list(outcomes(tmp_path)) == [row.item_id for row in plan.items]
        seen.append([row.item_id for row in plan.items])
    assert sorted(name for names in seen for name in names) == [f"travel_0{i}" for i in range(1, 6)]
    assert sorted(map(len, seen)) == [1, 2, 2]


def test_a_shard_is_of_what_was_selected(pytester, run):
    suite(pytester.path)
    result = run(PASSING, "--voicebench-shard=1/2", "-k", "travel_01 or travel_02 or travel_03")
    result.stdout.fnmatch_lines(["voicebench: 2 of 5 scenarios selected*", "voicebench: shard 1 of 2: 2 of 3 items"])
    first = read_plan(latest_run(pytester.path))
    run(PASSING, "--voicebench-shard=2/2", "-k", "travel_01 or travel_02 or travel_03")
    second = read_plan(latest_run(pytester.path))
    assert first.shard.selection_sha256 == second.shard.selection_sha256
    run(PASSING, "--voicebench-shard=2/2")
    assert read_plan(latest_run(pytester.path)).shard.selection_sha256 != first.shard.selection_sha256


def test_what_was_left_out_by_the_last_failures_is_in_no_shard(pytester, run):
    suite(pytester.path)
    run("--agent=simulated,behaviour=no_op", "-k", "travel_02 or travel_04")
    result = run(PASSING, "--lf", "--voicebench-shard=1/2")
    result.stdout.fnmatch_lines(["voicebench: shard 1 of 2: 1 of 2 items"])


@pytest.mark.parametrize("ways", [("-n", "0"), ("-n", "2")], ids=" ".join)
def test_a_shard_without_items_passes_and_says_so(tmp_path, ways):
    suite(tmp_path, 2)
    status, text = run_apart(tmp_path, PASSING, *ways, "--voicebench-shard=3/3")
    assert status == 0, text
    assert "voicebench: shard 3 of 3: 0 of 2 items" in text
    assert "planned 0 = 0 passed" in text
    folder = latest_run(tmp_path)
    assert read_plan(folder).items == ()
    assert (folder / "junit.xml").is_file()
    assert summary_of(tmp_path)["counts"]["planned"] == 0


def test_a_selection_without_items_fails_as_it_does_without_shards(pytester, run):
    suite(pytester.path, 2)
    assert run(PASSING, "-k", "nothing", "--voicebench-shard=1/2").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert not (pytester.path / "reports").exists()


@pytest.mark.parametrize("ways", [(), ("-n", "2")], ids=["alone", "workers"])
def test_what_is_no_shard_is_a_usage_error(tmp_path, ways):
    suite(tmp_path, 2)
    status, text = run_apart(tmp_path, PASSING, *ways, "--voicebench-shard=9/8")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: --voicebench-shard: there is no shard 9/8: of 8 they are 1/8 to 8/8" in text
    assert "Traceback" not in text


def test_tests_that_are_no_scenarios_are_in_every_shard(pytester, run):
    suite(pytester.path, 2)
    pytester.makepyfile("def test_own(): pass")
    for number in (1, 2):
        run(PASSING, f"--voicebench-shard={number}/2").assert_outcomes(passed=2, deselected=1)


def test_a_shard_is_resumed_and_judged_again_as_the_shard_that_it_is(pytester, run):
    suite(pytester.path)
    trials = "--voicebench-trials=2"
    run("--agent=simulated,behaviour=no_op", "--voicebench-shard=2/3", trials, "-x")
    before = read_plan(latest_run(pytester.path))
    result = run("--agent=simulated,behaviour=no_op", "--voicebench-resume=latest")
    result.stdout.fnmatch_lines(["voicebench: resuming *: 1 of 3 done, to hold: 2 not run"])
    assert list(outcomes(pytester.path)) == [row.item_id for row in before.items]
    run("--voicebench-rescore=latest")
    again = read_plan(latest_run(pytester.path))
    assert [row.item_id for row in again.items] == [row.item_id for row in before.items]
    assert (again.shard.number, again.shard.of) == (2, 3)
    assert again.shard.selection_sha256 == before.shard.selection_sha256
    refused = run("--voicebench-rescore=latest", "--voicebench-shard=1/3")
    refused.stderr.fnmatch_lines(["*--voicebench-shard 1/3 beside a run that is shard 2 of 3: drop the option"])


def test_shards_of_several_agents_are_judged_again_as_shards_of_what_was_selected(tmp_path, monkeypatch):
    suite(tmp_path)
    agents = ("--agent=simulated", "--agent=simulated,behaviour=no_op")
    only = ("-k", "travel_01 or (travel_02 and no_op) or travel_03")
    again = []
    for number in (1, 2):
        run_apart(tmp_path, *agents, *only, f"--voicebench-shard={number}/2")
        before = read_plan(latest_run(tmp_path))
        run_apart(tmp_path, "--voicebench-rescore=latest")  # the part knows of what it is a part
        plan = read_plan(latest_run(tmp_path))
        assert (plan.shard.number, plan.shard.of) == (number, 2)
        assert plan.shard.selection_sha256 == before.shard.selection_sha256
        assert [row.item_id for row in plan.items] == [row.item_id for row in before.items]
        again.append(str(latest_run(tmp_path)))
    monkeypatch.chdir(tmp_path)
    assert merge.run([*again, "--out", "whole"]) == 1  # a no_op agent passes nothing
    assert json.loads((tmp_path / "whole" / "summary.json").read_bytes())["counts"]["planned"] == 5


def test_the_estimate_of_a_shard_is_that_of_its_items(tmp_path):
    from tests.servers.openai_script import Say, Script, recite
    from tests.servers.openai_server import openai_server

    suite(tmp_path)
    (tmp_path / "prices.yaml").write_text(
        "- {agent: gpt-realtime, date: 2026-01-31, source: mine, per_minute: 0.0625, step_s: 3600}\n"
    )
    with openai_server(Script(), recite([Say(voice="reply")])) as double:
        options = (
            f"--agent=gpt-realtime,url={double.url}",
            "--voicebench-prices=prices.yaml",
            "--voicebench-max-usd=1",
        )
        _, text = run_apart(tmp_path, *options, "--voicebench-shard=1/5", "--voicebench-trials=2")
    assert "estimate 7.50 USD of at most 1 for 2 conversations" in text
