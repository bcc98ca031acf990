"""`judge-check --judge=MODEL`: measure a judge against labelled controls before its figures are believed."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_voicebench.codec import dump_json
from pytest_voicebench.commands.judge import JUDGE_HELP, print_progress
from pytest_voicebench.commands.report import print_bytes
from pytest_voicebench.judgement import Judge
from pytest_voicebench.judging.agreement import Agreement, Share, agreement
from pytest_voicebench.judging.asking import Outcome, ask_all
from pytest_voicebench.judging.cache import VerdictCache
from pytest_voicebench.judging.controls import Control, load_controls
from pytest_voicebench.judging.prompts import QUESTIONS
from pytest_voicebench.judging.settings import JudgeSettingsError, endpoint_of, judge_of, parse_judge
from pytest_voicebench.summarizing.official_judged import MOST_UNJUDGED
from pytest_voicebench.writers.grid import Grid, grid_lines, plain
from pytest_voicebench.writers.plain_text import encodable, one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """A control that the judge got wrong, with the trap it holds and what the judge said."""

    id: str
    question: str
    label: bool | int | None
    answer: bool | int | None
    why: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The outcome of one check of one judge. `stands` is False where more than 2 % of the controls are unjudged."""

    judge: Judge
    checked_at: str
    stands: bool
    figures: tuple[Agreement, ...]
    unjudged_causes: dict[str, int]
    input_tokens: int
    output_tokens: int
    cost: float | None
    wrong: tuple[Wrong, ...] = field(default=())


def run(argv: list[str]) -> int:
    """Ask every control and print the figures (0); 1 where too many are unjudged, 2 with one line if nobody can be
    asked, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m pytest_voicebench judge-check", description=__doc__)
    parser.add_argument("--judge", required=True, metavar="MODEL[,KEY=VALUE...]", help=JUDGE_HELP)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="reuse and keep answers (default: ask everything)")
    options = parser.parse_args(argv)
    try:
        settings, endpoint = parse_judge(options.judge), endpoint_of()
        controls = load_controls()
        prompts = [control.prompt for control in controls]
        outcomes = ask_all(prompts, settings, endpoint, VerdictCache(folder=options.cache), print_progress)
    except JudgeSettingsError as error:
        print(one_line(f"judge-check: {error}"), file=sys.stderr)
        return 2
    tokens = sum(o.input_tokens for o in outcomes), sum(o.output_tokens for o in outcomes)
    check = check_of(judge_of(settings, endpoint), controls, outcomes, settings.cost(*tokens))
    if options.json:
        print_bytes(dump_json(check, indent=2) + b"\n")
    else:
        for line in _lines(check):
            print(encodable(one_line(line), sys.stdout.encoding))
    return 130 if "interrupted" in check.unjudged_causes else int(not check.stands)


def check_of(judge: Judge, controls: Sequence[Control], outcomes: Sequence[Outcome], cost: float | None) -> Check:
    """The figures of each question and of all, and what was got wrong."""
    causes = Counter(str(o.unjudged) for o in outcomes if o.unjudged)
    return Check(
        judge=judge,
        checked_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        stands=causes.total() <= MOST_UNJUDGED * len(controls),
        figures=tuple(_figures(controls, outcomes)),
        unjudged_causes=dict(sorted(causes.items())),
        input_tokens=sum(o.input_tokens for o in outcomes),
        output_tokens=sum(o.output_tokens for o in outcomes),
        cost=cost,
        wrong=tuple(_wrong(controls, outcomes)),
    )


def _figures(controls: Sequence[Control], outcomes: Sequence[Outcome]) -> Iterator[Agreement]:
    both = list(zip(controls, outcomes, strict=True))
    for name in ("all", *QUESTIONS):
        some = [(c, o) for c, o in both if name in ("all", c.question)]
        yield agreement(name, [c for c, _ in some], [o for _, o in some])


def _wrong(controls: Sequence[Control], outcomes: Sequence[Outcome]) -> Iterator[Wrong]:
    for control, outcome in zip(controls, outcomes, strict=True):
        verdict = outcome.verdict
        if verdict is not None and repr(verdict.answer) != repr(control.label):
            yield Wrong(
                id=control.id,
                question=control.question,
                label=control.label,
                answer=verdict.answer,
                why=control.why,
                reason=verdict.reason,
            )


def _lines(check: Check) -> Iterator[str]:
    grid = Grid(
        title=f"Judge {check.judge.text}, checked {check.checked_at}",
        head=("", "accuracy", "95 % interval", "", "false accepts", "false rejects", "kappa", "unjudged"),
        rows=[_row(figures) for figures in check.figures],
        notes=list(_notes(check)),
    )
    yield from grid_lines(grid, width=110, paint=plain)
    for wrong in check.wrong:
        yield f"  wrong: {wrong.id} {wrong.question}: {wrong.answer}, label {wrong.label} ({wrong.why}): {wrong.reason}"


def _row(figures: Agreement) -> tuple[str, ...]:
    kappa = "n/a" if figures.kappa is None else f"{figures.kappa:.2f}"
    accuracy = figures.accuracy
    value = "n/a" if accuracy.value is None else f"{accuracy.value:.3f}"
    unjudged = f"{figures.unjudged}/{figures.controls}"
    accepts, rejects = _share_text(figures.false_accepts), _share_text(figures.false_rejects)
    return (
        figures.question,
        value,
        _interval(accuracy),
        f"{accuracy.k}/{accuracy.n}",
        accepts,
        rejects,
        kappa,
        unjudged,
    )


def _interval(share: Share) -> str:
    return "" if share.low is None or share.high is None else f"{share.low:.2f}-{share.high:.2f}"


def _share_text(share: Share) -> str:
    interval = _interval(share)
    return f"{share.k}/{share.n}" + (f" {interval}" if interval else "")


def _notes(check: Check) -> Iterator[str]:
    if not check.stands:
        causes = ", ".join(f"{number} {cause}" for cause, number in check.unjudged_causes.items())
        yield f"more than {MOST_UNJUDGED:.0%} unjudged ({causes}): these figures say nothing about the judge"
    yield "accuracy, accepts, rejects and kappa are over judged controls; half of all are hard negatives"
    cost = "" if check.cost is None else f", cost {check.cost:.4f}"
    yield f"tokens: {check.input_tokens} in, {check.output_tokens} out{cost}"
