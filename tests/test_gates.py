"""Whether a gate holds: what is counted, what cannot be told, and what it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from results import AGENT, a_result, a_run
from strict_junit import strict_errors

from pytest_voicebench.__main__ import main
from pytest_voicebench.commands.gate_options import decided_or_kept, write_decisions
from pytest_voicebench.decisions import GateResult
from pytest_voicebench.gating import (
    Asked,
    GateError,
    allows_errors,
    check_names,
    check_trials,
    decided,
    decided_status,
    parse_gate,
    scenario_names,
)
from pytest_voicebench.outcome import gates_outcome
from pytest_voicebench.page.write import write_page
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import append_result
from pytest_voicebench.saved_run import load_run
from pytest_voicebench.summarizing.groups import groups_of_items
from pytest_voicebench.summary import Counts
from pytest_voicebench.writers.junit import append_gates, write_junit
from pytest_voicebench.writers.junit_properties import run_properties
from pytest_voicebench.writers.markdown import markdown
from pytest_voicebench.writers.summary_json import load_summary, write_summary
from pytest_voicebench.writers.terminal import render
from pytest_voicebench.writers.terminal_decisions import decision_headlines


def item(n: int, outcome: Any = "passed", *, scenario: str | None = None, **facts: Any) -> Result:
    result = a_result(f"s{n}", outcome)
    return replace(result, facts=replace(result.facts, **({"scenario_id": scenario} if scenario else {}), **facts))


ROWS = (
    *(item(n, difficulty="easy", speaker="a") for n in range(6)),
    *(item(n, "failed", difficulty="hard", disfluency=("filler",), speaker="b") for n in range(6, 8)),
    item(8, "passed", scenario="twice", difficulty="hard", disfluency=(), speaker="a"),
    item(9, "failed", scenario="twice", difficulty="hard", disfluency=(), speaker="b"),
    item(10, "error", scenario="dead", difficulty="easy"),
)


def outcome(tmp_path: Path, expression: str, *rows: Result, **more: Any) -> GateResult:
    run = load_run(a_run(tmp_path / "run", *(rows or ROWS), **more))
    (found,) = decided(run, Asked(gates=(parse_gate(expression, "here"),))).gates
    return found


@pytest.mark.parametrize(
    ("expression", "holds", "found"),
    [
        ("pass_at_1 >= 0.7", True, "0.700 (7/10)"),
        ("pass_at_1 > 0.7", False, "0.700 (7/10)"),
        ("pass_at_1 < 0.7", False, "0.700 (7/10)"),
        ("pass_at_1 <= 0.7", True, "0.700 (7/10)"),
        ("hard.pass_at_1 >= 0.5", False, "0.250 (1/4)"),
        ("difficulty=hard.pass_at_1 >= 0.25", True, "0.250 (1/4)"),
        ("none.pass_at_1 >= 0.5", True, "0.500 (1/2)"),
        ("f1 >= 0.9", True, "1.000 (n=10)"),
        ("errors <= 1", True, "1"),
        ("errors == 0", False, "1"),
        ("hard.errors == 0", True, "0"),
        ("failed <= 2", False, "3"),
        ("first_response_latency_s.p95 <= 2", False, "n/a (n=0)"),
        ("hard.first_response_latency_s.p95 <= 2", None, "n/a (n=0)"),
        ("pass_hat_3 >= 0.9", False, "n/a (n=0)"),
        ("rollback_latency_s.p95 <= 2", None, "n/a (n=0)"),
        ("usd <= 5", None, "n/a"),
        ("premature_commit_rate <= 0.1", None, "n/a (n=0)"),
        ("must_pass(s0)", True, "1 of 1 passed"),
        ("must_pass(s0, s1)", True, "2 of 2 passed"),
        ("must_pass(twice)", False, "1 of 2 passed"),
        ("must_pass(s8)", True, "1 of 1 passed"),
        ("must_pass(dead)", None, "0 of 1 passed"),
        ("must_pass(dead, s6)", False, "0 of 2 passed"),
        ("no_regression(pass_at_1)", None, "n/a"),
    ],
)
def test_how_a_gate_comes_out(tmp_path: Path, expression: str, holds: bool | None, found: str) -> None:
    gate = outcome(tmp_path, expression)
    assert (gate.holds, gate.found) == (holds, found)
    assert (gate.expression, gate.agent, gate.source) == (expression, "local", "here")
    assert holds is not None or gate.why


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("usd <= 5", "nothing was measured"),
        ("must_pass(twice)", "s9 failed"),
        ("must_pass(dead)", "s10: error"),
        ("must_pass(nobody)", "nothing of it was in this run: nobody"),
        ("medium.f1 >= 0.1", "not in this run: there is no group medium"),
        ("esy.f1 >= 0.1", 'not in this run: there is no group esy; did you mean "easy"?'),
        ("no_regression(f1)", "no baseline: give one with --voicebench-baseline"),
    ],
)
def test_why_is_one_line(tmp_path: Path, expression: str, why: str) -> None:
    assert outcome(tmp_path, expression).why == why


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("travel_19", {"travel_19"}),
        ("travel_19-b", {"travel_19-b", "b"}),
        ("x-travel_19-b-2", {f"{agent}travel_19-b{n}" for agent in ("x-", "") for n in ("-2", "")} | {"b-2", "b", "2"}),
        ("a-b-c", {"a-b-c", "b-c", "c"}),
        ("travel_19-2", {"travel_19-2", "travel_19", "2"}),
        ("7", {"7"}),
    ],
)
def test_an_item_may_be_named_with_its_agent_and_its_trial(name: str, found: set[str]) -> None:
    assert scenario_names(name) == found


def test_a_group_name_that_several_kinds_have_cannot_be_told(tmp_path: Path) -> None:
    rows = [item(n, difficulty="easy", domain="easy") for n in range(3)]
    gate = outcome(tmp_path, "easy.f1 >= 0.5", *rows)
    assert (gate.holds, gate.why) == (
        None,
        "not in this run: easy may be domain=easy or difficulty=easy: write one of them",
    )
    assert outcome(tmp_path / "2", "domain=easy.f1 >= 0.5", *rows).holds is True


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("pass_at_1 >= 0.5", None),
        ("pass_at_1 >= 0.99", None),
        ("errors <= 1", None),  # the others may be errors
        ("errors <= 0", False),  # it is too many already
        ("must_pass(s0)", True),
        ("must_pass(s6)", False),
        ("must_pass(s99)", None),
    ],
)
def test_of_a_run_that_stopped_early_only_what_is_settled_is_told(
    tmp_path: Path, expression: str, holds: bool | None
) -> None:
    gate = outcome(tmp_path, expression, planned=(item(99),))
    assert gate.holds is holds
    if holds is None:
        assert gate.why in ("1 of 12 items never ran", "s99: not run")


def test_a_figure_that_seems_to_hold_is_shown_to_all_digits(tmp_path: Path) -> None:
    rows = [item(n, "passed" if n < 2 else "failed") for n in range(3)]
    assert outcome(tmp_path, "pass_at_1 >= 0.6667", *rows).why == "to all digits 0.6666666666666666"


@pytest.mark.parametrize(
    ("expression", "skipped", "holds"),
    [
        ("pass_at_1 >= 0.9", 99, None),
        ("f1 >= 0.9", 2, None),
        ("f1 >= 0.9", 1, True),  # half of them were measured
        ("f1 < 0.9", 99, False),
        ("failed <= 2", 99, None),
        ("passed >= 2", 99, False),
        ("skipped <= 2", 99, False),
        ("skipped >= 2", 99, True),
        ("errors <= 2", 99, True),
        ("hard.f1 >= 0.9", 99, None),
    ],
)
def test_what_less_than_half_of_the_items_say_holds_of_nothing(
    tmp_path: Path, expression: str, skipped: int, holds: bool | None
) -> None:
    gate = outcome(tmp_path, expression, item(0), *(item(n, "skipped") for n in range(1, skipped + 1)))
    assert gate.holds is holds
    assert holds is not None or gate.why == f"only 1 of {skipped + 1} items was measured"


def test_a_figure_of_which_a_run_measured_nothing_does_not_hold_but_what_nothing_calls_for_cannot_be_told(
    tmp_path: Path,
) -> None:
    taken_back = [item(n, has_retraction=True) for n in range(3)]
    unpriced = [replace(item(n), usd_unknown="no price") for n in range(3)]
    for at, (expression, rows, holds) in enumerate(
        [
            ("pass_at_1 >= 0.1", [item(n, "skipped") for n in range(3)], False),
            ("usd <= 5", unpriced, False),
            ("usd <= 5", [item(0)], None),
            ("premature_commit_rate <= 0.1", taken_back, True),
            ("premature_commit_rate <= 0.1", [item(0, "error", has_retraction=True)], False),
            ("premature_commit_rate <= 0.1", [item(0)], None),
            ("repaired_rate >= 0.9", taken_back, None),
        ]
    ):
        assert outcome(tmp_path / str(at), expression, *rows).holds is holds


@pytest.mark.parametrize(
    ("expression", "trials", "message"),
    [
        ("pass_hat_3 >= 0.9", 1, "column 1: the run holds each item once: --voicebench-trials=3"),
        ("pass_hat_1 >= 0.9", 1, "column 1: the run holds each item once: --voicebench-trials=2"),
        ("pass_at_5 >= 0.9", 3, "column 1: the run holds 3 trials of each item: --voicebench-trials=5"),
        ("pass_hat_3 >= 0.9", 3, None),
        ("pass_at_1 >= 0.9", 1, None),
        ("must_pass(s1)", 1, None),
    ],
)
def test_more_trials_than_are_held_are_a_mistake(expression: str, trials: int, message: str | None) -> None:
    told = None
    try:
        check_trials(parse_gate(expression), trials)
    except GateError as error:
        told = str(error)
    assert told == message


def test_every_gate_is_asked_of_every_agent(tmp_path: Path) -> None:
    other = [replace(item(n, "failed"), item_id=f"grok-s{n}", agent=replace(AGENT, name="grok")) for n in range(3)]
    run = load_run(a_run(tmp_path / "run", *(item(n) for n in range(3)), *other))
    gates = tuple(parse_gate(text) for text in ("pass_at_1 >= 0.5", "must_pass(s1)"))
    found = decided(run, Asked(gates=gates)).gates
    assert [(g.expression, g.agent, g.holds) for g in found] == [
        ("pass_at_1 >= 0.5", "grok", False),
        ("pass_at_1 >= 0.5", "local", True),
        ("must_pass(s1)", "grok", False),
        ("must_pass(s1)", "local", True),
    ]


@pytest.mark.parametrize(
    ("gates", "counts", "status"),
    [
        ([("f1 >= 0", True)], {}, 0),
        ([("f1 >= 0", True)], {"error": 1}, 1),
        ([("f1 >= 0", True)], {"not_run": 1}, 1),
        ([("f1 >= 0", True), ("errors <= 2", True)], {"error": 1}, 0),
        ([("errors <= 2", True)], {"error": 1, "not_run": 1}, 1),
        ([("hard.errors <= 2", True)], {"error": 1}, 1),
        ([("f1 >= 0", False)], {}, 1),
        ([("f1 >= 0", None)], {}, 0),
    ],
)
def test_items_that_were_not_measured_fail_a_run_whose_gates_hold(
    tmp_path: Path, gates: list[tuple[str, bool | None]], counts: dict[str, int], status: int
) -> None:
    rows = [
        GateResult(expression=e, agent="a", holds=h, found="", source="", limits_errors=allows_errors(parse_gate(e)))
        for e, h in gates
    ]
    some = Counts(**{"planned": 9, "passed": 9, "failed": 0, "error": 0, "skipped": 0, "not_run": 0, **counts})
    summary = replace(load_run(a_run(tmp_path / "run", *ROWS)).summary(), gates=tuple(rows), counts=some)
    assert decided_status(summary, Asked()) == status
    assert ("failed" in markdown(summary, ()).splitlines()[0]) == bool(status)


def test_a_bill_of_which_a_part_is_unknown_is_not_within_a_limit_and_may_be_over_one(tmp_path: Path) -> None:
    rows = [*(replace(item(n), usd=0.3) for n in range(2)), replace(item(3), usd_unknown="no price")]
    bounds = ("usd <= 5", "usd <= 0.5", "usd > 0.5", "usd > 5")
    asked = [outcome(tmp_path / str(n), text, *rows) for n, text in enumerate(bounds)]
    assert [gate.holds for gate in asked] == [None, False, True, None]
    assert asked[0].why == "the cost of 1 item is unknown"


def test_report_and_judge_keep_what_was_decided_where_they_ask_nothing(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", *ROWS, planned=(item(11),))
    write_junit(folder / "junit.xml", load_run(folder).results, load_run(folder).summary())
    decision = write_decisions(load_run(folder), Asked(gates=(parse_gate("pass_at_1 >= 0.9", "here"),)))
    assert decided_or_kept(load_run(folder), Asked()) == decision
    append_result(folder, item(11))
    assert decided_or_kept(load_run(folder), Asked()).gates == ()  # other counts: nothing was decided of them


@pytest.mark.parametrize(
    ("expression", "excuses"),
    [
        ("errors <= 2", True),
        ("errors < 2", True),
        ("errors == 0", True),
        ("errors >= 0", False),
        ("errors > 1", False),
        ("hard.errors <= 2", False),
        ("failed <= 2", False),
    ],
)
def test_only_a_gate_that_says_how_many_errors_there_may_be_at_most_excuses_them(
    expression: str, excuses: bool
) -> None:
    assert allows_errors(parse_gate(expression)) is excuses


HOLDS, UNTOLD, FAILS = (
    GateResult(expression="f1 >= 0", agent="local", holds=h, found="", source="") for h in (True, None, False)
)


@pytest.mark.parametrize(
    ("gates", "errors", "strict", "status", "said"),
    [
        ([FAILS, UNTOLD], 3, False, 1, "failed: 1 of 2 gates fails; 3 items could not be measured"),
        ([HOLDS, UNTOLD], 3, False, 1, "failed, though no gate fails: 3 items could not be measured"),
        ([HOLDS], 3, False, 1, "failed, though all gates hold (1): 3 items could not be measured"),
        ([HOLDS, UNTOLD], 0, True, 1, "failed (strict): 1 of 2 gates cannot be told"),
        ([HOLDS, UNTOLD], 0, False, 0, "inconclusive: 1 of 2 gates cannot be told"),
        ([HOLDS], 0, True, 0, "passed: all gates hold (1)"),
    ],
)
def test_every_output_says_in_one_sentence_what_the_exit_status_is(
    tmp_path: Path, gates: list[GateResult], errors: int, strict: bool, status: int, said: str
) -> None:
    run = load_run(
        a_run(tmp_path / "run", *(item(n) for n in range(9)), *(item(20 + n, "error") for n in range(errors)))
    )
    summary = replace(run.summary(), gates=tuple(gates))
    summary = replace(summary, header={**summary.header, "strict": strict})
    assert decided_status(summary, Asked(strict=strict)) == status
    assert markdown(summary, ()).startswith(f"## voicebench: {said} - ")
    assert said in write_page(run, summary).read_text()
    assert decision_headlines(summary)[0] == said
    assert run_properties(summary)["voicebench.verdict"] == said


def test_a_run_decided_strictly_says_so_in_its_files_later_too(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", *ROWS[:3])
    write_junit(folder / "junit.xml", load_run(folder).results, load_run(folder).summary())
    write_decisions(load_run(folder), Asked(gates=(parse_gate("usd <= 1", "here"),), strict=True))
    for text in ((folder / "junit.xml").read_text(), markdown(decided_or_kept(load_run(folder), Asked()), ())):
        assert "failed (strict): 1 of 1 gate cannot be told" in text


@pytest.mark.parametrize(("holds", "fails", "fails_strictly"), [(True, 0, 0), (None, 0, 1), (False, 1, 1)])
def test_what_cannot_be_told_fails_only_where_strict(holds: bool | None, fails: int, fails_strictly: int) -> None:
    gates = [GateResult(expression="f1 >= 0", agent="a", holds=h, found="", source="") for h in (True, holds)]
    measured = Counts(planned=9, passed=9, failed=0, error=0, skipped=0, not_run=0)
    assert (gates_outcome(gates, measured, strict=False).kind == "bad") == bool(fails)
    assert (gates_outcome(gates, measured, strict=True).kind == "bad") == bool(fails_strictly)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("hrad.f1 >= 0.5", 'column 1: there is no group hrad; did you mean "hard"?'),
        ("no_regression(hrad.f1)", 'column 15: there is no group hrad; did you mean "hard"?'),
        ("must_pass(s0, twise)", 'column 15: there is no scenario twise; did you mean "twice"?'),
        ("hard.usd <= 1", "column 1: usd is there for all items only"),
        ("speaker=c.f1 >= 0.5", 'column 1: there is no group speaker=c; did you mean "speaker=b"?'),
    ],
)
def test_names_that_no_scenario_has_are_told(expression: str, message: str) -> None:
    facts = [row.facts for row in ROWS]
    ids = [*(one.scenario_id for one in facts), *(row.item_id for row in ROWS)]
    with pytest.raises(GateError) as error:
        check_names(parse_gate(expression), groups_of_items(facts), ids)
    assert str(error.value) == message


@pytest.mark.parametrize(("gates", "asked"), [(["f1 >= 0.1"], "f1 >= 0.1"), ([], "comparison with the baseline")])
def test_deciding_that_breaks_off_fails_what_was_asked_and_keeps_the_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], gates: list[str], asked: str
) -> None:
    def broken(*_: object) -> None:
        raise OverflowError("too\nlarge")

    options = run_dir(tmp_path)
    monkeypatch.setattr("pytest_voicebench.gating.compare_with_baseline", broken)
    words = [word for gate in gates for word in ("--gate", gate)]
    a_run(tmp_path / "reports" / "rerun", *(item(n) for n in range(12)))
    assert main(["merge", "run", "--replace", "rerun", *options, *words]) == 1
    folder = tmp_path / "reports" / "run+rerun"
    (gate,) = load_summary(folder).gates
    assert (gate.expression, gate.holds) == (asked, False)
    assert gate.why == "deciding broke off, please report it: OverflowError: too\\nlarge"
    assert load_summary(folder).counts.passed == 60
    assert (folder / "junit.xml").read_text().count("voicebench.gates") == 1
    assert "deciding broke off" in capsys.readouterr().out


def test_more_than_a_thousand_items_that_moved_are_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    n = 1500
    a_run(tmp_path / "main", *(item(k, "passed" if k % 2 else "failed") for k in range(n)))
    a_run(tmp_path / "run", *(item(k, "failed" if k % 2 else "passed") for k in range(n)))
    asked = ["--baseline", str(tmp_path / "main"), "--gate", "no_regression(pass_at_1)"]
    assert main(["report", str(tmp_path / "run"), *asked]) == 0
    (gate,) = [line for line in capsys.readouterr().out.splitlines() if "no_regression(pass_at_1)" in line]
    assert "holds" in gate


# --- outputs ----------------------------------------------------------------------------------------------------------


def test_gates_are_test_cases_of_a_junit_file_once_and_counted(tmp_path: Path) -> None:
    path, run = tmp_path / "junit.xml", load_run(a_run(tmp_path / "run", *ROWS))
    gates = tuple(parse_gate(text) for text in ("f1 >= 0.5", "pass_at_1 >= 0.9", "usd <= 1"))
    summary = decided(run, Asked(gates=gates))
    write_junit(path, run.results, summary)
    for _ in range(2):
        append_gates(path, summary.gates, strict=False)
    assert strict_errors(path) == []
    text = path.read_text()
    assert text.count("voicebench.gates") == 3
    assert 'tests="14"' in text
    assert 'failures="4"' in text
    assert '<failure message="0.700 (7/10)" />' in text
    assert '<skipped message="cannot be told: n/a; nothing was measured" />' in text
    append_gates(path, summary.gates, strict=True)
    assert 'failures="5"' in path.read_text()
    assert strict_errors(path) == []


def test_what_was_decided_is_in_summary_json_and_read_back(tmp_path: Path) -> None:
    run = load_run(a_run(tmp_path / "run", *ROWS))
    base = load_run(a_run(tmp_path / "base", *ROWS))
    summary = decided(run, Asked(gates=(parse_gate("no_regression(pass_at_1)"),), baseline=base))
    write_summary(tmp_path, summary)
    again = load_summary(tmp_path)
    assert (again.baseline, again.gates) == (summary.baseline, summary.gates)
    assert again.gates[0].why == "these pairs would show a loss only from 63.4 points on"


def test_the_terminal_tells_the_comparison_and_the_gates_last(tmp_path: Path) -> None:
    before = load_run(a_run(tmp_path / "main", *(item(n) for n in range(60))))
    after = load_run(a_run(tmp_path / "run", *(item(n, "passed" if n >= 12 else "failed") for n in range(60))))
    texts = ("no_regression(pass_at_1, min_effect=0.05)", "must_pass(s20)", "pass_at_1 >= 0.99", "usd <= 1")
    summary = decided(after, Asked(gates=tuple(map(parse_gate, texts)), baseline=before))
    lines = render(summary, color=False).splitlines()
    assert max(map(len, lines)) <= 100
    at = lines.index("Against baseline main")
    assert lines[at + 2].split()[:5] == ["pass_at_1", "regressed", "1.000", "0.800", "-0.200"]
    assert "  newly failed (12): s0, s1, s10, s11, s2, s3, s4, s5 and 4 more" in lines
    gates = lines.index("Gates: 1 holds, 2 fail, 1 cannot be told")
    assert gates > at
    assert [line.split("  ")[1].strip() for line in lines[gates + 1 :] if line[2] != " "] == [
        "FAILS", "holds", "FAILS", "cannot be told",
    ]  # fmt: skip


def run_dir(tmp_path: Path) -> list[str]:
    before = a_run(tmp_path / "reports" / "main", *(item(n) for n in range(60)))
    a_run(tmp_path / "reports" / "run", *(item(n, "passed" if n >= 12 else "failed") for n in range(60)))
    return ["--reports", str(tmp_path / "reports"), "--baseline", str(before / "results.jsonl")]


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ([], 0),
        (["--gate", "pass_at_1 >= 0.8"], 0),
        (["--gate", "pass_at_1 >= 0.9"], 1),
        (["--gate", "no_regression(pass_at_1)", "--gate", "pass_at_1 >= 0.8"], 1),
        (["--gate", "usd <= 1"], 0),
        (["--gate", "usd <= 1", "--strict"], 1),
    ],
)
def test_report_takes_the_same_options_and_ends_as_gates_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int
) -> None:
    assert main(["report", "run", *run_dir(tmp_path), *arguments]) == status
    assert "Against baseline main" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gate", "pass_at1 >= 0.8"], "report: --gate 'pass_at1 >= 0.8': column 1: there is no metric pass_at1; did"),
        (["--gate", "must_pass(s999)"], "report: --gate 'must_pass(s999)': column 11: there is no scenario s999; did"),
        (["--baseline", "nothing"], "report: nothing: no such file, and no such run in "),
    ],
)
def test_a_wrong_option_of_report_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["report", "run", *run_dir(tmp_path), *arguments]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(message)
    assert printed.count("\n") == 1


def test_without_a_baseline_no_regression_is_refused_by_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = run_dir(tmp_path)[:2]
    assert main(["report", "run", *reports, "--gate", "no_regression(f1)"]) == 2
    assert capsys.readouterr().err == "report: --gate 'no_regression(f1)': needs --baseline FILE|RUN\n"


def test_a_merge_is_held_against_gates_as_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = run_dir(tmp_path)
    a_run(tmp_path / "reports" / "rerun", *(item(n) for n in range(12)))
    gates = ["--gate", "no_regression(pass_at_1)", "--gate", "pass_at_1 >= 0.99"]
    assert main(["merge", "run", "--replace", "rerun", *options, *gates]) == 0
    folder = tmp_path / "reports" / "run+rerun"
    assert [gate.holds for gate in load_summary(folder).gates] == [True, True]
    assert (folder / "junit.xml").read_text().count("voicebench.gates") == 2
    assert "Gates: 2 hold" in capsys.readouterr().out


def test_further_metrics_are_shown_and_do_not_make_a_run_a_regression(tmp_path: Path) -> None:
    before = [item(n) for n in range(60)]
    mute = [replace(row.scorecard, manners=replace(row.scorecard.manners, turn_taken=False)) for row in before]
    after = [replace(row, scorecard=mute[n] if n < 20 else row.scorecard) for n, row in enumerate(before)]
    runs = load_run(a_run(tmp_path / "main", *before)), load_run(a_run(tmp_path / "run", *after))
    summary = decided(runs[1], Asked(baseline=runs[0]))
    assert summary.baseline is not None
    metrics = {row.metric: row for row in summary.baseline.agents[0].metrics}
    assert [name for name, row in metrics.items() if row.asked] == ["pass_at_1"]
    assert metrics["turn_take_rate"].verdict == "regressed"
    assert decision_headlines(summary) == ["no regression"]
    asked = decided(runs[1], Asked(gates=(parse_gate("no_regression(turn_take_rate)"),), baseline=runs[0]))
    assert asked.baseline is not None
    assert [row.metric for row in asked.baseline.agents[0].metrics if row.asked] == ["turn_take_rate"]


def test_an_item_is_asked_of_the_agent_that_has_it_and_one_that_nobody_has_of_all(tmp_path: Path) -> None:
    two = [replace(item(0), item_id="x-s0"), replace(item(1), item_id="y-s1")]
    rows = [replace(row, agent=replace(AGENT, name=name)) for row, name in zip(two, "xy", strict=True)]
    run = load_run(a_run(tmp_path / "run", *rows))
    gates = decided(run, Asked(gates=(parse_gate("must_pass(x-s0)"), parse_gate("must_pass(z)")))).gates
    assert [(gate.expression, gate.agent, gate.holds) for gate in gates] == [
        ("must_pass(x-s0)", "x", True),
        ("must_pass(z)", "x", None),
        ("must_pass(z)", "y", None),
    ]


def test_two_agents_of_one_name_with_other_settings_are_asked_and_named_apart(tmp_path: Path) -> None:
    def rows(second: Any) -> list[Result]:
        agents = [replace(AGENT, settings={"pace": pace}) for pace in (1, 2)]
        kinds: list[Any] = ["passed", second]
        return [
            replace(item(n, kind), item_id=f"{number}-s{n}", agent=agent)
            for number, (agent, kind) in enumerate(zip(agents, kinds, strict=True))
            for n in range(10)
        ]

    before = load_run(a_run(tmp_path / "before", *rows("passed")))
    run = load_run(a_run(tmp_path / "run", *rows("failed")))
    gates = tuple(map(parse_gate, ("pass_at_1 >= 0.9", "no_regression(pass_at_1)", "must_pass(s0)")))
    summary = decided(run, Asked(gates=gates, baseline=before))
    assert [(gate.expression, gate.agent, gate.holds) for gate in summary.gates] == [
        (gate.expression, f"{AGENT.name} pace={pace}", pace == 1 and (gate is not gates[1] or None))
        for gate in gates
        for pace in (1, 2)
    ]
    shown = run_properties(summary)
    assert [shown[f"voicebench.{AGENT.name} pace={pace}.pass_at_1"] for pace in (1, 2)] == [1.0, 0.0]
    assert summary.baseline is not None
    assert [(agent.name, len(agent.newly_failed)) for agent in summary.baseline.agents] == [
        (f"{AGENT.name} pace=1", 0),
        (f"{AGENT.name} pace=2", 10),
    ]


def test_a_report_against_a_baseline_asks_the_runs_own_gates_again_and_all_files_keep_it(tmp_path: Path) -> None:
    before, after = a_run(tmp_path / "before", *ROWS), a_run(tmp_path / "after", *ROWS)
    run = load_run(after)
    write_junit(after / "junit.xml", run.results, run.summary())
    write_decisions(run, Asked(gates=(parse_gate("pass_at_1 >= 0.9", "--voicebench-gate"),)))
    assert main(["report", str(after), "--baseline", str(before)]) == 1
    found = load_summary(after)
    assert [(gate.expression, gate.holds) for gate in found.gates] == [("pass_at_1 >= 0.9", False)]
    assert found.baseline is not None
    assert found.baseline.run == "before"
    assert "pass_at_1 &gt;= 0.9" in (after / "junit.xml").read_text()
    assert main(["report", str(after)]) == 0
    assert load_summary(after) == found
