"""`official_card`: one conversation judged by the rules of the official FDB-v3 scripts, exact mode, faults included.

The rules are those of the public evaluation, report and latency scripts of Full-Duplex-Bench-v3 (arXiv 2604.04847).
Our own set (`scoring.py`) says what we think is right; this one says what the published figures were made with.
"""

from __future__ import annotations

from pytest_voicebench.conversation import Conversation
from pytest_voicebench.metrics.official_calls import DECIMALS, argument_accuracy, judged_calls, tool_selection
from pytest_voicebench.metrics.official_record import OfficialRecord, official_record
from pytest_voicebench.official_card import JUDGED_ONLY, Failure, OfficialCard
from pytest_voicebench.scenario import Scenario


def official_card(scenario: Scenario, conversation: Conversation) -> OfficialCard:
    """The official scores of a conversation: a pure function, and total.

    Passed: no expected call is missing, no other was made, every argument is right; whether the agent spoke is no
    condition. A turn is taken where the agent's speech has a transcript or recognised words.
    """
    record, expected = official_record(conversation), scenario.expect.calls
    tools, calls = tool_selection(expected, record.calls), judged_calls(expected, record.calls)
    failure: Failure | None = None
    if tools.missing or tools.unexpected:
        failure = "wrong_tools"
    elif any(c.verdict != "match" for c in calls):
        failure = "wrong_arguments"
    response = _latency_s(record.agent_start_s, record.user_end_s)
    return OfficialCard(
        inputs=record.inputs,
        tools=tools,
        calls=calls,
        argument_accuracy=argument_accuracy(calls),
        passed=failure is None,
        failure=failure,
        turn_taken=bool(record.transcript.strip()) or bool(record.words),
        user_end_s=record.user_end_s,
        agent_start_s=record.agent_start_s,
        response_latency_s=response,
        interruption=None if response is None else response < 0,
        first_response_latency_s=_latency_s(_first_word_s(record), record.user_end_s),
        tool_call_latency_s=_latency_s(record.first_call_s, record.user_end_s),
        unmeasured=_unmeasured(record),
    )


def _latency_s(moment_s: float | None, user_end_s: float | None) -> float | None:
    """Signed; rounded before anybody asks for its sign, so that -0.0004 is no interruption."""
    return None if moment_s is None or user_end_s is None else round(moment_s - user_end_s, DECIMALS)


def _first_word_s(record: OfficialRecord) -> float | None:
    """The start of the first word of the list, which need not be the earliest."""
    return record.words[0][1] if record.words else None


def _unmeasured(record: OfficialRecord) -> dict[str, str]:
    """Why a value of the card is None."""
    moments = (
        ("response_latency_s", record.agent_start_s, "the agent was not heard"),
        ("first_response_latency_s", _first_word_s(record), "no recognised word"),
        ("tool_call_latency_s", record.first_call_s, "a call without a time" if record.calls else "no call"),
    )
    found = {name: why for name, moment, why in moments if moment is None}
    if record.user_end_s is None:
        found |= {name: found.get(name, "the user's end is unknown") for name, _, _ in moments}
    return {**found, **JUDGED_ONLY}
