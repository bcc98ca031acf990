"""The messages of Media Streams, Twilio's and Telnyx's: what the service sends, and what an agent's messages mean."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_voicebench.agents.twilio.mulaw import RATE_HZ, decode_mulaw, encode_mulaw
from pytest_voicebench.audio import Samples

Json = Any
Event = dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call and its stream. `parameters` reach the agent as custom parameters."""

    account_sid: str
    call_sid: str
    stream_sid: str
    caller: str
    called: str
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """The agent's voice."""

    samples: Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The agent wants to know when what it has sent so far was heard."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Clear:
    """The agent takes back what has not been heard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """A message that a telephone service would not act on. `why` is one line."""

    why: str


Meaning = Media | Mark | Clear | Unusable | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Media Streams in the names of one service; both carry 8 kHz mu-law.

    `number` and `stream` are the names of the message's number and the stream's id. `needs_stream`: whether the service
    ignores an agent's message without that id. `hung_up` gives the ids that `stop` repeats.
    """

    name: str
    number: str
    stream: str
    needs_stream: bool
    connected: Mapping[str, Json]
    start: Callable[[Call], Event]
    hung_up: Callable[[Call], Event]

    def opening(self, call: Call) -> list[Event]:
        """What comes first; `start` has the number 1."""
        return [dict(self.connected), self._event(call, 1, "start", self.start(call))]

    def media(self, call: Call, number: int, chunk: int, start_ms: int, samples: Samples) -> Event:
        """A block of the user's voice, which begins `start_ms` after the stream did."""
        payload = base64.b64encode(encode_mulaw(samples)).decode()
        told = {"track": "inbound", "chunk": str(chunk), "timestamp": str(start_ms), "payload": payload}
        return self._event(call, number, "media", told)

    def mark(self, call: Call, number: int, name: str) -> Event:
        """What came before this mark was heard, or taken back."""
        return self._event(call, number, "mark", {"name": name})

    def stop(self, call: Call, number: int) -> Event:
        """The call is over."""
        return self._event(call, number, "stop", self.hung_up(call))

    def _event(self, call: Call, number: int, kind: str, told: Event) -> Event:
        return {"event": kind, self.number: str(number), self.stream: call.stream_sid, kind: told}

    def meaning(self, call: Call, event: Event) -> Meaning:
        """What a message of the agent asks for; None for one that the service does not know."""
        kind = event.get("event")
        if kind not in ("media", "mark", "clear"):
            return None
        if event.get(self.stream, None if self.needs_stream else call.stream_sid) != call.stream_sid:
            return Unusable(why=f"a {kind} message has not the {self.stream} of this stream")
        told = event.get(kind)
        inner: Event = told if isinstance(told, dict) else {}
        match kind:
            case "clear":
                return Clear()
            case "mark":
                name = inner.get("name")
                return Mark(name=name) if isinstance(name, str) else Unusable(why="a mark message has no mark.name")
        sound = payload_bytes(inner)
        return Unusable(why=sound) if isinstance(sound, str) else Media(samples=decode_mulaw(sound))


def _twilio_start(call: Call) -> Event:
    return {
        "accountSid": call.account_sid,
        "streamSid": call.stream_sid,
        "callSid": call.call_sid,
        "tracks": ["inbound"],
        "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": RATE_HZ, "channels": 1},
        "customParameters": dict(call.parameters),
    }


def _telnyx_start(call: Call) -> Event:
    return {
        "user_id": call.account_sid,
        "call_control_id": call.call_sid,
        "from": call.caller,
        "to": call.called,
        "custom_parameters": dict(call.parameters),
        "media_format": {"encoding": "PCMU", "sample_rate": RATE_HZ, "channels": 1},
    }


TWILIO = Dialect(
    name="twilio",
    number="sequenceNumber",
    stream="streamSid",
    needs_stream=True,
    connected={"event": "connected", "protocol": "Call", "version": "1.0.0"},
    start=_twilio_start,
    hung_up=lambda call: {"accountSid": call.account_sid, "callSid": call.call_sid},
)
"""twilio.com/docs/voice/media-streams/websocket-messages"""

TELNYX = Dialect(
    name="telnyx",
    number="sequence_number",
    stream="stream_id",
    needs_stream=False,
    connected={"event": "connected", "version": "1.0.0"},
    start=_telnyx_start,
    hung_up=lambda call: {"user_id": call.account_sid, "call_control_id": call.call_sid},
)
"""developers.telnyx.com/api-reference/websockets/stream-call-media-over-websocket, bidirectional, PCMU"""

DIALECTS: Mapping[str, Dialect] = {dialect.name: dialect for dialect in (TWILIO, TELNYX)}


def payload_bytes(media: Event) -> bytes | str:
    """The bytes of `payload`, or what is wrong with it."""
    payload = media.get("payload")
    if not isinstance(payload, str):
        return "a media message has no media.payload"
    try:
        return base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        return "the payload of a media message is not base64"


def without_sound(event: Json) -> Json:
    """A message as the log keeps it: no sound, and blocks of the user's voice without their numbers, so that they are
    alike and share a row.
    """
    media = event.get("media") if isinstance(event, dict) else None
    if not isinstance(media, dict):
        return event
    kept = {k: v for k, v in media.items() if k not in ("chunk", "timestamp")}
    if isinstance(kept.get("payload"), str):
        kept["payload"] = f"<{len(kept['payload'])} characters>"
    return {k: v for k, v in event.items() if k not in ("sequenceNumber", "sequence_number", "media")} | {"media": kept}
