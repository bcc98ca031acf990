"""SGLang-Omni's dialect for models that listen and speak at once: numbered blocks, strict events, no tools.

Source: `sglang_omni.serve.realtime` (schema, protocol, projection), version 0.1.9.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, ClassVar

from pytest_voicebench.agents.omni.asked import INPUT_HZ, OUTPUT_HZ, Asked
from pytest_voicebench.agents.omni.line import appended
from pytest_voicebench.agents.openai_realtime.state import SessionState
from pytest_voicebench.agents.protocol import AgentEvent, Fault, ToolResult, Unsupported
from pytest_voicebench.audio import Audio

Json = Any
Event = dict[str, Json]


def session_update(asked: Asked) -> Event:
    """What makes the session as asked; unknown fields are refused, so that tools cannot be told."""
    audio_in: Event = {"format": {"type": "audio/pcm", "rate": INPUT_HZ}}
    if asked.detection is not None:
        audio_in["turn_detection"] = asked.detection
    session: Event = {
        "type": "realtime",
        "model": asked.model,
        "instructions": asked.instructions,
        "output_modalities": ["audio"],
        "audio": {"input": audio_in, "output": {"format": {"type": "audio/pcm", "rate": OUTPUT_HZ}}},
    }
    if asked.reference is not None:
        data = base64.b64encode(asked.reference).decode()
        session["sglang"] = {"reference_audio": {"media_type": "audio/wav", "data": data}}
    return {"type": "session.update", "event_id": "event_session", "session": session}


class SglangState(SessionState):
    """Follows one session. `granted` is what the deployment said it can do.

    Every event has an id and every block its number. Responses come without items of their own; one that is cancelled
    clears what plays.
    """

    def __init__(self, *, now_s: Callable[[], float], granted: Mapping[str, Json]) -> None:
        super().__init__(now_s=now_s)
        self._granted = granted
        self._blocks = count(0)
        self._names = count(1)

    def block(self, audio: Audio) -> list[Event]:
        """One block of the user's sound with its number."""
        number = next(self._blocks)
        return [{**appended(audio), "event_id": f"block_{number}", "sglang": {"seq": number}}]

    def take_outgoing(self) -> list[Event]:
        """What is to be sent now, each event with an id."""
        return [{"event_id": f"event_{next(self._names)}", **event} for event in super().take_outgoing()]

    def answer(self, results: Sequence[ToolResult]) -> None:
        """There are no tools; a call that came all the same cannot be answered."""

    def cut(self, item_id: str, seconds: float) -> None:
        """Tell how much of an item was heard, where the deployment can make use of it."""
        if self._granted.get("supports_truncate") is True:
            super().cut(item_id, seconds)
            self._outgoing = [e for e in self._outgoing if e["type"] != "conversation.item.delete"]

    def inject(self, text: str) -> None:
        """Raises Unsupported: this dialect has no texts in the conversation."""
        raise Unsupported("sglang-omni takes no text into a conversation")

    def _fails(self, event: Event) -> list[AgentEvent]:
        """The dialect says of an error whether the session is lost by it."""
        found = self._error(event)
        extension = event.get("sglang")
        if isinstance(extension, Mapping) and extension.get("fatal") is True:
            return [Fault(kind="infrastructure", message=f.message) for f in found if isinstance(f, Fault)]
        return found

    def _closed(self, event: Event) -> list[AgentEvent]:
        reason = event.get("reason")
        told = " ".join(reason.split())[:200] if isinstance(reason, str) else "no reason given"
        return [Fault(kind="infrastructure", message=f"the server ended the session: {told}")]

    HANDLERS: ClassVar[Mapping[str, Callable[[Any, Event], list[AgentEvent]]]] = {
        **SessionState.HANDLERS,
        "session.closed": _closed,
        "error": _fails,
    }
    """What takes a server event, by its name."""
