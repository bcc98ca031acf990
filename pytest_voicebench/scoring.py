"""`score`: one conversation judged by its scenario, score set `voicebench` version 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pytest_voicebench.conversation import Call, Conversation, to_seconds, to_ticks
from pytest_voicebench.metrics.arguments import rules_of
from pytest_voicebench.metrics.calls import call_scores, in_order, surplus_calls
from pytest_voicebench.metrics.causes import with_causes
from pytest_voicebench.metrics.mentions import agent_words_heard, is_mentioned
from pytest_voicebench.metrics.pairing import pair_calls
from pytest_voicebench.metrics.rollback import rollbacks
from pytest_voicebench.metrics.timing import is_filler, is_preemptive, spoke_before_first_call, times
from pytest_voicebench.metrics.turns import BACKCHANNEL_S, RESPONSE_TIMEOUT_S, greetings, turn_scores
from pytest_voicebench.phrases import without_control_tokens
from pytest_voicebench.scenario import Requirement, Scenario
from pytest_voicebench.scorecard import Manners, Pair, Rollback, Scorecard, Times, TurnScore, WrongCause
from pytest_voicebench.validity import LATE_ONCE_S, LATE_P99_S, answers_were_late, blocks_were_late

SCORE_SET = "voicebench"
SCORE_VERSION = 1

TOOL_STALL_S = 5.0
"""A result that takes longer than this from the tool to the agent is noted as `tool_stall`."""

MOST_WORDS_PER_S = 8.0
"""A whole text of an agent with more words than this for each second of its sound is noted: nobody speaks so fast."""

_FEWEST_WORDS = 5  # of a shorter text a little clipped sound would say too much

_TOOL_STALL_TICKS = to_ticks(TOOL_STALL_S)

RULES: Mapping[str, str | float] = {
    "pass": "tools_ok and args_ok and spoke, and the scenario's pass_requires",
    "counted_calls": "executed, failed, rejected",
    "number_strings": "read, noted type_mismatch",
    "tolerance": "none, unless a parameter says approx",
    "agent_backchannel_below_s": BACKCHANNEL_S,
    "response_timeout_s": RESPONSE_TIMEOUT_S,
    "late_blocks_p99_above_s": LATE_P99_S,
    "late_block_or_answer_above_s": LATE_ONCE_S,
    "tool_stall_above_s": TOOL_STALL_S,
    "audio_shorter_than_text_above_words_per_s": MOST_WORDS_PER_S,
    "premature_commit": "a counted call with all the arguments of a retracted entry, where nobody wants that value",
    "rollback_latency": "from the correction heard, or the first premature commit if later, to the corrected call",
    "percentiles": "linear",
    "intervals": "Wilson 95 %",
    "judge": "none",
}
"""The rules and thresholds behind the numbers, for the head of a report."""


def score(scenario: Scenario, conversation: Conversation) -> Scorecard:
    """The judgement of a conversation: a pure function, and total: no conversation makes it raise.

    `passed` = every expected call paired, no unpaired counted call, every pair matches, turn taken, and what
    `pass_requires` adds. What could not be checked is None and never passes. Whether the measurement itself was sound
    is asked elsewhere (`validity.measurement_problems`).
    """
    rules, calls = rules_of(scenario), conversation.counted_calls
    pairs = with_causes(scenario, conversation, pair_calls(scenario.expect.calls, calls, rules), rules)
    turns = turn_scores(conversation)
    late, late_answers = blocks_were_late(conversation), answers_were_late(conversation)
    measured = times(conversation, turns, pairs, late=late, late_answers=late_answers)
    manners = _manners(scenario, conversation, turns, pairs)
    checks = _checks(scenario, conversation, pairs, manners)
    requirements = {r.text or r.name: _required(r, checks, measured) for r in scenario.expect.pass_requires}
    surplus, numbers = surplus_calls(pairs, len(calls)), call_scores(pairs, len(calls))
    tools_ok = not surplus and all(p.actual is not None for p in pairs)
    args_ok = all(p.matches for p in pairs)
    rollback = rollbacks(scenario, conversation, pairs, rules, late=late or late_answers)
    gating = {r.name for r in scenario.expect.pass_requires}
    return Scorecard(
        score_set="voicebench",
        version=SCORE_VERSION,
        passed=tools_ok and args_ok and manners.turn_taken and all(v is True for v in requirements.values()),
        tools_ok=tools_ok,
        args_ok=args_ok,
        spoke=manners.turn_taken,
        requirements=requirements,
        diagnostics={name: value for name, value in checks.items() if name not in gating},
        f1_names=numbers.f1_names,
        f1_match=numbers.f1_match,
        f1_strict=numbers.f1_strict,
        precision=numbers.precision,
        recall=numbers.recall,
        argument_accuracy=numbers.argument_accuracy,
        argument_accuracy_strict=numbers.argument_accuracy_strict,
        pairs=pairs,
        surplus=surplus,
        surplus_tools=tuple(calls[n].name for n in surplus),
        premature_commits=tuple(sorted({c.call for r in rollback for c in r.commits})),
        rollback=rollback,
        times=measured,
        manners=manners,
        turns=turns,
        wrong_causes=_causes(pairs),
        notes=_notes(conversation, turns, pairs, rollback),
    )


def _manners(
    scenario: Scenario, conversation: Conversation, turns: Sequence[TurnScore], pairs: Sequence[Pair]
) -> Manners:
    """Behaviour over all turns. The item's turn is taken if its last one is, and every planned turn was reached.

    Steps that wait for the agent are reached only if it spoke before; steps that follow each other at once are one
    request to which a reply after the last is the answer.
    """
    planned = sum(step.kind == "say" for step in scenario.steps)
    detected = conversation.agent_speech is not None
    taken = detected and bool(turns) and len(turns) >= planned and turns[-1].taken
    interruptions = sum(t.interruptions for t in turns)
    clean = taken and not interruptions
    return Manners(
        turn_taken=taken,
        interrupted=interruptions > 0,
        interruptions=interruptions,
        greetings=greetings(conversation),
        backchannels=sum(t.backchannels for t in turns),
        clean_turn=clean,
        filler=is_filler(conversation, turns, pairs) if clean else None,
        preemptive=is_preemptive(conversation),
        spoke_before_first_call=spoke_before_first_call(conversation) if detected else None,
        no_response_turns=sum(not t.taken and not t.censored for t in turns) if detected else 0,
    )


def _checks(
    scenario: Scenario, conversation: Conversation, pairs: Sequence[Pair], manners: Manners
) -> dict[str, bool | None]:
    """The diagnostics that apply to this scenario; None where one could not be made."""
    detected = conversation.agent_speech is not None
    found: dict[str, bool | None] = {"no_interruption": not manners.interrupted if detected else None}
    order = in_order(scenario.expect, pairs, conversation.counted_calls)
    if order is not None:
        found["order"] = order
    if scenario.expect.mentions:
        said = agent_words_heard(conversation)
        found["mentions"] = None if said is None else all(is_mentioned(m, said) for m in scenario.expect.mentions)
    return found


def _required(requirement: Requirement, checks: Mapping[str, bool | None], measured: Times) -> bool | None:
    if requirement.name != "first_response_s":
        return checks.get(requirement.name)
    value, bound = measured.first_response_latency_s, requirement.bound
    if value is None or bound is None:
        return None
    return value < bound if requirement.operator == "<" else value <= bound


def _causes(pairs: Sequence[Pair]) -> dict[WrongCause, int]:
    """Wrong arguments by cause, in a fixed order."""
    counted = Counter(a.cause for p in pairs for a in p.arguments if a.cause is not None)
    order: tuple[WrongCause, ...] = ("stale", "misheard", "invented", "other")
    return {cause: counted[cause] for cause in order if counted[cause]}


def _stalled(call: Call) -> bool:
    """Whether a result was on its way, from the tool until the agent's adapter had taken it, for too long."""
    taken = call.acknowledged_ticks or call.answered_ticks
    return call.finished_ticks is not None and taken is not None and taken - call.finished_ticks > _TOOL_STALL_TICKS


def _has_lost_sound(conversation: Conversation) -> bool:
    """Whether the sound of some text of the agent's is too short for it, although nobody cut it."""
    if conversation.clears_ticks or conversation.truncated:
        return False
    sound = Counter[str | None]()
    for chunk in conversation.chunks:
        sound[chunk.item_id] += chunk.length_ticks
    for entry in conversation.transcripts:
        words, ticks = len(without_control_tokens(entry.text).split()), sound[entry.item_id]
        if entry.speaker == "agent" and ticks and words >= max(_FEWEST_WORDS, MOST_WORDS_PER_S * to_seconds(ticks)):
            return True
    return False


def _notes(
    conversation: Conversation, turns: Sequence[TurnScore], pairs: Sequence[Pair], rollback: Sequence[Rollback]
) -> tuple[str, ...]:
    """Fixed words that a reader of the item should see."""
    found = [note for p in pairs for a in p.arguments for note in a.notes]
    found += [f"{c.status}_call" for c in conversation.calls if c.status != "executed"]
    if any(commit.executed for r in rollback for commit in r.commits):
        found.append("stale_execution")
    if any(r.side_effect_left for r in rollback):
        found.append("side_effect_left")
    if conversation.agent_speech is None:
        found.append("no_speech_detection")
    if any(t.interruptions_in_pause for t in turns):
        found.append("interruption_in_pause")
    if any(t.censored for t in turns):
        found.append("censored")
    if conversation.truncated:
        found.append("truncated")
    if _has_lost_sound(conversation):
        found.append("audio_shorter_than_text")
    if answers_were_late(conversation):
        found.append("late_answers")
    if any(_stalled(c) for c in conversation.calls):
        found.append("tool_stall")
    return tuple(dict.fromkeys(found))
