"""How far a judge agrees with the labels of the controls: accuracy, false accepts and rejects, Cohen's kappa."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pytest_voicebench.judging.asking import Outcome
from pytest_voicebench.judging.controls import Control
from pytest_voicebench.stats import wilson_interval

Answer = bool | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """k of n with the 95 % Wilson interval; `value`, `low` and `high` are None for n = 0."""

    k: int
    n: int
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One question's controls, or all. The unjudged count in `controls` and nowhere else.

    accuracy: right answers of the judged. false_accepts: of judged controls whose answer is false or None, those that
    were accepted. false_rejects: of judged controls whose answer is true or a sentence, those rejected. Another
    sentence than the right one is neither; it is wrong in accuracy and kappa. kappa: see `cohens_kappa`.
    """

    question: str
    controls: int
    judged: int
    unjudged: int
    accuracy: Share
    false_accepts: Share
    false_rejects: Share
    kappa: float | None


def agreement(question: str, controls: Sequence[Control], outcomes: Sequence[Outcome]) -> Agreement:
    """What the outcomes, one for each control, say about the judge."""
    judged = [(c, o.verdict.answer) for c, o in zip(controls, outcomes, strict=True) if o.verdict is not None]
    negative = [_accepts(answer) for control, answer in judged if not control.positive]
    positive = [not _accepts(answer) for control, answer in judged if control.positive]
    return Agreement(
        question=question,
        controls=len(controls),
        judged=len(judged),
        unjudged=len(controls) - len(judged),
        accuracy=_share([_same(control.label, answer) for control, answer in judged]),
        false_accepts=_share(negative),
        false_rejects=_share(positive),
        kappa=cohens_kappa(_by_question(judged)),
    )


def _by_question(judged: Sequence[tuple[Control, Answer]]) -> list[list[tuple[str, str]]]:
    pairs: dict[str, list[tuple[str, str]]] = {}
    for control, answer in judged:
        pairs.setdefault(control.question, []).append((_category(control.label), _category(answer)))
    return list(pairs.values())


def cohens_kappa(groups: Sequence[Sequence[tuple[str, str]]]) -> float | None:
    """Agreement beyond chance of two raters, (p_o - p_e) / (1 - p_e), of pairs (one's category, the other's).

    Chance is counted within each group and weighted by size: a judge that always says the same has 0, however many
    kinds of question are put together. None for no pairs, and where chance alone gives full agreement. Source: Cohen,
    Educ. Psychol. Meas. 20 (1960) 37-46.
    """
    n = sum(map(len, groups))
    if n == 0:
        return None
    observed = Fraction(sum(a == b for group in groups for a, b in group), n)
    expected = sum(map(_agreeing_by_chance, groups), Fraction(0)) / n
    return None if expected == 1 else float((observed - expected) / (1 - expected))


def _agreeing_by_chance(pairs: Sequence[tuple[str, str]]) -> Fraction:
    """How many of the pairs would agree if each rater drew from its own categories."""
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    return Fraction(sum(first[category] * second[category] for category in first), len(pairs))


def _share(flags: Sequence[bool]) -> Share:
    k, n = sum(flags), len(flags)
    low, high = wilson_interval(k, n) or (None, None)
    return Share(k=k, n=n, value=k / n if n else None, low=low, high=high)


def _accepts(answer: Answer) -> bool:
    return answer is not None and answer is not False


def _same(label: Answer, answer: Answer) -> bool:
    return _category(label) == _category(answer)


def _category(answer: Answer) -> str:
    """0 and false are two answers."""
    return repr(answer)
