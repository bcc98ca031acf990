"""A double of vLLM-Omni's duplex endpoint: the client speaks first, the model decides when to speak, events count.

As strict as the real one: a voice to speak with is required of MiniCPM-o, what was played is told by item and response,
a result needs its call.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pytest_voicebench.audio import RATE_HZ
from tests.servers.openai_session import Session
from tests.servers.turn_taking import TurnTaking

Json = Any

SILENCE_MS = 500
UNIT_MS = 1000


def is_wav_url(value: Json) -> bool:
    return isinstance(value, str) and value.startswith("data:audio/wav;base64,UklGR")


class VllmSession(Session):
    """One conversation. `played` is what the client told of playback; `told_seq` the last number it acknowledged."""

    rate_hz = 16_000

    def __init__(self, double, socket) -> None:
        super().__init__(double, socket)
        self.query = {k: v[0] for k, v in parse_qs(urlsplit(socket.request.path).query).items()}
        self.ears = TurnTaking(self.rate_hz, SILENCE_MS)
        self.seq = 0
        self.told_seq = 0
        self.played: list[tuple[str, int, bool]] = []
        self.spoke: set[str] = set()
        self.last_response = ""

    async def send(self, kind: str, /, **fields: Json) -> None:
        response_id = fields.get("response_id") or (fields.get("response") or {}).get("id")
        if kind == "response.output_audio.delta":
            fields |= {"format": "pcm16", "sample_rate_hz": RATE_HZ}
            if response_id not in self.spoke:
                self.spoke.add(response_id)
                await self.send("response.speak", response_id=response_id, item_id=fields["item_id"], metadata={})
        if kind in ("response.created", "response.done"):
            fields["response_id"] = self.last_response = response_id or ""
        if kind == "rate_limits.updated":
            fields = {"rate_limits": []}
        self.seq += 1
        await super().send(kind, server_event_seq=self.seq, session_id="sess_1", **fields)
        if kind == "conversation.item.added":
            await self.send("conversation.item.created", **fields)

    def message_id(self) -> str:
        return f"item_{self.response.id}"

    async def greet(self) -> None:
        """Nothing, unless the client lets the server start with its defaults."""
        if "model" in self.query and self.query.get("autostart") != "0":
            await self.send("session.created", session=self.session())

    async def flat_error(self, code: str, message: str) -> None:
        await self.socket.send(json.dumps({"type": "error", "error": message, "code": code}))

    async def on_session_update(self, event) -> None:
        asked = event.get("session") or {}
        detection = asked.get("turn_detection")
        if self.script.refuses_session:
            await self.flat_error("resource_exhausted", self.script.refuses_session)
        elif "MiniCPM" in asked.get("model", "") and not is_wav_url(asked.get("ref_audio")):
            await self.flat_error("ref_audio_required", "MiniCPM-o needs ref_audio.")
        elif detection is not None and detection.get("type") != "server_vad":
            await self.flat_error("unsupported_turn_detection", "Only server_vad is there.")
        elif asked.get("overlap_policy") not in (None, "barge_in_on_speech" if detection else "listen_only"):
            await self.flat_error("unsupported_turn_detection", "overlap_policy conflicts with turn_detection.")
        else:
            self.config = {**asked, **self.script.changes}
            if self.line is None:
                self.tasks.append(self.start())
            if self.script.confirms:
                await self.send("session.created", session=self.session(), resume_token="resume_1")
                await self.send("session.updated", session=self.session())

    def session(self) -> dict[str, Json]:
        shown = {k: v for k, v in self.config.items() if k not in ("ref_audio", "extra_body")}
        return {"id": "sess_1", "object": "realtime.session", "type": "realtime", "model": self.model, **shown}

    async def detect(self, samples) -> None:
        """The model's own sense of turns; with server_vad the client is told of it."""
        before, now = self.heard_samples - len(samples), self.heard_samples
        unit = self.rate_hz * UNIT_MS // 1000
        if now // unit > before // unit and self.response is None:
            await self.send("response.listen", response={"object": "realtime.response", "status": "listening"})
        what, ms = self.ears.hear(samples), now * 1000 // self.rate_hz
        if what == "started":
            self.user_item = self.name("item")
            if self.detection():
                await self.send("input_audio_buffer.speech_started", audio_start_ms=ms, item_id=self.user_item)
            await self.overlap()
        elif what == "ended":
            await self.end_turn(ms)

    async def end_turn(self, ms: int) -> None:
        if self.detection():
            await super().end_turn(ms)
            return
        self.turns += 1
        if self.turns == 1:
            await self.trouble(self.script.on_turn)
        if hasattr(self.line, "heard_turn"):
            self.line.heard_turn()

    async def overlap(self) -> None:
        """Speech during speech is told with what is made of it."""
        if self.response is None and not self.unplayed_ms():
            return
        policy = self.config.get("overlap_policy", "listen_only")
        action = "barge_in" if policy == "barge_in_on_speech" else "listen"
        await self.send("overlap.decision", policy=policy, action=action, reason=f"policy_{policy}", metadata={})
        if action == "listen":
            return
        if hasattr(self.line, "interrupted"):
            self.line.interrupted()
        if self.response is not None:
            await self.finish("cancelled", "barge_in")
        else:
            await self.send("output_audio_buffer.cleared", response_id=self.last_response)

    def unplayed_ms(self) -> int:
        """What was sent of the last response and not told to be played."""
        item_id = f"item_{self.last_response}"
        sent_ms = self.sent_samples.get(item_id, 0) * 1000 // RATE_HZ
        return sent_ms - max((ms for item, ms, _ in self.played if item == item_id), default=0)

    async def on_playback_ack(self, event) -> None:
        response_id, item_id = event.get("response_id"), event.get("item_id")
        if item_id not in (None, f"item_{response_id}"):
            await self.error("playback_item_mismatch", "playback.ack item_id must match item_<response_id>.", event)
            return
        item_id = f"item_{response_id or self.last_response}"
        if item_id not in self.sent_samples:
            await self.error("playback_item_not_found", f"No item is registered for {response_id}.", event)
            return
        self.played.append((item_id, event["played_ms"], False))
        told = {"item_id": item_id, "played_ms": event["played_ms"], "committed_ms": event.get("committed_ms")}
        await self.send("playback.acknowledged", event=told)

    async def on_conversation_item_truncate(self, event) -> None:
        await super().on_conversation_item_truncate(event)
        self.played.append((event["item_id"], event["audio_end_ms"], True))

    async def on_session_event_ack(self, event) -> None:
        self.told_seq = event["server_event_seq"]

    async def on_session_heartbeat(self, event) -> None:
        await self.send("session.heartbeat_ack")

    async def on_session_resume(self, event) -> None:
        await self.error("unsupported_session_resume", "This server keeps no sessions.", event)

    async def on_session_close(self, event) -> None:
        await self.send("session.closed", reason="client_close", event={})
        await self.socket.close()

    async def on_input_audio_buffer_commit(self, event) -> None:
        """The client says that the user's turn is over; what follows is the model's decision."""
        self.ears.speaks = False
        await self.send("input_audio_buffer.committed", item_id=self.user_item, previous_item_id=None, event={})
        await self.end_turn(self.heard_samples * 1000 // self.rate_hz)

    async def on_conversation_item_create(self, event) -> None:
        await super().on_conversation_item_create(event)
        if self.outputs and not self.open_calls:
            results, self.outputs = self.outputs, []
            await self.line.answer(results)
