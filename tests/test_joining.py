"""`merge RUN...`: shards joined to one run, and what is refused."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from results import AGENT, a_result
from strict_junit import strict_errors
from suites_for_pytest import (
    FLAKY,
    XDIST,
    latest_run,
    pytest_in_process,
    run_apart,
    scenario_yaml,
    write_conftest,
    write_suite,
)

from pytest_voicebench.commands import merge as command
from pytest_voicebench.joining import Joined, join, join_text, refuse_holes, write_joined
from pytest_voicebench.merging import MergeRefused, lay_over
from pytest_voicebench.plan import UNKNOWN_AGENT, Plan, write_plan
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import append_result, save_result
from pytest_voicebench.saved_run import SavedRun, load_run
from pytest_voicebench.sharding import shard_of

HEADER = {"versions": {"pytest-voicebench": "0.1.0", "python": "3.11.7"}, "rules": {}, "workers": 0}


def a_shard(
    folder: Path, number: int, of: int, all_items: list[Result], *own: Result, ran: int = 99, **header: Any
) -> SavedRun:
    """A shard of `all_items` that planned `own` and ran the first `ran` of them."""
    bare = [replace(r, outcome="not_run", scorecard=None, error_kind=None) for r in all_items]
    planned = tuple(row for row in bare if row.item_id in {r.item_id for r in own})
    plan = Plan(
        collected=len(bare),
        items=planned,
        header={"run": folder.name, **HEADER, **header},
        shard=shard_of(number, of, bare),
    )
    write_plan(folder, plan)
    for result in own[:ran]:
        append_result(folder, result)
    return load_run(folder)


ITEMS = [a_result("a"), a_result("b", "failed"), a_result("c"), a_result("d", "error")]


def three(tmp_path: Path, **header: Any) -> list[SavedRun]:
    """a and c, b, d."""
    a, b, c, d = ITEMS
    return [
        a_shard(tmp_path / "one", 1, 3, ITEMS, a, c),
        a_shard(tmp_path / "two", 2, 3, ITEMS, b, **header),
        a_shard(tmp_path / "three", 3, 3, ITEMS, d),
    ]


@pytest.mark.parametrize("order", [1, -1])
def test_shards_are_one_run_in_the_order_of_the_selection(tmp_path: Path, order: int) -> None:
    joined = join(three(tmp_path)[::order])
    assert [(r.item_id, r.outcome, run.name) for r, run in joined.rows] == [
        *(("a", "passed", "one"), ("b", "failed", "two"), ("c", "passed", "one"), ("d", "error", "three")),
    ]
    assert (joined.holes, joined.cautions) == ((), ())
    assert join_text(joined) == "3 of 3 shards, 4 items: one, two, three"
    refuse_holes(joined)


def test_the_merged_folder_stands_alone_and_keeps_every_attempt(tmp_path: Path) -> None:
    runs = three(tmp_path)
    evidence = runs[0].folder / "items" / "a" / "attempt_2"
    evidence.mkdir(parents=True)
    (evidence / "audio.flac").write_bytes(b"sound")
    (evidence.parent / "audio.flac").write_bytes(b"first")
    save_result(runs[0].folder, replace(ITEMS[0], outcome="error", scorecard=None, folder="items/a"))
    (runs[0].folder / "results.jsonl").unlink()
    for result in (replace(ITEMS[0], outcome="error", scorecard=None, folder="items/a"), ITEMS[2]):
        append_result(runs[0].folder, result)
    append_result(runs[0].folder, replace(ITEMS[0], folder="items/a/attempt_2"))
    merged = write_joined(join([load_run(run.folder) for run in runs]), tmp_path / "all")
    assert merged.results[0].attempts == ("error", "passed")
    linked = tmp_path / "all" / "items" / "a" / "attempt_2" / "audio.flac"
    assert linked.read_bytes() == b"sound"
    assert linked.stat().st_ino == (evidence / "audio.flac").stat().st_ino
    assert (tmp_path / "all" / "items" / "a" / "audio.flac").read_bytes() == b"first"
    assert merged.plan.shard is None
    assert merged.header["shards"] == "3 of 3 shards, 4 items: one, two, three"
    assert not strict_errors(tmp_path / "all" / "junit.xml")


def holes(joined: Joined) -> str:
    with pytest.raises(MergeRefused) as error:
        refuse_holes(joined)
    return str(error.value)


def test_a_missing_shard_is_named_with_its_items(tmp_path: Path) -> None:
    one, _, three_ = three(tmp_path)
    assert holes(join([one, three_])) == ("shard 2 of 3 missing, 1 item: b (--allow-partial merges what is there)")
    assert holes(join([three_])).startswith("shards 1, 2 of 3 missing, 3 items: a, b, c (")


def test_items_that_a_shard_did_not_run_are_named(tmp_path: Path) -> None:
    _, two, three_ = three(tmp_path)
    one = a_shard(tmp_path / "cut", 1, 3, ITEMS, ITEMS[0], ITEMS[2], ran=1)
    assert holes(join([one, two, three_])) == (
        "cut (shard 1 of 3) did not run 1 of its items: c (--allow-partial merges what is there)"
    )


@pytest.mark.parametrize("whole", [b'{"item_id":"b', b'{"item_id":"b"}'], ids=["torn", "changed"])
def test_a_shard_that_could_not_be_read_whole_is_a_hole_and_no_gate_of_the_whole_holds(
    tmp_path: Path, capsys: Any, whole: bytes
) -> None:
    three(tmp_path)
    (tmp_path / "two" / "results.jsonl").write_bytes(whole + b"\n")
    shards = [str(tmp_path / name) for name in ("one", "two", "three")]
    assert command.run([*shards, "--out", str(tmp_path / "all")]) == 2
    assert "two could not be read whole: two/results.jsonl:1: " in capsys.readouterr().err
    asked = [*shards, "--allow-partial", "--out", str(tmp_path / "part"), "--gate", "pass_at_1 >= 0.1"]
    assert command.run([*asked, "--gate", "errors <= 9"]) == int(b"}" not in whole)  # what never ran fails by itself
    merged = load_run(tmp_path / "part")
    assert merged.damage is not None
    assert merged.damage.startswith("two could not be read whole: two/results.jsonl:1: ")
    gates = json.loads((tmp_path / "part" / "summary.json").read_bytes())["gates"]
    assert [gate["holds"] for gate in gates] == [None, None]
    assert "could not be read whole" in " ".join(capsys.readouterr().out.split())


def test_what_is_missing_is_counted_as_not_run_where_that_is_allowed(tmp_path: Path) -> None:
    one, _, three_ = three(tmp_path)
    merged = write_joined(join([one, three_]), tmp_path / "some")
    counts = merged.summary().counts
    assert (counts.planned, counts.passed, counts.error, counts.not_run) == (4, 2, 1, 1)
    assert merged.summary().notices[-1] == "2/4 scored, 2 missing"
    assert merged.header["shards"] == "2 of 3 shards, 4 items: one, three"


def test_a_shard_that_has_no_items_is_not_missing(tmp_path: Path) -> None:
    runs = [a_shard(tmp_path / "one", 1, 2, ITEMS[:1], ITEMS[0]), a_shard(tmp_path / "none", 2, 2, ITEMS[:1])]
    refuse_holes(join(runs))


def refused(*runs: SavedRun) -> str:
    with pytest.raises(MergeRefused) as error:
        join(runs)
    return str(error.value)


def test_a_shard_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    runs = three(tmp_path)
    again = a_shard(tmp_path / "again", 2, 3, ITEMS, ITEMS[1])
    assert refused(*runs, again) == f"shard 2 of 3 is there twice: {tmp_path / 'two'} and {tmp_path / 'again'}"


def test_an_item_that_two_shards_hold_is_refused(tmp_path: Path) -> None:
    runs = three(tmp_path)
    greedy = a_shard(tmp_path / "greedy", 3, 3, ITEMS, ITEMS[3], ITEMS[1])
    assert refused(*runs[:2], greedy).endswith("greedy: holds items that two holds too: b")


def test_a_run_that_is_no_shard_is_refused_with_the_command_for_reruns(tmp_path: Path) -> None:
    runs = three(tmp_path)
    plain = replace(runs[1], plan=replace(runs[1].plan, shard=None))
    assert refused(runs[0], plain).endswith(
        "two: no shard of a run (--voicebench-shard makes them); a rerun is laid over a run by merge two --replace one"
    )


@pytest.mark.parametrize(
    ("header", "trouble"),
    [
        ({"rescored_from": "old"}, "two: rescored, but one is live: never one table"),
        ({"imported": "x"}, "two: imported, but one is live: never one table"),
        ({"rules": {"x": 1}}, "two: rules of scoring: {'x': 1}, but one has {}"),
        ({"words": "align"}, "two: --voicebench-words: 'align', but one has None"),
        ({"trials": 3}, "two: --voicebench-trials: 3, but one has None"),
        ({"versions": {"pytest-voicebench": "0.2.0"}}, "two: pytest-voicebench 0.2.0, but one has 0.1.0"),
    ],
)
def test_shards_of_other_kinds_are_refused(tmp_path: Path, header: dict[str, Any], trouble: str) -> None:
    assert refused(*three(tmp_path, **header)).endswith(trouble)


def test_shards_of_other_agents_scores_and_selections_are_refused(tmp_path: Path) -> None:
    one, *_ = three(tmp_path)
    other = [replace(r, agent=replace(AGENT, model="base.en")) for r in ITEMS]
    assert "not the agent of one: model 'base.en' instead of 'tiny.en'" in refused(
        one, a_shard(tmp_path / "x1", 2, 3, other, other[1])
    )
    named = [replace(r, agent=replace(AGENT, name="grok")) for r in ITEMS]
    assert "not the agent of one: name 'grok'" in refused(one, a_shard(tmp_path / "x2", 2, 3, named, named[1]))
    card = ITEMS[1].scorecard
    assert card is not None
    scored = replace(ITEMS[1], scorecard=replace(card, version=9))
    assert "but one has voicebench" in refused(one, a_shard(tmp_path / "x3", 2, 3, ITEMS, scored))
    fewer = a_shard(tmp_path / "x4", 2, 3, ITEMS[:3], ITEMS[1])
    assert refused(one, fewer).endswith("shard 2 of 3 of another selection than one: only one of them selected d")
    changed = [replace(r, facts=replace(r.facts, expect_sha256="9" * 64)) for r in ITEMS]
    assert refused(one, a_shard(tmp_path / "x5", 2, 3, changed, changed[1])).endswith("scenarios differ")
    assert refused(one, a_shard(tmp_path / "x6", 2, 4, ITEMS, ITEMS[1])).endswith(
        "shard 2 of 4, but one is shard 1 of 3"
    )


def test_other_versions_of_other_packages_are_told(tmp_path: Path) -> None:
    versions = {"pytest-voicebench": "0.1.0", "python": "3.12.0"}
    joined = join(three(tmp_path, versions=versions))
    assert joined.cautions == ("the shards ran with different versions of python: 3.11.7, 3.12.0",)


def test_a_rescored_rerun_is_not_laid_over_a_live_run(tmp_path: Path) -> None:
    """O4."""
    one, *_ = three(tmp_path)
    rescored = replace(one, folder=tmp_path / "new", plan=replace(one.plan, header={"rescored_from": "one"}))
    with pytest.raises(MergeRefused, match="rescored, but one is live: never one table"):
        lay_over(one, rescored)


def test_an_item_whose_agent_nobody_met_belongs_to_the_agent_of_the_whole_run(tmp_path: Path) -> None:
    rows = [replace(r, agent=UNKNOWN_AGENT) for r in ITEMS]
    met, unmet = replace(rows[0], agent=AGENT), rows[3]
    runs = [a_shard(tmp_path / "one", 1, 2, rows[::3], met), a_shard(tmp_path / "two", 2, 2, rows[::3], unmet)]
    merged = write_joined(join(runs), tmp_path / "all")
    assert [r.agent for r in merged.results] == [AGENT, AGENT]


def test_several_agents_by_a_fixture_are_no_other_agents_where_a_shard_met_only_one(tmp_path: Path) -> None:
    rows = [replace(r, item_id=f"{n}-{r.item_id}", agent=UNKNOWN_AGENT) for n in ("x", "y") for r in ITEMS[:1]]
    one, two = (replace(r, agent=replace(AGENT, name=n)) for r, n in zip(rows, ("x", "y"), strict=True))
    runs = [a_shard(tmp_path / "one", 1, 2, rows, one), a_shard(tmp_path / "two", 2, 2, rows, two)]
    assert [r.agent.name for r, _ in join(runs).rows] == ["x", "y"]


# The command


def test_the_command_says_what_it_merged_and_what_pytest_would_have(tmp_path: Path, capsys: Any) -> None:
    three(tmp_path)
    assert command.run(["one", "two", "three", "--reports", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "3 of 3 shards, 4 items: one, two, three" in out
    assert "planned 4 = 2 passed + 1 failed + 1 error" in out
    assert (tmp_path / "latest").read_text() == "one+2\n"
    assert command.run(["one", "two", "three", "--reports", str(tmp_path)]) == 2
    assert "exists already; give another folder with --out" in capsys.readouterr().err


def test_the_command_refuses_holes_and_where_they_are_allowed_they_are_no_success(tmp_path: Path, capsys: Any) -> None:
    a_shard(tmp_path / "one", 1, 2, ITEMS[:2], ITEMS[0])
    assert command.run(["one", "--reports", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        "merge: shard 2 of 2 missing, 1 item: b (--allow-partial merges what is there)\n"
    )
    assert not (tmp_path / "one+0").exists()
    assert command.run(["one", "--allow-partial", "--reports", str(tmp_path)]) == 1
    assert "note: shard 2 of 2 missing, 1 item: b" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["one", "two", "--replace", "three"], ["one", "--replace", "x", "--allow-partial"]]
)
def test_what_cannot_be_meant_is_a_usage_error(arguments: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as error:
        command.run(arguments)
    assert error.value.code == 2


# Runs of pytest


def without_header(folder: Path) -> Any:
    data = json.loads((folder / "summary.json").read_bytes())
    assert data.pop("header")
    return data


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest in this process; other plugins are named."""
    return pytest_in_process(pytester, monkeypatch)


def cases(path: Path) -> dict[str, ET.Element]:
    return {case.get("name", ""): case for case in ET.parse(path / "junit.xml").iter("testcase")}


@pytest.mark.parametrize("trials", [1, 2])
def test_eight_shards_merged_are_the_run_without_shards(pytester, run, trials):
    write_conftest(pytester.path, FLAKY)
    names = ["finance_01", *(f"travel_{n:02}" for n in range(1, 11 if trials == 1 else 6))]
    write_suite(pytester.path / "suites", *map(scenario_yaml, names))
    option = f"--voicebench-trials={trials}"
    run(option)
    whole, shards = latest_run(pytester.path), []
    for number in range(1, 9):
        run(option, f"--voicebench-shard={number}/8")
        shards.append(latest_run(pytester.path))
    out = pytester.path / "merged"
    assert command.run([*map(str, reversed(shards)), "--out", str(out)]) == 1
    assert without_header(out) == without_header(whole)
    assert sorted(p.name for p in out.iterdir()) == sorted(p.name for p in whole.iterdir())
    assert sorted(p.name for p in (out / "items").iterdir()) == sorted(p.name for p in (whole / "items").iterdir())
    assert load_run(out).plan.items == load_run(whole).plan.items
    assert not strict_errors(out / "junit.xml")
    found, wanted = cases(out), cases(whole)
    assert list(found) == list(wanted)
    failure = found["scenario[travel_02]" if trials == 1 else "scenario[travel_02-2]"].find("failure")
    assert "the agent never took the turn" in failure.text  # as pytest told it in the shard


def test_shards_held_by_workers_are_merged_too(tmp_path):
    write_conftest(tmp_path, FLAKY)
    write_suite(tmp_path / "suites", *map(scenario_yaml, ("finance_01", "travel_01", "travel_02", "travel_03")))
    seen = []
    for more in (("--voicebench-shard=1/2", "-n", "2"), ("--voicebench-shard=2/2",), ()):
        run_apart(tmp_path, *more, plugins=XDIST)
        seen.append(latest_run(tmp_path))
    command.run([*map(str, seen[:2]), "--out", str(tmp_path / "merged")])
    assert without_header(tmp_path / "merged") == without_header(seen[2])


def test_a_rerun_with_trials_is_laid_over_trial_by_trial(pytester, run):
    write_suite(pytester.path / "suites", scenario_yaml("travel_01"), scenario_yaml("travel_02"))
    twice = "--voicebench-trials=2"
    write_conftest(pytester.path, FLAKY)
    run(twice)
    whole = latest_run(pytester.path)
    run(twice, "-k", "travel_02-2")
    rerun = latest_run(pytester.path)
    merge = lay_over(load_run(whole), load_run(rerun))
    assert [(item.item_id, item.taken) for item in merge.laid] == [("travel_02-2", True)]
    assert [row.trial for row in merge.results] == [1, 1, 2, 2]


def test_what_one_shard_did_not_keep_the_whole_has_not_and_other_prices_are_told(tmp_path: Path) -> None:
    withheld = {"withheld": {"sound": False, "patterns": 2}, "prices": {"grok": "0.05 USD a minute"}}
    joined = join(three(tmp_path, **withheld))
    assert joined.cautions == ("the shards ran with different prices: shown are those of one",)
    whole = write_joined(joined, tmp_path / "whole")
    assert whole.header["withheld"] == {"sound": False, "patterns": 2}
