"""After a run: every question about every item to one judge, and judgements.jsonl in the run's folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_voicebench.conversation_files import ConversationUnreadable, load_conversation
from pytest_voicebench.judgement import Asked, Cause, Judge, Judgement, questions_of
from pytest_voicebench.judgement_files import read_judgements, with_new, write_judgements
from pytest_voicebench.judging.asking import INTERRUPTED, Outcome, Progress, ask_all
from pytest_voicebench.judging.cache import VerdictCache
from pytest_voicebench.judging.evidence import Evidence, evidence_of, record_of
from pytest_voicebench.judging.prompts import Prompt, prompt_for
from pytest_voicebench.judging.settings import Endpoint, JudgeSettings, judge_of
from pytest_voicebench.redacting import MARK
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import RunUnreadable, folder_of


@dataclass(frozen=True, slots=True, kw_only=True)
class _Posed:
    """A question about an item: its prompt, or the cause for which it cannot be put."""

    item_id: str
    asked: Asked
    evidence: Evidence | None = None
    prompt: Prompt | None = None
    cause: Cause | None = None
    detail: str = ""


def judge_run(
    run_folder: Path,
    results: Sequence[Result],
    settings: JudgeSettings,
    endpoint: Endpoint,
    *,
    cache: VerdictCache,
    interrupted: bool = False,
    progress: Progress = lambda done, total: None,
) -> tuple[Judgement, ...]:
    """Ask everything there is to ask about these results, write the answers and give all judgements of the run.

    Reads the saved conversations, changes no result. Where the run was `interrupted` nobody is asked and every question
    is unjudged for that cause. Verdicts of other judges are kept. Raises OSError where the file cannot be written.
    """
    judge = judge_of(settings, endpoint)
    posed = [one for result in results for one in _posed(run_folder, result)]
    prompts = [one.prompt for one in posed if one.prompt is not None]
    asked = [INTERRUPTED] * len(prompts) if interrupted else ask_all(prompts, settings, endpoint, cache, progress)
    outcomes = iter(asked)
    new = [
        _judgement(
            one,
            next(outcomes) if one.prompt is not None else Outcome(unjudged=one.cause, detail=one.detail),
            settings,
            judge,
        )
        for one in posed
    ]
    judgements = with_new(read_judgements(run_folder).judgements, new, judge)
    write_judgements(run_folder, judgements)
    return judgements


def _posed(run_folder: Path, result: Result) -> list[_Posed]:
    questions = questions_of(result)
    if not questions:
        return []
    try:
        evidence = evidence_of(load_conversation(folder_of(run_folder, result)))
    except (ConversationUnreadable, RunUnreadable):
        text = "the conversation cannot be read"
        return [_Posed(item_id=result.item_id, asked=q, cause="no_evidence", detail=text) for q in questions]
    return [_pose(result.item_id, asked, evidence) for asked in questions]


def _pose(item_id: str, asked: Asked, evidence: Evidence) -> _Posed:
    if asked.question != "argument" and not evidence.sentences:
        text = "the agent spoke and gave no text of it"
        return _Posed(item_id=item_id, asked=asked, cause="no_transcript", detail=text)
    if MARK in f"{asked.expected} {asked.actual}":
        text = "a value was redacted, and is not known any more"
        return _Posed(item_id=item_id, asked=asked, cause="no_evidence", detail=text)
    try:
        prompt = prompt_for(asked.question, record_of(asked, evidence))
    except (ValueError, RecursionError):  # 1e999 reads as infinite, and JSON has no way to write that
        text = "the conversation holds a value that cannot be written as JSON"
        return _Posed(item_id=item_id, asked=asked, cause="no_evidence", detail=text)
    return _Posed(item_id=item_id, asked=asked, evidence=evidence, prompt=prompt)


def _judgement(posed: _Posed, outcome: Outcome, settings: JudgeSettings, judge: Judge) -> Judgement:
    return Judgement(
        item_id=posed.item_id,
        judge=judge,
        asked=posed.asked,
        **_answer(posed, outcome),  # type: ignore[arg-type]
        unjudged=outcome.unjudged,
        detail=outcome.detail,
        judged_at=outcome.judged_at,
        cached=outcome.cached,
        input_tokens=outcome.input_tokens,
        output_tokens=outcome.output_tokens,
        cost=settings.cost(outcome.input_tokens, outcome.output_tokens),
        output_format=outcome.output_format,
    )


def _answer(posed: _Posed, outcome: Outcome) -> dict[str, object]:
    verdict = outcome.verdict
    if verdict is None:
        return {}
    if posed.asked.question != "information":
        return {"correct": verdict.answer, "reason": verdict.reason}
    sentences = posed.evidence.sentences if posed.evidence else ()
    start_s = sentences[verdict.answer].start_s if verdict.answer is not None else None
    return {"sentence": verdict.answer, "sentence_at_s": start_s, "reason": verdict.reason}
