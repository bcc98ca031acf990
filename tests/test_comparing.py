"""What moved between two runs: small tables by hand, the text in 100 columns, the command's exit status."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from failures import card
from results import AGENT, a_result, a_run

from pytest_voicebench.commands import compare
from pytest_voicebench.comparing import Comparison, Moved, compare_runs
from pytest_voicebench.official_card import OfficialCall, OfficialCard, ToolSelection
from pytest_voicebench.plan import Plan, write_plan
from pytest_voicebench.result import Outcome, Result
from pytest_voicebench.saved_run import load_run
from pytest_voicebench.scorecard import ArgumentScore, Manners, Pair, Times
from pytest_voicebench.writers.comparison import comparison_text, sentence
from pytest_voicebench.writers.plain_text import columns


def compared(folder: Path, old: list[Result], new: list[Result]) -> Comparison:
    """Two runs written and compared."""
    return compare_runs(load_run(a_run(folder / "old", *old)), load_run(a_run(folder / "new", *new)))


def scored(**changes: Any) -> Result:
    """One item whose card has these values, all else as usual."""
    values: dict[str, Any] = {"manners": Manners(turn_taken=True, interrupted=False), "passed": True} | changes
    return a_result("travel_01", "passed" if values["passed"] else "failed", scorecard=card(**values))


def an_official_card(**changes: Any) -> OfficialCard:
    """One call that was wanted and made."""
    values: dict[str, Any] = {
        "inputs": "derived",
        "tools": ToolSelection(matched=1, expected=1, actual=1, recall=1.0, precision=1.0, f1=1.0),
        "calls": (OfficialCall(tool="search_flights", verdict="match", score=1.0, reason=""),),
        "argument_accuracy": 1.0,
        "passed": True,
        "failure": None,
        "turn_taken": True,
        "user_end_s": 4.0,
        "agent_start_s": 5.0,
        "response_latency_s": 1.0,
        "interruption": False,
        "first_response_latency_s": 1.0,
        "tool_call_latency_s": 0.5,
    }
    return OfficialCard(**values | changes)


def an_argument(**changes: Any) -> Pair:
    values: dict[str, Any] = {
        "name": "date",
        "expected": "2026-06-03",
        "actual": "2026-06-01",
        "verdict": "mismatch",
        "strict": False,
        "reason": "another day",
        "cause": "stale",
    }
    argument = ArgumentScore(**values | changes)
    return Pair(expected=0, actual=0, tool="search_flights", arguments=(argument,))


@pytest.mark.parametrize(
    ("old", "new", "moved"),
    [
        ({}, {}, []),
        ({"f1_names": 0.5}, {"f1_names": 1.0}, [("f1_names", 0.5, 1.0)]),
        ({"f1_names": 1.0}, {"f1_names": 1}, []),
        ({"argument_accuracy": None}, {"argument_accuracy": 0.0}, [("argument_accuracy", None, 0.0)]),
        ({"passed": True}, {"passed": False}, [("passed", True, False), ("outcome", "passed", "failed")]),
        (
            {"times": Times(first_response_latency_s=0.8)},
            {"times": Times(cause="no_reply")},
            [("times.first_response_latency_s", 0.8, None), ("times.cause", None, "no_reply")],
        ),
        (
            {"pairs": (an_argument(),)},
            {"pairs": (an_argument(actual="2026-06-03", verdict="match", cause=None),)},
            [
                ("search_flights[0].date.actual", "2026-06-01", "2026-06-03"),
                ("search_flights[0].date.verdict", "mismatch", "match"),
                ("search_flights[0].date.cause", "stale", None),
            ],
        ),
        ({"pairs": (an_argument(),)}, {"pairs": (an_argument(reason="in other words"),)}, []),
        ({"notes": ()}, {"requirements": {"order": True}}, [("requirements.order", None, True)]),
        (
            {"pairs": (an_argument(actual=1),)},
            {"pairs": (an_argument(actual=True),)},
            [("search_flights[0].date.actual", 1, True)],
        ),
        (
            {"pairs": (an_argument(actual={"reason": "noise"}),)},
            {"pairs": (an_argument(actual={"reason": "smoke"}),)},
            [("search_flights[0].date.actual", {"reason": "noise"}, {"reason": "smoke"})],
        ),
        (
            {"pairs": (an_argument(actual=[1]),)},
            {"pairs": (an_argument(actual=[True]),)},
            [("search_flights[0].date.actual", [1], [True])],
        ),
        ({"wrong_causes": {"stale": 1}}, {"wrong_causes": {}}, [("wrong_causes.stale", 1, None)]),
        ({"notes": ("truncated",)}, {"notes": ("tool_stall",)}, [("notes", ["truncated"], ["tool_stall"])]),
    ],
)  # fmt: skip
def test_every_value_of_the_scorecard_is_compared(
    tmp_path: Path, old: dict[str, Any], new: dict[str, Any], moved: list[tuple[str, Any, Any]]
) -> None:
    found = compared(tmp_path, [scored(**old)], [scored(**new)])
    assert [m for c in found.changes for m in c.moved] == [Moved(name=n, before=a, after=b) for n, a, b in moved]
    assert found.same is (not moved)


def test_a_group_of_scores_that_one_run_never_had_is_named_once_and_moves_nothing(tmp_path: Path) -> None:
    ids = ("travel_01", "travel_02")
    found = compared(tmp_path, [a_result(i) for i in ids], [a_result(i, official=an_official_card()) for i in ids])
    assert found.same
    assert [(d.name, d.before, d.after) for d in found.around] == [("scores.official", "not measured", "measured")]


def test_official_scores_are_compared_where_both_runs_have_them(tmp_path: Path) -> None:
    old, new = (a_result("travel_01", official=an_official_card(passed=passed)) for passed in (True, False))
    (change,) = compared(tmp_path, [old], [new]).changes
    assert change.moved == (Moved(name="official.passed", before=True, after=False),)


def test_errors_are_compared_by_kind_and_cause(tmp_path: Path) -> None:
    old = a_result("travel_01", "error", cause="no line")
    (change,) = compared(tmp_path, [old], [replace(old, cause="quota")]).changes
    assert change.moved == (Moved(name="cause", before="no line", after="quota"),)
    assert not change.flipped


def test_items_in_one_run_only_are_named(tmp_path: Path) -> None:
    found = compared(
        tmp_path, [a_result("travel_01"), a_result("travel_02")], [a_result("travel_02"), a_result("travel_03")]
    )
    assert (found.compared, found.only_before, found.only_after) == (1, ("travel_01",), ("travel_03",))
    assert not found.same
    assert sentence(found) == "1 item compared: 1 is the same; 1 only in old; 1 only in new."
    two = [a_result("travel_01"), a_result("travel_02")]
    assert not compared(tmp_path / "more", two[:1], two).same
    assert not compared(tmp_path / "fewer", two, two[:1]).same


def test_a_run_without_trials_meets_the_first_trial_of_a_run_with(tmp_path: Path) -> None:
    plain = [a_result(name, "passed") for name in ("s1", "s2")]
    trials = [
        replace(row, item_id=f"{row.item_id}-{trial}", trial=trial, outcome="passed" if trial > 1 else "failed")
        for row in plain
        for trial in (1, 2)
    ]
    found = compared(tmp_path / "1", plain, trials)
    assert (found.compared, found.only_before, found.only_after) == (2, (), ("s1-2", "s2-2"))
    assert [(c.item_id, c.before, c.after) for c in found.changes] == [
        ("s1-1", "passed", "failed"),
        ("s2-1", "passed", "failed"),
    ]
    back = compared(tmp_path / "2", trials, plain)
    assert (back.compared, back.only_before, back.only_after) == (2, ("s1-2", "s2-2"), ())


def test_items_that_never_ran_are_compared_too(tmp_path: Path) -> None:
    old = a_run(tmp_path / "old", planned=(a_result("travel_01"),))
    new = a_run(tmp_path / "new", a_result("travel_01"))
    (change,) = compare_runs(load_run(old), load_run(new)).changes
    assert (change.before, change.after, change.flipped) == ("not_run", "passed", False)


def test_one_agent_meets_one_agent_and_among_several_each_meets_itself(tmp_path: Path) -> None:
    other = replace(AGENT, name="other", settings={"end_silence_s": 0.5})
    alone = compared(tmp_path / "alone", [a_result("travel_01")], [a_result("travel_01", agent=other)])
    assert alone.compared == 1
    assert [(d.name, d.before, d.after) for d in alone.around] == [
        ("agent.name", "local", "other"),
        ("agent.settings.end_silence_s", "0.8", "0.5"),
    ]
    many = compared(
        tmp_path / "many",
        [a_result("local-travel_01"), a_result("other-travel_01", agent=other)],
        [a_result("local-travel_01"), a_result("other-travel_01", agent=replace(other, name="third"))],
    )
    assert (many.compared, many.only_before, many.only_after) == (1, ("other-travel_01",), ("other-travel_01",))


def test_what_differs_around_the_scores_is_named_and_is_no_difference_of_scores(tmp_path: Path) -> None:
    old, new = a_result("travel_01"), a_result("travel_01", agent=replace(AGENT, clock="wall"))
    new = replace(new, facts=replace(new.facts, expect_sha256="3" * 64))
    for name, row, more in (("old", old, {"pytest": "8"}), ("new", new, {"pytest": "9"})):
        a_run(tmp_path / name, row)
        header = {"run": name, "versions": more, "rescored_from": "old" if name == "new" else None}
        write_plan(
            tmp_path / name, Plan(collected=1, items=(replace(row, outcome="not_run", scorecard=None),), header=header)
        )
    found = compare_runs(load_run(tmp_path / "old"), load_run(tmp_path / "new"))
    assert found.same
    text = comparison_text(found)
    for line in (
        "rescored_from: n/a -> old",
        "versions.pytest: 8 -> 9",
        "the clock of all items is not the same (virtual -> wall): their latencies cannot be compared",
        "the expectation of all items is not the same",
    ):
        assert line in text.splitlines()


def asking_other(row: Result) -> Result:
    """The item with another request under its name."""
    return replace(row, facts=replace(row.facts, scenario_sha256="4" * 64))


def of(agent: str, scenario: str, outcome: Outcome = "passed", *, prefixed: bool = True) -> Result:
    """The item of one agent out of several: its id begins with the agent's name."""
    row = a_result(scenario, outcome, agent=replace(AGENT, name=agent))
    return replace(row, item_id=f"{agent}-{scenario}") if prefixed else row


def test_another_request_under_the_same_name_is_listed_and_neither_passes_nor_moves(tmp_path: Path) -> None:
    old = [a_result("travel_01", "failed"), a_result("travel_02")]
    new = [asking_other(a_result("travel_01")), a_result("travel_02")]
    found = compared(tmp_path, old, new)
    assert (found.compared, found.changes, found.other_requests) == (1, (), ("travel_01",))
    assert not found.same
    assert sentence(found) == "1 item compared: 1 is the same; 1 could not be compared: another request."
    assert "another request under the same name, not compared: travel_01" in comparison_text(found).splitlines()


@pytest.mark.parametrize(
    ("new", "first", "last"),
    [
        (
            [asking_other(a_result("travel_01"))],
            "compare old -> new: nothing can be compared, items of the same name are other requests",
            "no item compared; 1 could not be compared: another request.",
        ),
        (
            [a_result("travel_02")],
            "compare old -> new: nothing can be compared, no item is in both runs",
            "no item compared; 1 only in old; 1 only in new.",
        ),
        (
            [of("third", "travel_01"), of("fourth", "travel_01")],
            "compare old -> new: nothing can be compared, no agent is in both runs: choose one with --agent NAME",
            "no item compared; 1 only in old; 2 only in new.",
        ),
    ],
)
def test_where_nothing_can_be_compared_the_first_line_says_so_and_the_status_is_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], new: list[Result], first: str, last: str
) -> None:
    a_run(tmp_path / "old", a_result("travel_01"))
    a_run(tmp_path / "new", *new)
    assert compare.run(["old", "new", "--reports", str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0], lines[-1]) == (first, last)


def test_an_agent_out_of_several_meets_its_namesake_of_a_run_of_one(tmp_path: Path) -> None:
    old = [of("local", "travel_01", "failed"), of("simulated", "travel_01")]
    found = compared(tmp_path, old, [of("local", "travel_01", prefixed=False)])
    assert (found.compared, found.only_before) == (1, ("simulated-travel_01",))
    assert [(c.before, c.after) for c in found.changes] == [("failed", "passed")]
    text = comparison_text(found)
    assert "agents: old has local and simulated, new has local; each meets the one of its name, --agent" in text


def test_the_speaker_tells_items_of_one_scenario_apart_whatever_their_ids(tmp_path: Path) -> None:
    old = [replace(a_result("travel_01"), item_id="travel_01-a"), a_result("travel_02")]
    other = a_result("travel_02")
    new = [a_result("travel_01"), replace(other, item_id="x", facts=replace(other.facts, speaker="b"))]
    found = compared(tmp_path, old, new)
    assert (found.compared, found.only_before, found.only_after) == (1, ("travel_02",), ("x",))


def test_the_agent_asked_for_meets_the_only_one_of_the_other_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_run(tmp_path / "two", of("local", "travel_01", "failed"), of("simulated", "travel_01"))
    a_run(tmp_path / "one", of("third", "travel_01", prefixed=False))
    arguments = ["two", "one", "--reports", str(tmp_path)]
    assert compare.run([*arguments, "--agent", "simulated"]) == 0
    assert compare.run([*arguments, "--agent", "local"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 item compared: 1 now passes, 0 are the same."
    for name, told in (
        ("nobody", "compare: no run has an agent 'nobody'; there are local, simulated, third"),
        ("third", "compare: two has no agent 'third'; it has local, simulated"),
    ):
        assert compare.run([*arguments, "--agent", name]) == 2
        assert capsys.readouterr().err.splitlines() == [told]


def test_a_score_of_another_version_is_named(tmp_path: Path) -> None:
    found = compared(tmp_path, [scored()], [scored(version=2)])
    assert [(d.name, d.before, d.after) for d in found.around] == [("scores", ["voicebench 1"], ["voicebench 2"])]
    assert not found.same


def test_the_text_is_a_table_that_ends_with_a_sentence(tmp_path: Path) -> None:
    spoke = Manners(turn_taken=True, interrupted=False)
    repaired = an_argument(actual="2026-06-03", verdict="match", cause=None)
    wrong = card(passed=False, args_ok=False, pairs=(an_argument(),), manners=spoke)
    right = card(passed=True, args_ok=True, pairs=(repaired,), manners=spoke)
    old = [a_result("travel_01", "failed", scorecard=wrong), a_result("travel_02"), a_result("travel_03")]
    new = [a_result("travel_01", "passed", scorecard=right), a_result("travel_02", "failed"), a_result("travel_03")]
    assert comparison_text(compared(tmp_path, old, new)) == (
        "compare old -> new\n"
        "\n"
        "item       outcome           what moved\n"
        "travel_01  failed -> passed  args_ok no -> yes,\n"
        "                             search_flights[0].date.actual 2026-06-01 -> 2026-06-03,\n"
        "                             search_flights[0].date mismatch -> match,\n"
        "                             search_flights[0].date.cause stale -> n/a\n"
        "travel_02  passed -> failed  args_ok yes -> no\n"
        "\n"
        "3 items compared: 1 now passes, 1 now fails, 1 is the same.\n"
    )


def test_no_line_is_wider_than_the_page_whatever_the_texts(tmp_path: Path) -> None:
    names = ["a" * 150, "b" * 20, "travel\x1b[31m", "日" * 60]
    old = [a_result(n, "error", cause="x" * 300, error_kind="infrastructure") for n in names]
    new = [a_result(n, "error", cause="日本 " * 90, error_kind="suite") for n in names]
    text = comparison_text(compared(tmp_path, old, new))
    assert max(columns(line) for line in text.splitlines()) <= 100
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("arguments", "status"), [(["old", "old"], 0), (["old", "new"], 1), (["old", "gone"], 2), (["old", "torn"], 2)]
)
def test_the_exit_status_says_whether_anything_moved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int
) -> None:
    a_run(tmp_path / "old", a_result("travel_01"))
    a_run(tmp_path / "new", a_result("travel_01", "failed"))
    (a_run(tmp_path / "torn", a_result("travel_01")) / "plan.json").write_text("{")
    assert compare.run([*arguments, "--reports", str(tmp_path)]) == status
    told = capsys.readouterr()
    assert (told.out == "") is (status == 2)
    assert len(told.err.splitlines()) == (1 if status == 2 else 0)


def test_json_holds_everything_that_moved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_run(tmp_path / "old", a_result("travel_01"))
    a_run(tmp_path / "new", a_result("travel_01", "failed"))
    assert compare.run([str(tmp_path / "old"), str(tmp_path / "new"), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    (change,) = found["changes"]
    assert (found["before"], found["after"], found["compared"]) == ("old", "new", 1)
    assert (change["before"], change["after"]) == ("passed", "failed")
    assert {"name": "passed", "before": True, "after": False} in change["moved"]
