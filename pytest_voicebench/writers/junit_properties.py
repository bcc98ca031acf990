"""What of a result or a summary goes into junit.xml as properties: plain scalars, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_voicebench.conversation_files import AUDIO_NAME, JSON_NAME

if TYPE_CHECKING:
    from pytest_voicebench.result import Result
    from pytest_voicebench.scorecard import Scorecard
    from pytest_voicebench.summary import AgentSummary, Summary

PREFIX = "voicebench."

NAMES = {
    "item", "agent", "outcome", "error_kind", "taken_from", "attempts", "transcript_source", "folder",
    "conversation", "audio", "withheld",
}  # fmt: skip
"""Properties of an item that hold names and paths, none of anybody's words."""

Scalar = str | int | float | bool

RUN_SCORES = (
    "pass_at_1",
    "f1",
    "f1_match",
    "argument_accuracy",
    "turn_take_rate",
    "interruption_rate",
    "filler_rate",
    "preemptive_rate",
)
RUN_LATENCIES = ("first_response_latency_s", "tool_call_latency_s", "task_completion_latency_s")


def item_properties(result: Result) -> dict[str, Scalar]:
    """What a result says in plain scalars, artifact paths relative to the run folder; the unmeasured is left out."""
    values: dict[str, object] = {
        "item": result.item_id,
        "trial": result.trial,
        "agent": result.agent.name,
        "outcome": result.outcome,
        "error_kind": result.error_kind,
        "cause": result.cause,
        "taken_from": result.taken_from,
        "attempts": ",".join(result.attempts) or None,
        "transcript_source": result.transcript_source,
        "words_dropped": result.words_dropped,
        "warnings": "; ".join(result.warnings) or None,
        "usd": result.usd,
        "usd_unknown": result.usd_unknown,
        "withheld": ",".join(result.withheld) or None,
        **_artifacts(result),
        **_scores(result),
    }
    return {name: scalar(value) for name, value in values.items() if value is not None}


def _artifacts(result: Result) -> dict[str, object]:
    if result.folder is None:
        return {}
    return {
        "folder": result.folder,
        "conversation": f"{result.folder}/{JSON_NAME}",
        "audio": None if "sound" in result.withheld else f"{result.folder}/{AUDIO_NAME}",
    }


def _scores(result: Result) -> dict[str, object]:
    card = result.scorecard
    if card is None:
        return {}
    return {
        "pass_at_1": card.passed,
        "tools_ok": card.tools_ok,
        "args_ok": card.args_ok,
        "spoke": card.spoke,
        "f1": card.f1_names,
        "f1_match": card.f1_match,
        "argument_accuracy": card.argument_accuracy,
        "interrupted": card.manners.interrupted,
        "first_response_latency_s": card.times.first_response_latency_s,
        "tool_call_latency_s": card.times.tool_call_latency_s,
        "task_completion_latency_s": card.times.task_completion_latency_s,
        **_rollback(card),
    }


def _rollback(card: Scorecard) -> dict[str, object]:
    """Of an item with retractions: whether one was called with, its longest rollback latency, and the sentences."""
    if not card.rollback:
        return {}
    from pytest_voicebench.writers.rollback_text import rollback_sentences

    return {
        "premature_commit": bool(card.premature_commits),
        "rollback": rollback_sentences(card.rollback),
        "rollback_latency_s": max(card.rollback_latencies_s, default=None),
    }


def run_properties(summary: Summary) -> dict[str, Scalar]:
    """What a summary says in plain scalars, scores under the agent's name; the unmeasured is left out."""
    from pytest_voicebench.outcome import outcome
    from pytest_voicebench.summarizing.agents import distinct_names

    counts = summary.counts
    values: dict[str, object] = {
        "run": summary.header.get("run"),
        "mode": summary.header.get("mode"),
        "stimulus": summary.stimulus,
        "score_set": f"{summary.score_set} {summary.score_version}",
        "judge": summary.header.get("judge") or "none",
        "verdict": said.text if (said := outcome(summary)) is not None else None,
        **{n: getattr(counts, n) for n in ("planned", "passed", "failed", "error", "skipped", "not_run")},
    }
    for name, agent in zip(distinct_names(summary.agents), summary.agents, strict=True):
        values |= {f"{name}.{what}": value for what, value in _agent_properties(agent).items()}
    return {PREFIX + name: scalar(value) for name, value in values.items() if value is not None}


def _agent_properties(agent: AgentSummary) -> dict[str, object]:
    overall, commits, trials = agent.overall, agent.commits, agent.trials
    values: dict[str, object] = {name: getattr(overall, name).value for name in RUN_SCORES}
    values |= {f"{name}.mean": getattr(overall, name).mean for name in RUN_LATENCIES}
    values |= {f"transcript_source.{source}": items for source, items in agent.transcript_sources.items()}
    for figures in trials.passes if trials else ():
        values[f"trials.pass_hat_{figures.k}"] = figures.pass_hat.value
        values[f"trials.pass_at_{figures.k}"] = figures.pass_at.value
    return values | {
        "trials.flaky": len(trials.flaky) if trials else None,
        "usd": agent.cost.usd,
        "usd_unknown": sum(agent.cost.unknown.values()) or None,
        "words_dropped": agent.words_dropped,
        "premature_commit_rate": commits.premature_commit_rate.value,
        "repaired_rate": commits.repaired_rate.value,
        "rollback_latency_s.p50": commits.rollback_latency_s.p50,
    }


def scalar(value: object) -> Scalar:
    """A plain Python scalar; numpy's numbers become numbers, all else text."""
    if type(value).__module__ == "numpy" and getattr(value, "size", None) == 1:
        value = value.item()  # type: ignore[attr-defined]
    for kind in (bool, int, float, str):
        if type(value) is kind:
            return value
    return str(value)
