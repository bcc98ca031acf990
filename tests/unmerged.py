"""Stand-ins for modules that are being written elsewhere, used only while the real ones cannot be imported."""

import importlib.util
import sys
import types


def _missing(name, attribute):
    if importlib.util.find_spec(name) is None:
        return True
    module = importlib.import_module(name)
    return not hasattr(module, attribute)


def _give(name, attribute, value):
    if _missing(name, attribute):
        module = sys.modules.get(name) or types.ModuleType(name)
        setattr(module, attribute, value)
        sys.modules[name] = module


def _score(scenario, conversation):
    from pytest_voicebench.conversation import to_seconds
    from pytest_voicebench.scorecard import Manners, Scorecard, Times

    calls = conversation.counted_calls
    ok = [c.name for c in calls] == [c.tool for c in scenario.expect.calls]
    spoke = bool(conversation.agent_speech)
    end = to_seconds(conversation.turns[-1].end_ticks)
    latency = to_seconds(conversation.agent_speech[0].start_ticks) - end if spoke else None
    return Scorecard(
        score_set="voicebench",
        version=1,
        passed=ok and spoke,
        tools_ok=ok,
        args_ok=ok,
        spoke=spoke,
        f1_names=float(ok),
        f1_match=float(ok),
        f1_strict=float(ok),
        precision=float(ok),
        recall=float(ok),
        argument_accuracy=float(ok),
        argument_accuracy_strict=float(ok),
        times=Times(first_response_latency_s=latency, user_end_s=end),
        manners=Manners(turn_taken=spoke, interrupted=False),
    )


def _summarize(results, header):
    from collections import Counter

    from pytest_voicebench.summary import SCHEMA_VERSION, Counts, Summary

    outcomes = Counter(r.outcome for r in results)
    kinds = Counter(r.error_kind for r in results if r.error_kind)
    counts = Counts(
        planned=len(results),
        passed=outcomes["passed"],
        failed=outcomes["failed"],
        error=outcomes["error"],
        skipped=outcomes["skipped"],
        not_run=outcomes["not_run"],
        error_kinds=dict(sorted(kinds.items())),
    )
    latencies = {r.item_id: r.scorecard and r.scorecard.times.first_response_latency_s for r in results}
    return Summary(
        schema_version=SCHEMA_VERSION,
        header=header,
        score_set="voicebench",
        score_version=1,
        suites=tuple(sorted({r.facts.suite for r in results})),
        stimulus="synthetic",
        notices=(str(latencies),),
        counts=counts,
        agents=(),
        tables=(),
    )


def _detect_speech(conversation):
    from dataclasses import replace

    from pytest_voicebench.speech import detect_agent_speech

    return replace(conversation, agent_speech=detect_agent_speech(conversation.recording.agent))


_give("pytest_voicebench.scoring", "score", _score)
_give("pytest_voicebench.summary", "summarize", _summarize)
_give("pytest_voicebench.validity", "measurement_problems", lambda scenario, conversation: ())
_give("pytest_voicebench.speech", "detect_speech", _detect_speech)
_give("pytest_voicebench.toolbox", "ToolboxFault", type("ToolboxFault", (Exception,), {}))
