"""The messages of Twilio's Media Streams: what Twilio sends to an agent, and what an agent's messages mean."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
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


class TwilioMessages:
    """Media Streams, version 1.0.0 (twilio.com/docs/voice/media-streams/websocket-messages): 8 kHz mu-law."""

    def opening(self, call: Call) -> list[Event]:
        """What Twilio says first; `start` has the sequence number 1."""
        start = {
            "accountSid": call.account_sid,
            "streamSid": call.stream_sid,
            "callSid": call.call_sid,
            "tracks": ["inbound"],
            "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": RATE_HZ, "channels": 1},
            "customParameters": dict(call.parameters),
        }
        return [{"event": "connected", "protocol": "Call", "version": "1.0.0"}, self._event(call, 1, "start", start)]

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
        return self._event(call, number, "stop", {"accountSid": call.account_sid, "callSid": call.call_sid})

    def _event(self, call: Call, number: int, kind: str, told: Event) -> Event:
        return {"event": kind, "sequenceNumber": str(number), "streamSid": call.stream_sid, kind: told}

    def meaning(self, call: Call, event: Event) -> Meaning:
        """What a message of the agent asks for; None for one that Twilio does not know."""
        kind = event.get("event")
        if kind not in ("media", "mark", "clear"):
            return None
        if event.get("streamSid") != call.stream_sid:
            return Unusable(why=f"a {kind} message has not the streamSid of this stream")
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
    return {k: v for k, v in event.items() if k not in ("sequenceNumber", "media")} | {"media": kept}
