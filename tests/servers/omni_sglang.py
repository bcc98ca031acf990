"""A double of SGLang-Omni's native deployments: strict events with ids, numbered blocks, responses without items."""

from __future__ import annotations

from typing import Any

from pytest_voicebench.audio import RATE_HZ
from tests.servers.omni_vllm import SILENCE_MS
from tests.servers.openai_session import Session
from tests.servers.turn_taking import TurnTaking

Json = Any

FIELDS = {
    "session.update": {"session"},
    "input_audio_buffer.append": {"audio", "sglang"},
    "conversation.item.truncate": {"item_id", "content_index", "audio_end_ms"},
    "input_audio_buffer.clear": set(),
    "response.cancel": set(),
    "session.close": set(),
}
SESSION_FIELDS = {"type", "model", "instructions", "output_modalities", "audio", "sglang"}
UNSAID = (
    "response.output_item.",
    "response.content_part.",
    "response.function_call",
    "conversation.item.added",
    "conversation.item.done",
    "input_audio_buffer.",
    "rate_limits.",
)
GRANTED = {
    "interaction": "native",
    "native_full_duplex": True,
    "turn_control": [None],
    "input_audio_format": {"type": "audio/pcm", "rate": 16_000},
    "output_audio_format": {"type": "audio/pcm", "rate": RATE_HZ},
    "native_unit_ms": 1000,
    "supports_truncate": True,
    "rejections": [],
}


class SglangSession(Session):
    """One conversation. `next_seq` is the number that the next block of audio must have."""

    rate_hz = 16_000

    def __init__(self, double, socket) -> None:
        super().__init__(double, socket)
        self.ears = TurnTaking(self.rate_hz, SILENCE_MS)
        self.next_seq = 0

    async def send(self, kind: str, /, **fields: Json) -> None:
        if not kind.startswith(UNSAID):
            await super().send(kind, **fields)

    async def greet(self) -> None:
        await self.send("session.created", session=self.session() | {"sglang": {"granted": None}})

    async def fail(self, code: str, message: str, event: dict[str, Json], fatal: bool = False) -> None:
        error = {"type": "invalid_request_error", "code": code, "message": message, "event_id": event.get("event_id")}
        await self.send("error", error=error | {"param": None}, sglang={"fatal": fatal})

    async def take(self, event: dict[str, Json]) -> None:
        """Unknown events and fields are refused, and events without an id."""
        fields = FIELDS.get(event.get("type", ""))
        if fields is None:
            await self.fail("not_supported", f"{event.get('type')} is not supported", event)
        elif not event.get("event_id") or set(event) != {"type", "event_id", *fields}:
            await self.fail("invalid_request", f"wrong fields: {', '.join(sorted(event))}", event)
        else:
            await super().take(event)

    async def on_session_update(self, event) -> None:
        asked = event["session"]
        audio = asked.get("audio") or {}
        formats = [((audio.get(way) or {}).get("format") or {}).get("rate") for way in ("input", "output")]
        if self.script.refuses_session:
            await self.fail("invalid_request", self.script.refuses_session, event, fatal=True)
        elif not set(asked) <= SESSION_FIELDS:
            await self.fail("invalid_request", "invalid session configuration", event)
        elif formats != [self.rate_hz, RATE_HZ]:
            await self.fail("invalid_request", "unsupported PCM format or sample rate", event)
        else:
            self.config = asked
            self.tasks.append(self.start())
            granted = {**GRANTED, **self.script.changes}
            session = self.session() | {"sglang": {"granted": granted}}
            if self.script.confirms:
                await self.send("session.updated", client_event_id=event["event_id"], session=session)

    async def on_input_audio_buffer_append(self, event) -> None:
        if event["sglang"] != {"seq": self.next_seq}:
            await self.fail("invalid_sequence", f"{event['sglang']} where {self.next_seq} is due", event)
            return
        self.next_seq += 1
        await super().on_input_audio_buffer_append(event)
        end_ms = self.heard_samples * 1000 / self.rate_hz
        told = {"seq": event["sglang"]["seq"], "accepted_end_ms": end_ms}
        await self.send("sglang.input_audio.accepted", client_event_id=event["event_id"], **told)

    async def detect(self, samples) -> None:
        """The model's own sense of turns; who speaks into its answer ends it."""
        what = self.ears.hear(samples)
        if what == "started":
            self.user_item = self.name("item")
            await self.interrupt()
        elif what == "ended":
            await self.end_turn(self.heard_samples * 1000 // self.rate_hz)

    def shown(self, status: str, reason: str | None = None) -> dict[str, Json]:
        return super().shown(status, reason) | {"status_details": {"reason": reason or "stop"}}

    async def on_session_close(self, event) -> None:
        await self.send("session.closed", reason="client_closed", client_event_id=event["event_id"])
        await self.socket.close()
