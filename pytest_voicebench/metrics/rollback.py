"""Self-correction over time: what an agent did with a value that the user took back, before and after hearing so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pytest_voicebench.conversation import Call, Conversation, Json, to_seconds
from pytest_voicebench.metrics.arguments import Rules, judge_arguments
from pytest_voicebench.metrics.causes import is_said
from pytest_voicebench.metrics.mentions import agent_words_heard
from pytest_voicebench.metrics.retraction import is_retracted, stale_calls
from pytest_voicebench.metrics.side_effects import side_effect_left
from pytest_voicebench.phrases import find_phrase
from pytest_voicebench.references import is_reference
from pytest_voicebench.scenario import ExpectedCall, Retraction, Scenario
from pytest_voicebench.scorecard import Commit, Pair, Rollback, RollbackVerdict


def rollbacks(
    scenario: Scenario, conversation: Conversation, pairs: Sequence[Pair], rules: Rules, *, late: bool = False
) -> tuple[Rollback, ...]:
    """One entry for each retraction of the scenario, in its order; definitions at `Rollback`.

    `late`: the user's audio or an answer of ours left late, so that no latency can be trusted. Where several expected
    calls could stand in the retracted one's place, it is the one whose value the phrase `until` names, else the one
    that a premature commit was counted for, else the first.
    """
    if not scenario.retracted:
        return ()
    scene = _Scene(
        conversation=conversation,
        calls=conversation.counted_calls,
        expected=scenario.expect.calls,
        pairs=pairs,
        rules=rules,
        late=late,
        words=agent_words_heard(conversation),
    )
    return tuple(_rollback(n, retraction, scene) for n, retraction in enumerate(scenario.retracted))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """What all retractions of a conversation are judged against."""

    conversation: Conversation
    calls: Sequence[Call]
    expected: Sequence[ExpectedCall]
    pairs: Sequence[Pair]
    rules: Rules
    late: bool
    words: str | None


def _rollback(index: int, retraction: Retraction, scene: _Scene) -> Rollback:
    stale = stale_calls(retraction, scene.calls, scene.pairs, scene.rules)
    heard = correction_heard_ticks(retraction, scene.conversation)
    target = _target(retraction, stale, scene)
    corrected = _corrected_call(retraction, target, stale, scene)
    final = None if target is None else _final_values(retraction, scene.expected[target], scene.rules)
    return Rollback(
        retraction=index,
        tool=retraction.tool,
        retracted=dict(retraction.args),
        final=final,
        verdict=_verdict(stale, target, corrected),
        heard_s=None if heard is None else to_seconds(heard),
        commits=tuple(_commit(n, scene.calls[n], heard) for n in stale),
        corrected=corrected,
        corrected_s=None if corrected is None else to_seconds(scene.calls[corrected].at_ticks),
        latency_s=None if scene.late else _latency_s(stale, corrected, heard, scene.calls),
        side_effect_left=side_effect_left(scene.conversation, stale, final, corrected, scene.rules),
        said_retracted=_are_said(retraction.tool, retraction.args.items(), scene, every=False),
        said_final=_are_said(retraction.tool, (final or {}).items(), scene, every=True),
    )


def correction_heard_ticks(retraction: Retraction, conversation: Conversation) -> int | None:
    """When the phrase `until` was over, on the conversation's timeline.

    None where the words of the user's turns have no times, do not hold the phrase exactly once, or were cut before it.
    """
    ends = [
        turn.words[at].end_ticks
        for turn in conversation.turns
        for at in find_phrase(retraction.until, [word.text for word in turn.words])
    ]
    return ends[0] if len(ends) == 1 and ends[0] <= conversation.duration_ticks else None


def _commit(index: int, call: Call, heard: int | None) -> Commit:
    return Commit(
        call=index,
        at_s=to_seconds(call.at_ticks),
        executed=call.status == "executed",
        after_correction=None if heard is None else call.at_ticks >= heard,
    )


def _target(retraction: Retraction, stale: Sequence[int], scene: _Scene) -> int | None:
    """Index of the expected call that took the retracted one's place; None where the whole call was taken back."""
    found = [
        n
        for n, call in enumerate(scene.expected)
        if call.tool == retraction.tool
        and not all(is_retracted(retraction, name, call.args.get(name), scene.rules) for name in retraction.args)
    ]
    tool = scene.rules.tools.get(retraction.tool)
    named = [
        n
        for n in found
        if any(
            is_said(tool.parameters.get(name) if tool else None, value, retraction.until)
            for name, value in _final_values(retraction, scene.expected[n], scene.rules).items()
        )
    ]
    likely = named or found
    counted_for = [pair.expected for pair in scene.pairs if pair.actual in stale and pair.expected in likely]
    return next(iter([*counted_for, *likely]), None)


def _final_values(retraction: Retraction, expected: ExpectedCall, rules: Rules) -> dict[str, Json]:
    """What is expected in place of the retracted values, the tool's default where nothing is; no references."""
    tool = rules.tools.get(retraction.tool)
    found: dict[str, Json] = {}
    for name in retraction.args:
        value = expected.args.get(name)
        parameter = tool.parameters.get(name) if tool else None
        if value is None and parameter is not None and parameter.has_default:
            value = parameter.default
        if value is not None and not is_reference(value):
            found[name] = value
    return found


def _corrected_call(retraction: Retraction, target: int | None, stale: Sequence[int], scene: _Scene) -> int | None:
    """After premature commits: the first later call that was executed and matches the target in every argument.

    Where none was made there is nothing to repair: the first call with the target's values in place of the retracted
    ones, whatever else it holds and whether or not the tool then failed.
    """
    if target is None:
        return None
    wanted, calls = scene.expected[target], scene.calls
    statuses, since = {"executed"}, max((calls[n].at_ticks for n in stale), default=None)
    if since is None:
        statuses, wanted = {"executed", "failed"}, replace(wanted, args=_final_values(retraction, wanted, scene.rules))
    results = {p.expected: calls[p.actual].result for p in scene.pairs if p.actual is not None}
    for n, call in enumerate(calls):
        if call.name != wanted.tool or call.status not in statuses or (since is not None and call.at_ticks <= since):
            continue
        if all(a.verdict == "match" for a in judge_arguments(wanted, call, results, scene.rules)):
            return n
    return None


def _verdict(stale: Sequence[int], target: int | None, corrected: int | None) -> RollbackVerdict:
    if stale:
        return "stale" if corrected is None else "repaired"
    return "held" if target is None or corrected is not None else "no_call"


def _latency_s(stale: Sequence[int], corrected: int | None, heard: int | None, calls: Sequence[Call]) -> float | None:
    if not stale or corrected is None or heard is None:
        return None
    repairable = max(heard, min(calls[n].at_ticks for n in stale))
    return to_seconds(calls[corrected].at_ticks - repairable)


def _are_said(tool_name: str, values: Iterable[tuple[str, Json]], scene: _Scene, *, every: bool) -> bool | None:
    """Whether all (`every`) or any of the values were heard from the agent; None where that cannot be told."""
    tool = scene.rules.tools.get(tool_name)
    found = [
        None if scene.words is None else is_said(tool.parameters.get(name) if tool else None, value, scene.words)
        for name, value in values
    ]
    decisive = not every  # one False settles `every`, one True settles any
    if decisive in found:
        return decisive
    return None if not found or None in found else every
