"""Whether a write that should not have been made is still there when the conversation ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_voicebench.conversation import Call, Conversation, Json
from pytest_voicebench.metrics.arguments import Rules


def side_effect_left(
    conversation: Conversation,
    stale: Sequence[int],
    final: Mapping[str, Json] | None,
    corrected: int | None,
    rules: Rules,
) -> bool | None:
    """Whether one of these counted calls wrote something that nothing shows to be undone.

    False where none of them was executed or none writes. Undone needs a write executed later, and evidence: the state
    at the end holds the corrected values (texts) and none of these calls', or it is that of the start although no
    corrected call was made. A mock that keeps no state gives no evidence, so that its writes stay. None where nobody
    knows whether a tool writes.
    """
    calls = conversation.counted_calls
    made = [calls[n] for n in stale if calls[n].status == "executed"]
    if any(call.name not in rules.tools for call in made):
        return None
    writes = [call for call in made if rules.tools[call.name].writes]
    if not writes:
        return False
    last = max(call.at_ticks for call in writes)
    later = [c for c in calls if c.status == "executed" and c.at_ticks > last and _writes(c, rules)]
    if not later:
        return True
    keeps_state = all(rules.tools[call.name].answer is not None for call in writes)
    undone = keeps_state and corrected is None and _as_before(conversation)
    return not (undone or _replaced(conversation.state, writes, final))


def _writes(call: Call, rules: Rules) -> bool:
    tool = rules.tools.get(call.name)
    return tool is not None and tool.writes


def _as_before(conversation: Conversation) -> bool:
    """Whether the state at the end is that of the start."""
    before, after = conversation.state_sha256_before, conversation.state_sha256_after
    return before is not None and before == after


def _replaced(state: Json, writes: Sequence[Call], final: Mapping[str, Json] | None) -> bool:
    """Whether the state holds the final values and none of the written ones. Text only: numbers may have been added."""
    if not final or not all(isinstance(value, str) for value in final.values()):
        return False
    written = [call.arguments.get(name) for call in writes for name in final]
    texts = [value for value in written if isinstance(value, str)]
    kept = set(_texts(state))
    return (
        len(texts) == len(written)
        and kept.issuperset(map(_folded, final.values()))
        and kept.isdisjoint(map(_folded, texts))
    )


def _texts(state: Json) -> Iterator[str]:
    """All texts of a state, keys included, folded."""
    waiting = [state]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield _folded(value)
        elif isinstance(value, Mapping):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple):
            waiting += value


def _folded(value: str) -> str:
    return " ".join(value.casefold().replace("_", " ").split())
