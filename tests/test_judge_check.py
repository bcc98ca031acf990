"""`judge-check`: the controls themselves, and the figures of judges whose mistakes are planted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from servers.judge_server import Play, Reply, Request, judge_server, verdict, yes

from pytest_voicebench.commands import judge_check
from pytest_voicebench.judging.agreement import agreement, cohens_kappa
from pytest_voicebench.judging.asking import Outcome
from pytest_voicebench.judging.controls import Control, load_controls
from pytest_voicebench.judging.verdicts import Verdict

CONTROLS = load_controls()
BY_RECORD = {control.prompt.messages[1]["content"]: control for control in CONTROLS}
HALF = len(CONTROLS) // 2
SPEC = "--judge=double,retries=0"

Checked = Callable[..., tuple[int, str]]


def control_of(request: Request) -> Control:
    return BY_RECORD["\n".join(request.lines)]


def right(request: Request) -> Reply:
    return verdict(request, control_of(request).label)


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Checked:
    """Exit status and output of the command against a double."""

    def check(play: Play, *more: str) -> tuple[int, str]:
        with judge_server(play) as double:
            monkeypatch.setenv("OPENAI_BASE_URL", double.url)
            monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-1")
            status = judge_check.run([SPEC, *more])
        return status, capfd.readouterr().out

    return check


def test_there_are_sixty_and_more_controls_half_of_each_question_hard_negatives() -> None:
    assert len(CONTROLS) >= 60
    assert len({c.id for c in CONTROLS}) == len(CONTROLS)
    assert len(BY_RECORD) == len(CONTROLS)
    counted = Counter((c.question, c.positive) for c in CONTROLS)
    assert len(counted) == 6
    assert all(counted[question, True] == counted[question, False] >= 10 for question, _ in counted)


@pytest.mark.parametrize("control", CONTROLS, ids=lambda c: c.id)
def test_a_control_is_whole_and_its_label_is_one_of_the_answers(control: Control) -> None:
    assert control.why
    assert control.user_request
    if control.question == "information":
        assert control.label is None or (type(control.label) is int and control.label < len(control.sentences))
    else:
        assert isinstance(control.label, bool)
    assert bool(control.tool) == (control.question == "argument")


def test_neither_always_yes_nor_always_no_nor_the_position_gets_more_than_half_of_the_controls() -> None:
    for answer in (True, False):
        asked = [c for c in CONTROLS if c.question != "information"]
        assert sum(c.label is answer for c in asked) * 2 == len(asked)
    asked = [c for c in CONTROLS if c.question == "information"]
    assert all(sum(c.label == n for c in asked) * 2 <= len(asked) for n in (0, 1, 2, 3, None))


def test_a_judge_that_is_always_right_has_a_kappa_of_one(check: Checked) -> None:
    status, text = check(right, "--json")
    data = json.loads(text)
    assert status == 0
    assert [f["kappa"] for f in data["figures"]] == [1.0] * 4
    assert [f["question"] for f in data["figures"]] == ["all", "response", "argument", "information"]
    accuracy = data["figures"][0]["accuracy"]
    assert (accuracy["k"], accuracy["n"], accuracy["value"], accuracy["high"]) == (2 * HALF, 2 * HALF, 1.0, 1.0)
    assert 0.94 < accuracy["low"] < 0.95
    assert (data["wrong"], data["stands"], data["unjudged_causes"]) == ([], True, {})
    assert (data["input_tokens"], data["cost"]) == (200 * HALF, None)
    assert data["judge"]["model"] == "double"


def test_a_judge_that_accepts_everything_is_found_out(check: Checked) -> None:
    status, text = check(yes, "--json")
    data = json.loads(text)
    assert status == 0
    by_question: dict[str, Any] = {f["question"]: f for f in data["figures"]}
    assert [f["kappa"] for f in data["figures"]] == [0.0] * 4  # a constant has no agreement beyond chance
    assert (by_question["all"]["false_accepts"]["k"], by_question["all"]["false_accepts"]["n"]) == (HALF, HALF)
    assert by_question["all"]["false_rejects"]["k"] == 0
    assert by_question["response"]["accuracy"]["value"] == 0.5


def test_a_judge_that_fails_now_and_then_is_measured_on_the_rest_and_does_not_stand(check: Checked) -> None:
    turn = iter([Reply(status=500), None] * HALF)
    status, text = check(lambda request: next(turn) or right(request))
    assert status == 1
    assert f"more than 2% unjudged ({HALF} http_error): these figures say nothing about the judge" in text
    assert f"{HALF}/{HALF}" in text


def test_what_was_got_wrong_is_named_with_its_trap(check: Checked) -> None:
    _, text = check(lambda r: verdict(r, True) if control_of(r).id == "a12" else right(r))
    (line,) = [line for line in text.splitlines() if line.startswith("  wrong:")]
    assert line == "  wrong: a12 argument: True, label False (another day): because"
    assert f"{2 * HALF - 1}/{2 * HALF}" in text
    assert "sk-secret" not in text


def test_a_judge_that_cannot_be_asked_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert judge_check.run(["--judge=m"]) == 2
    assert capsys.readouterr().err == (
        "judge-check: a judge needs OPENAI_API_KEY, or OPENAI_BASE_URL of an endpoint that asks for no key\n"
    )


KAPPAS = [
    ([("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15, 0.4),
    ([("y", "y")] * 3 + [("n", "n")] * 2, 1.0),
    ([("y", "n"), ("n", "y")], -1.0),
    ([("y", "y"), ("n", "y")], 0.0),
    ([("y", "y")] * 4, None),
    ([], None),
]


@pytest.mark.parametrize(("pairs", "kappa"), KAPPAS)
def test_kappa_is_agreement_beyond_chance(pairs: list[tuple[str, str]], kappa: float | None) -> None:
    assert cohens_kappa([pairs] if pairs else []) == (None if kappa is None else pytest.approx(kappa))


def test_the_first_sentence_is_not_the_same_as_no_or_false() -> None:
    first = next(c for c in CONTROLS if c.label == 0 and c.question == "information")
    none = next(c for c in CONTROLS if c.label is None)
    said = [Outcome(verdict=Verdict(answer=answer, reason="")) for answer in (None, 0)]
    found = agreement("information", [first, none], said)
    assert (found.accuracy.k, found.false_rejects.k, found.false_accepts.k) == (0, 1, 1)
