"""summary.md: verdict first, what moved, worst items; safe and short whatever an agent wrote. Golden: see golden.py."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from failures import card
from golden import FOLDER, check_golden
from hypothesis import given
from hypothesis import strategies as st
from results import a_result
from summaries import a_mute_agent, a_summary, an_agent

from pytest_voicebench.counted import counted, noun_for
from pytest_voicebench.decisions import AgentComparison, BaselineComparison, GateResult, MetricComparison, Verdict
from pytest_voicebench.result import Result
from pytest_voicebench.scorecard import ArgumentScore, Pair
from pytest_voicebench.summary import Counts
from pytest_voicebench.trial_summary import Estimate, FlakyItem, PassOfK, TrialSummary
from pytest_voicebench.writers.markdown import markdown, verdict
from pytest_voicebench.writers.markdown_text import MOST_BYTES, MOST_LINES, escaped, table, within_limits
from pytest_voicebench.writers.reasons import severity, why

NAME = "<img src=x onerror=alert(1)> | `code` **b** _i_ [a](http://evil) @octocat #1 </table> $x$ &lt; www.evil.com"
HOSTILE = f"{NAME}\n# Heading\r\n| a | b |\n|---|---|\n@team"


def gate(holds: bool | None, expression: str = "pass_at_1 >= 0.55", **more: object) -> GateResult:
    values: dict[str, object] = {"agent": "local", "found": "0.600", "source": "--voicebench-gate"}
    return GateResult(expression=expression, holds=holds, **values | more)  # type: ignore[arg-type]


def metric(verdict: Verdict, **more: object) -> MetricComparison:
    values: dict[str, object] = {
        "metric": "pass_at_1",
        "method": "sign flip over scenarios",
        "worse": -1,
        "pairs": 95,
        "clusters": 79,
        "before": 0.71,
        "after": 0.6,
        "effect": -0.11,
        "low": -0.19,
        "high": -0.03,
        "p": 0.004,
        "p_corrected": 0.012,
        "detectable": -0.11,
    }
    return MetricComparison(verdict=verdict, **values | more)  # type: ignore[arg-type]


def compared(*metrics: MetricComparison, **more: object) -> BaselineComparison:
    agent = AgentComparison(
        name="local",
        before="local",
        metrics=metrics,
        newly_failed=("travel_19-b", "finance_02-a"),
        newly_passed=("x_1",),
    )
    values: dict[str, object] = {"run": "main-2026-11-28", "compared": 95, "agents": (agent,)}
    return BaselineComparison(**values | more)  # type: ignore[arg-type]


def newly_failed(*items: str) -> AgentComparison:
    return AgentComparison(name="local", before="local", metrics=(metric("regressed"),), newly_failed=items)


def trials() -> TrialSummary:
    half = Estimate(value=0.5, low=0.4, high=0.6, n=79)
    none = Estimate(value=None, low=None, high=None, n=0)
    return TrialSummary(
        trials=2,
        items=79,
        always=40,
        never=30,
        unmeasured=0,
        passes=(
            PassOfK(k=1, pass_hat=half, pass_at=half, pass_hat_valid=half, pass_at_valid=half),
            PassOfK(k=2, pass_hat=half, pass_at=none, pass_hat_valid=half, pass_at_valid=half),
        ),
        flaky=(
            FlakyItem(
                item="travel_19-b", suite="fdb3", scenario_id="travel_19", speaker="b", passed=1, failed=1, unmeasured=0
            ),
        ),
    )


def wrong(item_id: str, actual: str, accuracy: float = 0.0) -> Result:
    """A failed item whose agent gave this destination."""
    one = ArgumentScore(
        name="destination", expected="Milan", actual=actual, verdict="mismatch", strict=False, reason="x"
    )
    pair = Pair(expected=0, actual=0, tool="search_flights", arguments=(replace(one, cause="stale"),))
    return a_result(item_id, "failed", scorecard=card(passed=False, pairs=(pair,), argument_accuracy=accuracy))


RESULTS = [
    a_result("travel_01"),
    wrong("travel_02", "Rome"),
    wrong("travel_03", "Oslo", accuracy=0.5),
    a_result("travel_04", "error", cause="no connection within 30 s"),
]


def test_a_whole_summary_reads_like_this() -> None:
    summary = a_summary(
        an_agent(trials=trials()),
        gates=(gate(True), gate(False, "must_pass(travel_19)", found="failed", items=("travel_19-b",))),
        baseline=compared(metric("no_regression", metric="f1"), metric("regressed"), cautions=("other machine",)),
    )
    check_golden(FOLDER / "summary.md", markdown(summary, RESULTS).encode())


MEASURED = Counts(planned=95, passed=57, failed=38, error=0, skipped=0, not_run=0)
BESIDE = "failed, though all gates hold (1): 2 items could not be measured, 2 items never ran - "


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"gates": (gate(True), gate(False))},
            "failed: 1 of 2 gates fails; 2 items could not be measured, 2 items never ran - Pass@1 0.600 (",
        ),
        ({"gates": (gate(False), gate(False), gate(None))}, "failed: 2 of 3 gates fail; 2 items could not be measured"),
        ({"gates": (gate(True), gate(None))}, BESIDE.replace("all gates hold (1)", "no gate fails")),
        ({"gates": (gate(True), gate(None)), "counts": MEASURED}, "inconclusive: 1 of 2 gates cannot be told - "),
        (
            {"gates": (gate(True),), "baseline": compared(metric("regressed"))},
            BESIDE,
        ),
        ({"baseline": compared(metric("no_regression"), metric("regressed"))}, "regressed - "),
        ({"baseline": compared(metric("no_regression"), metric("regressed", asked=False))}, "no regression - "),
        ({"baseline": compared(metric("no_regression"), metric("inconclusive"))}, "inconclusive - "),
        ({"baseline": compared(metric("no_regression"))}, "no regression - "),
        ({"baseline": compared(refused="other score set")}, "not compared - "),
        ({}, "Pass@1 0.600 (0.50-0.69, 57/95)"),
        ({"agents": ()}, "nothing was scored"),
    ],
)
def test_the_verdict_stands_first(changes: dict[str, object], said: str) -> None:
    summary = replace(a_summary(), **changes)  # type: ignore[arg-type]
    assert verdict(summary).startswith(said)
    assert markdown(summary, []).startswith(f"## voicebench: {said}")


def test_what_the_figures_must_not_be_taken_for_stands_below_it() -> None:
    lines = markdown(a_summary(), []).splitlines()
    assert lines[2].startswith("> stimulus: synthetic - not comparable with published figures")


def test_gates_that_fail_stand_before_those_that_hold() -> None:
    text = markdown(a_summary(gates=(gate(True), gate(None), gate(False))), [])
    assert re.findall(r"^\| (\*\*fails\*\*|cannot be told|holds) ", text, re.MULTILINE) == [
        *("**fails**", "cannot be told", "holds"),
    ]


def test_a_refused_comparison_says_why() -> None:
    text = markdown(a_summary(baseline=compared(refused="scored by voicebench 9", agents=())), [])
    assert "Not compared: scored by voicebench 9" in text


def test_the_items_that_failed_by_most_come_first_and_errors_last() -> None:
    assert [r.item_id for r in sorted(RESULTS[1:], key=severity)] == ["travel_02", "travel_03", "travel_04"]
    assert why(RESULTS[1]) == 'search_flights.destination "Rome", not "Milan" (stale)'
    assert why(RESULTS[3]) == "infrastructure: no connection within 30 s"


def test_what_failed_since_the_baseline_stands_before_what_failed_there_too() -> None:
    text = markdown(a_summary(baseline=compared(agents=(newly_failed("travel_03"),))), RESULTS)
    table = text[text.index("### Worst items") :]
    assert re.findall(r"^\| `(\w+)` \| (.+?) \|", table, re.MULTILINE) == [
        ("travel_03", "**newly** failed"),
        ("travel_02", "failed"),
        ("travel_04", "error"),
    ]


@pytest.mark.parametrize(("number", "text"), [(0, "0 items"), (1, "1 item"), (2, "2 items")])
def test_a_number_has_its_noun(number: int, text: str) -> None:
    assert counted(number, "item") == text


def test_a_verb_follows_its_number() -> None:
    assert [counted(number, "fails", "fail") for number in (1, 2)] == ["1 fails", "2 fail"]
    assert noun_for(1, "shard") == "shard"


def test_agents_stand_in_rows_with_their_names() -> None:
    text = markdown(a_summary(an_agent("local"), a_mute_agent()), [])
    assert text.startswith("## voicebench: Pass@1 0.600 (0.50-0.69, 57/95) local, Pass@1 0.000 (0.00-0.79, 0/1) mute")
    assert re.search(r"^\| mute \| \*\*0\.000\*\* \| 0\.00-0\.79 \| 0/1 ", text, re.MULTILINE)


def harmless(text: str) -> None:
    """Nothing that GitHub or GitLab would act on, but for what this module writes itself."""
    bare = text.replace("<sub>", "").replace("</sub>", "")
    assert "<" not in bare
    assert not re.search(r"(?<!&)#\d", bare.replace("\u200b", "~"))
    assert not re.search(r"(?<!\w)@\w", bare)  # what stands within a word mentions nobody
    assert "://" not in bare.replace("://\u200b", "")
    assert "www.e" not in bare
    assert "\r" not in bare


def test_hostile_text_is_text_wherever_it_stands() -> None:
    result = wrong(HOSTILE, HOSTILE)
    summary = a_summary(
        an_agent(NAME, trials=replace(trials(), flaky=(replace(trials().flaky[0], item=HOSTILE),))),
        an_agent("other"),
        header={"run": HOSTILE, "judge": HOSTILE, "merged": HOSTILE, "shard": HOSTILE},
        notices=(HOSTILE,),
        gates=(gate(False, HOSTILE, agent=HOSTILE, found=HOSTILE, why=HOSTILE, items=(HOSTILE,)),),
        baseline=compared(
            metric("regressed", metric=HOSTILE, group=HOSTILE, why=HOSTILE),
            run=HOSTILE,
            cautions=(HOSTILE,),
            only_before=(HOSTILE,),
            changed=(HOSTILE,),
        ),
    )
    text = markdown(summary, [replace(result, agent=replace(result.agent, name=NAME))])
    harmless(text)
    tables = [line for line in text.splitlines() if line.startswith("|")]
    widths = [line.count("|") for line in tables]
    heads = [number for number, line in enumerate(tables) if set(line) <= set("|-:")]
    for head, end in zip(heads, [*heads[1:], len(tables) + 1], strict=True):
        assert len(set(widths[head - 1 : end - 1])) == 1


@given(st.text(max_size=300))
def test_escaped_text_is_one_line_without_active_characters(text: str) -> None:
    found = escaped(text)
    assert "\n" not in found
    assert not re.search(r"[<>|`*\[\]\\~!$]|(?<!\w)_|_(?!\w)", found)
    harmless(found)


def test_it_is_never_longer_than_a_comment_may_be() -> None:
    many = tuple(an_agent(f"agent {n} {HOSTILE}", trials=trials()) for n in range(60))
    bad = [replace(wrong(f"item_{n}", HOSTILE * 9)) for n in range(1000)]
    gates = tuple(gate(False, HOSTILE, found=HOSTILE, why=HOSTILE, items=(HOSTILE,) * 20) for _ in range(500))
    text = markdown(a_summary(*many, gates=gates, notices=(HOSTILE,) * 300), bad)
    assert len(text.splitlines()) <= MOST_LINES
    assert len(text.encode()) <= MOST_BYTES
    assert text.endswith("tells all)\n")


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), max_size=3000),
        max_size=300,
    )
)
def test_whole_lines_are_kept_within_the_limits(lines: list[str]) -> None:
    text = within_limits(lines, "and more")
    assert len(text.split("\n")) - 1 <= MOST_LINES
    assert len(text.encode("utf-8", "backslashreplace")) <= MOST_BYTES
    assert text == "\n".join(lines) + "\n" or text.endswith("\nand more\n")


def test_a_table_without_rows_is_nothing() -> None:
    assert table(("a", "b"), []) == []
    assert table(("a", "b"), [("1", "2")]) == ["| a | b |", "|---|---|", "| 1 | 2 |"]


def test_the_writer_takes_lone_surrogates(tmp_path) -> None:  # type: ignore[no-untyped-def]
    from pytest_voicebench.writers.markdown import write_markdown

    path = write_markdown(tmp_path, a_summary(an_agent("\ud800")), [])
    assert path.read_text("utf-8").startswith("## voicebench")
