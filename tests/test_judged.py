"""Verdicts summed up: denominators that follow the results, figures withheld, judges kept apart, and their table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from failures import card
from golden import FOLDER, check_golden
from test_saved_run import AGENT, a_result, a_run

from pytest_voicebench.codec import to_json
from pytest_voicebench.judgement import Asked, Cause, Judge, Judgement, judged_scores, questions_of
from pytest_voicebench.judgement_files import JUDGEMENTS_NAME, read_judgements, with_new, write_judgements
from pytest_voicebench.result import Result
from pytest_voicebench.saved_run import load_run
from pytest_voicebench.scorecard import ArgumentScore, Manners, Pair, Times
from pytest_voicebench.summarizing import summarize
from pytest_voicebench.summary import JudgedAgent, JudgeSummary
from pytest_voicebench.writers.summary_json import summary_schema
from pytest_voicebench.writers.terminal import render

JUDGE = Judge(model="m", host="h", prompt_version=1, prompt_sha256="ab" * 32, temperature=0.0)
OTHER = replace(JUDGE, prompt_version=2)
RESPONSE, INFORMATION = Asked(question="response"), Asked(question="information")
DATE = Asked(question="argument", tool="t", argument="date", expected="2026-06-03", actual="June 3")
CITY = Asked(question="argument", tool="t", argument="city", expected="Rome", actual="Oslo")


def argument(asked: Asked, verdict: str = "mismatch") -> ArgumentScore:
    """An argument as a matcher judged it."""
    values: dict[str, Any] = {"name": asked.argument, "verdict": verdict, "strict": False, "reason": ""}
    return ArgumentScore(expected=asked.expected, actual=asked.actual, **values)


def pair(*arguments: ArgumentScore, actual: int | None = 0) -> Pair:
    return Pair(expected=0, actual=actual, tool="t", arguments=arguments, matches=False)


def item(name: str, *pairs: Pair, spoke: bool = True, **changes: Any) -> Result:
    """A failed item with these pairs."""
    scorecard = replace(
        card(),
        passed=False,
        spoke=spoke,
        pairs=pairs,
        argument_accuracy=0.0 if pairs else None,
        manners=Manners(turn_taken=spoke, interrupted=False, clean_turn=spoke),
        times=Times(user_end_s=10.0),
    )
    return a_result(name, "failed", scorecard=scorecard, **changes)


def said(name: str, asked: Asked, answer: Any = None, *, judge: Judge = JUDGE, **changes: Any) -> Judgement:
    """A judgement; without an answer it is unjudged, unless the question is about information."""
    values: dict[str, Any] = {"judged_at": "2026-06-01T00:00:00Z", "input_tokens": 100, "output_tokens": 10}
    values |= {"sentence": answer} if asked.question == "information" else {"correct": answer}
    if answer is None and asked.question != "information":
        values["unjudged"] = "timeout"
    return Judgement(item_id=name, judge=judge, asked=asked, **values | changes)


def only(results: list[Result], judgements: list[Judgement]) -> tuple[JudgeSummary, JudgedAgent]:
    """The only judge's section and the only agent's row."""
    (section,) = summarize(results, None, judgements).judge
    (agent,) = section.agents
    return section, agent


def test_what_is_asked_follows_from_the_result() -> None:
    wrong = item("a", pair(argument(DATE), argument(CITY, "cannot_tell"), argument(CITY, "match")))
    assert questions_of(wrong) == (RESPONSE, INFORMATION, DATE, CITY)
    assert questions_of(item("a", pair(argument(DATE)), spoke=False)) == (DATE,)
    assert questions_of(item("a", pair(argument(DATE), actual=None))) == (RESPONSE, INFORMATION)
    assert questions_of(item("a", pair(argument(replace(DATE, actual=None))))) == (RESPONSE, INFORMATION)
    assert questions_of(item("a", pair(argument(DATE)), pair(argument(DATE)))) == (RESPONSE, INFORMATION, DATE)
    assert questions_of(a_result("a", "error")) == questions_of(a_result("a", "skipped")) == ()


def test_response_quality_is_over_all_valid_items_and_silence_is_zero() -> None:
    results = [item("a"), item("b"), item("c", spoke=False), a_result("d", "error")]
    _, agent = only(results, [said("a", RESPONSE, True), said("b", RESPONSE, False), *said_all_information("a", "b")])
    quality = agent.response_quality
    assert (quality.value, quality.n, quality.asked, quality.unjudged) == (pytest.approx(1 / 3), 3, 2, 0)
    assert (quality.least, quality.most) == (quality.value, quality.value)


def said_all_information(*names: str) -> list[Judgement]:
    return [said(name, INFORMATION, 0) for name in names]


@pytest.mark.parametrize(("missing", "withheld"), [(0, False), (1, False), (2, True), (50, True)])
def test_above_two_percent_unjudged_the_figure_is_withheld_and_its_bounds_are_not(missing: int, withheld: bool) -> None:
    results = [item(f"i{n}") for n in range(50)]
    rows = [said(f"i{n}", RESPONSE, None if n < missing else True) for n in range(50)]
    section, agent = only(results, rows + said_all_information(*(f"i{n}" for n in range(50))))
    quality = agent.response_quality
    assert (quality.value is None, quality.low is None) == (withheld, withheld)
    assert quality.withheld == (f"{missing} of 50 unjudged, more than 2%" if withheld else None)
    assert (quality.least, quality.most) == (pytest.approx((50 - missing) / 50), 1.0)
    assert quality.n == 50 - missing
    assert agent.information_said.value == 1.0
    assert section.unjudged_causes == ({"timeout": missing} if missing else {})


def test_a_question_nobody_answered_is_unjudged_and_not_forgotten() -> None:
    section, agent = only([item("a"), item("b")], [said("a", RESPONSE, True), said("a", INFORMATION, 0)])
    assert (section.asked, section.judged, section.unjudged) == (4, 2, 2)
    assert section.unjudged_causes == {"not_asked": 2}
    assert agent.response_quality.withheld == "1 of 2 unjudged, more than 2%"


def test_a_verdict_on_another_value_than_the_result_now_holds_is_not_used() -> None:
    result = item("a", pair(argument(replace(DATE, expected="2026-06-04"))), spoke=False)
    section, agent = only([result], [said("a", DATE, True)])
    assert section.unjudged_causes == {"not_asked": 1}
    assert (agent.argument_accuracy.value, agent.argument_accuracy.least, agent.argument_accuracy.most) == (None, 0, 1)


ACCURACIES = [
    ("one same, one not", [pair(argument(DATE)), pair(argument(CITY))], {DATE: True, CITY: False}, 0.5),
    ("both in one call", [pair(argument(DATE), argument(CITY))], {DATE: True, CITY: False}, 0.0),
    ("both same", [pair(argument(DATE), argument(CITY))], {DATE: True, CITY: True}, 1.0),
    ("matched, no question", [pair(argument(DATE, "match"))], {}, 1.0),
    ("a call never made", [pair(argument(DATE, "match")), pair(actual=None)], {}, 0.5),
    ("a missing argument", [pair(argument(replace(DATE, actual=None)))], {}, 0.0),
]


@pytest.mark.parametrize(
    ("pairs", "verdicts", "value"), [row[1:] for row in ACCURACIES], ids=[r[0] for r in ACCURACIES]
)
def test_judged_argument_accuracy_counts_calls_as_the_exact_one_does(
    pairs: list[Pair], verdicts: dict[Asked, bool], value: float
) -> None:
    _, agent = only(
        [item("a", *pairs, spoke=False), item("b")],
        [said("a", asked, answer) for asked, answer in verdicts.items()]
        + [said("b", RESPONSE, True), said("b", INFORMATION, 0)],
    )
    assert (agent.argument_accuracy.value, agent.argument_accuracy.n) == (value, 1)
    assert agent.argument_accuracy.low is None  # a mean of shares has no Wilson interval
    assert (agent.argument_accuracy_exact.value, agent.argument_accuracy_exact.n) == (0.0, 1)


def test_the_latency_of_the_information_is_from_the_users_end_to_its_sentence() -> None:
    results = [item("a"), item("b"), item("c")]
    rows = [said(name, RESPONSE, True) for name in "abc"]
    rows += [said("a", INFORMATION, 1, sentence_at_s=12.5), said("b", INFORMATION, 0), said("c", INFORMATION)]
    _, agent = only(results, rows)
    assert (agent.information_latency_s.mean, agent.information_latency_s.n) == (2.5, 1)
    assert (agent.information_said.value, agent.information_said.n) == (pytest.approx(2 / 3), 3)


def test_the_dates_of_a_judge_are_those_of_its_verdicts() -> None:
    late = {"judged_at": "2026-07-01T00:00:00Z"}
    rows = [said("a", RESPONSE, True), said("a", INFORMATION, 0), said("b", RESPONSE, **late)]
    (section,) = summarize([item("a"), item("b")], None, rows).judge
    assert (section.judged_from, section.judged_until) == ("2026-06-01T00:00:00Z", "2026-06-01T00:00:00Z")


def test_an_interrupted_turn_has_no_latency_of_the_information() -> None:
    clean = item("a")
    assert clean.scorecard is not None
    manners = Manners(turn_taken=True, interrupted=True, clean_turn=False)
    rude = replace(clean, item_id="b", scorecard=replace(clean.scorecard, manners=manners))
    rows = [said(name, RESPONSE, True) for name in "ab"]
    rows += [said(name, INFORMATION, 1, sentence_at_s=12.5) for name in "ab"]
    _, agent = only([clean, rude], rows)
    assert (agent.information_latency_s.mean, agent.information_latency_s.n) == (2.5, 1)
    assert agent.information_said.n == 2


def test_two_judges_are_two_sections_also_where_only_the_prompts_differ() -> None:
    rows = [said("a", RESPONSE, True), said("a", INFORMATION, 0)]
    others = [replace(said("a", RESPONSE, False), judge=OTHER)]
    first, second = summarize([item("a")], None, rows + others).judge
    assert (first.judge, first.agents[0].response_quality.value) == (JUDGE, 1.0)
    assert (second.judge, second.agents[0].response_quality.value) == (OTHER, 0.0)
    assert second.unjudged_causes == {"not_asked": 1}


def test_agents_are_judged_apart() -> None:
    results = [item("a"), item("b", agent=replace(AGENT, settings={"end_silence_s": 1.0}))]
    rows = [said("a", RESPONSE, True), said("b", RESPONSE, False), *said_all_information("a", "b")]
    summary = summarize(results, None, rows)
    assert [a.response_quality.value for a in summary.judge[0].agents] == [1.0, 0.0]
    assert [a.settings["end_silence_s"] for a in summary.agents] == [0.8, 1.0]


COSTS = [((0.5, 0.25), 0.75), ((0.5, None), None), ((None, None), None), ((0.0, 0.0), 0.0)]


@pytest.mark.parametrize(("costs", "total"), COSTS)
def test_there_is_a_cost_only_where_all_of_it_is_known(costs: tuple[float | None, ...], total: float | None) -> None:
    rows = [said("a", asked, 0, cost=cost) for asked, cost in zip((RESPONSE, INFORMATION), costs, strict=True)]
    section, _ = only([item("a")], rows)
    assert (section.cost, section.input_tokens, section.output_tokens) == (total, 200, 20)


def test_scores_of_one_item_can_be_looked_up_by_what_was_asked() -> None:
    result = item("a", pair(argument(DATE), argument(CITY)))
    rows = [said("a", RESPONSE, True), said("a", DATE, True), said("b", CITY, True), said("a", CITY, judge=OTHER)]
    scores = judged_scores(result, rows, JUDGE)
    assert scores.response_quality == 1
    assert scores.same_meaning("t", "date", "2026-06-03", "June 3") is True
    assert scores.same_meaning("t", "city", "Rome", "Oslo") is None
    assert scores.same_meaning("t", "date", "2026-06-03", "June 4") is None
    assert judged_scores(item("a", spoke=False), [], JUDGE).response_quality == 0
    assert judged_scores(result, [said("a", RESPONSE)], JUDGE).response_quality is None


def test_one_and_true_and_the_text_of_one_are_different_questions() -> None:
    keys = {replace(DATE, actual=value).key for value in (1, 1.0, True, "1", None)}
    assert len(keys) == 5


def test_a_judge_asked_again_replaces_what_it_said_and_nothing_else(tmp_path: Path) -> None:
    old = [said("a", RESPONSE, True), replace(said("a", RESPONSE, True), judge=OTHER)]
    write_judgements(tmp_path, with_new(old, [said("a", RESPONSE, False)], JUDGE))
    found = read_judgements(tmp_path)
    assert [(j.judge, j.correct) for j in found.judgements] == [(OTHER, True), (JUDGE, False)]
    assert found.notes == ()


@pytest.mark.parametrize("cause", ["connection", "given_up", "interrupted"])
def test_a_verdict_stands_where_nobody_answers_when_asked_again(cause: Cause) -> None:
    old = [said("a", RESPONSE, True), said("b", RESPONSE, False)]
    nobody = replace(said("a", RESPONSE, True), correct=None, unjudged=cause)
    elsewhere = replace(nobody, judge=OTHER)
    assert with_new(old, [nobody], JUDGE) == (old[0],)
    assert with_new(old, [elsewhere], OTHER) == (*old, elsewhere)
    cut = replace(nobody, unjudged="cut")
    assert with_new(old, [cut], JUDGE) == (cut,)


@pytest.mark.parametrize("bad", [b'{"item_id": "a', b"[]", b'{"item_id": "a"}', b"\xff", b"EMPTY"])
def test_a_damaged_line_is_noted_and_its_question_unjudged(tmp_path: Path, bad: bytes) -> None:
    folder = a_run(tmp_path / "r", item("a"))
    write_judgements(folder, [said("a", RESPONSE, True)])
    with (folder / JUDGEMENTS_NAME).open("ab") as file:
        line = (folder / JUDGEMENTS_NAME).read_bytes().replace(b'"correct":true', b'"correct":null').strip()
        file.write((line if bad == b"EMPTY" else bad) + b"\n")
    run = load_run(folder)
    assert len(run.notes) == 1
    assert "judgements.jsonl:2" in run.notes[0]
    assert run.summary().judge[0].unjudged_causes == {"not_asked": 1}
    assert run.header["judge"] == "m at h"


def test_a_run_without_judgements_has_no_section(tmp_path: Path) -> None:
    run = load_run(a_run(tmp_path / "r", item("a")))
    assert run.summary().judge == ()
    assert "judge" not in run.header


def judged_run() -> tuple[list[Result], list[Judgement]]:
    """Sixty items: one in doubt, one without verdict on the sentence."""
    results = [item(f"i{n}", pair(argument(DATE))) for n in range(60)]
    rows = [said(f"i{n}", RESPONSE, n % 3 > 0, output_format="json_schema", cost=0.001) for n in range(60)]
    rows += [said(f"i{n}", DATE, n > 3, cached=True, cost=0.0, input_tokens=0, output_tokens=0) for n in range(60)]
    rows += [said(f"i{n}", INFORMATION, 0, cost=0.001, sentence_at_s=12.0) for n in range(58)]
    rows += [said("i58", INFORMATION, unjudged="cut", cost=0.001), said("i59", INFORMATION, unjudged="cut", cost=0.001)]
    return results, rows


def test_the_table_of_a_judge_looks_as_it_did() -> None:
    results, rows = judged_run()
    text = render(summarize(results, {"judge": "m at h"}, rows), color=False)
    check_golden(FOLDER / "terminal_judge.txt", text[text.index("Judge m at h") :].encode())


def test_a_judged_summary_fits_the_schema() -> None:
    results, rows = judged_run()
    jsonschema.validate(to_json(summarize(results, None, rows)), summary_schema())
