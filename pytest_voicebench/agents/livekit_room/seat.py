"""The caller's seat in a room: the user's track out; the agent's track, session and states in, in one queue."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_voicebench.agents.livekit.messages import LARGEST_MESSAGE, WIRE_HZ, as_json
from pytest_voicebench.agents.livekit_room.arrivals import Arrival, Gone, Heard, Sound, States, Told
from pytest_voicebench.agents.livekit_room.pace import WAITING_S, Pace
from pytest_voicebench.agents.livekit_room.service import Server
from pytest_voicebench.agents.refusals import Unreachable
from pytest_voicebench.agents.turns import turns_of_this_loop
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.audio import RATE_HZ, Samples

if TYPE_CHECKING:
    import livekit.rtc as rtc

SESSION_TOPIC = "lk.agent.session"
STATE_ATTRIBUTE = "lk.agent.state"

JOIN_S = 20.0
"""From the first byte to a seat; the client itself tries several ways."""
LEAVE_S = 3.0
CUSHION_S = 0.04
"""Silence before the first block: without it a track runs dry whenever a block is a little late, and the voice breaks
(seven times in ten seconds of a tone; with it, never)."""
FRAME_MS = 20

MOST_UNREAD = 64
"""So many messages of the agent's session, 1 MiB each at most, may wait to be read by the conversation."""
MOST_COMING = 1024
"""So many more may wait for that; a room cannot hold anybody back, so whoever sends more ends the conversation."""

_HUNG_UP = ("CLIENT_INITIATED", "ROOM_DELETED", "PARTICIPANT_REMOVED")
"""How an agent ends a call: it leaves, deletes the room, or sends the caller out."""

logging.getLogger("livekit").addHandler(logging.NullHandler())  # else its warnings go to stderr, unasked


class Seat:
    """In the room from `sit` to `leave`. The first agent who comes is the one who is listened to.

    The participant has no attributes: one that says `lk.simulator` would make agents skip their sound.
    """

    def __init__(self, log: WireLog) -> None:
        import livekit.rtc as rtc

        self._log = log
        self._room = rtc.Room()
        self._turns = turns_of_this_loop()
        self._arrived: asyncio.Queue[tuple[Arrival, float]] = asyncio.Queue()
        self._readers: asyncio.Queue[rtc.ByteStreamReader] = asyncio.Queue(MOST_COMING)
        self._unread = asyncio.Semaphore(MOST_UNREAD)
        self._tasks: set[asyncio.Task[None]] = set()
        self._agent: str | None = None
        self._track: str | None = None
        self._source: rtc.AudioSource | None = None
        self._left = False
        self._over = False
        self._began = False
        self._pace = Pace(WIRE_HZ)

    @property
    def has_agent(self) -> bool:
        """Whether an agent has come."""
        return self._agent is not None

    async def sit(self, server: Server, room: str) -> None:
        """Join, and publish the user's track. Raises Unreachable."""
        import livekit.rtc as rtc

        self._listen()
        try:
            async with asyncio.timeout(JOIN_S):
                await self._room.connect(server.url, server.token(room))
                self._source = rtc.AudioSource(WIRE_HZ, 1, queue_size_ms=round(WAITING_S * 1000))
                track = rtc.LocalAudioTrack.create_audio_track("caller", self._source)
                options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE, dtx=False, red=False)
                await self._room.local_participant.publish_track(track, options)
        except TimeoutError:
            raise Unreachable("timeout", f"{server.where}: no seat in the room within {JOIN_S:g} s") from None
        except (rtc.ConnectError, rtc.participant.PublishTrackError) as error:
            told = server.scrub(" ".join(error.message.split()))[:200]
            raise Unreachable("rejected", f"{server.where}: cannot join the room: {told}") from None
        self._spawn(self._read_sessions())
        self._log.note("the caller is in the room, and the user's track is published")

    async def send(self, samples: Samples) -> None:
        """One block of the user's voice at WIRE_HZ. In a room that is lost nothing happens."""
        if self._source is None or self._left:
            return
        if not self._began:
            self._began = True
            await self._put(np.zeros(round(CUSHION_S * WIRE_HZ), np.int16))
        await self._put(samples)

    async def _put(self, samples: Samples) -> None:
        import livekit.rtc as rtc

        assert self._source is not None
        if not self._pace.takes(samples, asyncio.get_running_loop().time()):
            self._log.note("a block of a pause is left out, to catch up")
            return
        pcm = samples.astype("<i2", copy=False).tobytes()
        self._log.sent_as(f'{{"user_track":"<{len(pcm)} bytes, {WIRE_HZ} Hz>"}}')
        with suppress(Exception):  # what became of the room, arriving says; the library raises bare exceptions
            await self._source.capture_frame(rtc.AudioFrame(pcm, WIRE_HZ, 1, len(samples)))

    async def next(self) -> tuple[Arrival, float]:
        """What arrives next, and when it arrived, by the loop's clock."""
        arrival, arrived_s = await self._arrived.get()
        if isinstance(arrival, Told):
            self._unread.release()
        await self._turns.take()
        return arrival, arrived_s

    async def leave(self) -> None:
        """Leave the room, whatever state it is in."""
        self._left = True
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=LEAVE_S)
        with suppress(Exception):
            async with asyncio.timeout(LEAVE_S):
                await self._room.disconnect()
                if self._source is not None:
                    await self._source.aclose()

    def _listen(self) -> None:
        room = self._room
        room.on("participant_connected", self._came)
        room.on("participant_disconnected", self._went)
        room.on("participant_attributes_changed", self._says)
        room.on("track_subscribed", self._has_track)
        room.on("local_track_subscribed", lambda track: self._arrive(Heard(), "the user's track is received"))
        room.on("reconnecting", lambda: self._gone("the connection to the room broke"))
        room.on("disconnected", self._is_out)
        room.register_byte_stream_handler(SESSION_TOPIC, self._session_opens)

    def _arrive(self, arrival: Arrival, note: str) -> None:
        self._log.note(note)
        self._put_down(arrival)

    def _put_down(self, arrival: Arrival) -> None:
        self._arrived.put_nowait((arrival, asyncio.get_running_loop().time()))

    def _gone(self, why: str | None, note: str = "") -> None:
        if not self._left:
            self._over = True
            self._arrive(Gone(why=why), note or str(why))

    def _came(self, participant: rtc.RemoteParticipant) -> None:
        import livekit.rtc as rtc

        if participant.kind == rtc.ParticipantKind.PARTICIPANT_KIND_AGENT and self._agent is None:
            self._agent = participant.identity
            self._log.note("an agent has come into the room")
            self._states(participant)

    def _went(self, participant: rtc.RemoteParticipant) -> None:
        if participant.identity == self._agent:
            reason = _reason(participant.disconnect_reason)
            lost = reason not in _HUNG_UP
            self._gone(f"the agent was lost ({reason})" if lost else None, f"the agent left the room ({reason})")

    def _is_out(self, reason: Any) -> None:
        told = _reason(reason)
        lost = told not in _HUNG_UP
        self._gone(f"the room was lost ({told})" if lost else None, f"the caller is out of the room ({told})")

    def _says(self, changed: dict[str, str], participant: Any) -> None:
        if STATE_ATTRIBUTE in changed and participant.identity == self._agent:
            self._states(participant)

    def _states(self, participant: rtc.RemoteParticipant) -> None:
        if name := participant.attributes.get(STATE_ATTRIBUTE):
            self._put_down(States(name=name))
            self._log.received({STATE_ATTRIBUTE: name})

    def _has_track(self, track: Any, publication: Any, participant: rtc.RemoteParticipant) -> None:
        import livekit.rtc as rtc

        self._came(participant)
        is_sound = track.kind == rtc.TrackKind.KIND_AUDIO
        if is_sound and participant.identity == self._agent and self._track is None:
            self._track = track.sid
            self._log.note(f"the agent's track is received ({publication.name})")
            self._spawn(self._hear(track))

    async def _hear(self, track: Any) -> None:
        """Frames of the agent's track until it ends; then another one may come."""
        import livekit.rtc as rtc

        stream = rtc.AudioStream.from_track(
            track=track, sample_rate=RATE_HZ, num_channels=1, frame_size_ms=FRAME_MS, loop=asyncio.get_running_loop()
        )
        try:
            async for event in stream:
                self._put_down(Sound(samples=np.frombuffer(event.frame.data, np.int16).copy()))
        finally:
            self._track = None
            await stream.aclose()

    def _session_opens(self, reader: rtc.ByteStreamReader, identity: str) -> None:
        if self._agent not in (None, identity) or self._over:
            return
        try:
            self._readers.put_nowait(reader)
        except asyncio.QueueFull:
            self._gone(f"the agent's session sent over {MOST_COMING} messages before they could be read")

    async def _read_sessions(self) -> None:
        """Messages in the order in which they were sent: each is a stream of its own."""
        import livekit.rtc as rtc
        from google.protobuf.message import DecodeError
        from livekit.protocol.agent_pb.agent_session import AgentSessionMessage

        while True:
            reader = await self._readers.get()
            try:
                data = await _whole(reader)
                message = AgentSessionMessage.FromString(data)
            except (DecodeError, ValueError, rtc.StreamError) as flaw:
                self._log.note(f"a message of the agent's session cannot be read ({type(flaw).__name__})")
                continue
            await self._unread.acquire()
            self._log.received(as_json(message))
            self._put_down(Told(message=message))

    def _spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _whole(reader: rtc.ByteStreamReader) -> bytes:
    """Raises ValueError where it is longer than any message may be."""
    data = b""
    async for chunk in reader:
        data += chunk
        if len(data) > LARGEST_MESSAGE:
            raise ValueError("too long")
    return data


def _reason(value: Any) -> str:
    import livekit.rtc as rtc

    if value is None:
        return "no reason given"
    return rtc.DisconnectReason.Name(value) if value in rtc.DisconnectReason.values() else f"reason {value}"
