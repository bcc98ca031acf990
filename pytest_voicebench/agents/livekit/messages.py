"""Messages of the console connection: a length of four bytes, then an AgentSessionMessage."""

from __future__ import annotations

import struct
from asyncio import IncompleteReadError, StreamReader
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from livekit.protocol.agent_pb.agent_session import AgentSessionMessage

LARGEST_MESSAGE = 1 << 20
"""Bytes; both sides refuse more."""

WIRE_HZ = 48_000
"""The rate of sound in both directions."""

_LENGTH = struct.Struct(">I")
_SHOWN_BYTES = 16


class ConsoleBroken(Exception):  # noqa: N818 - names what is the case
    """What came over the connection cannot be read, or it broke in the middle of a message; one line."""


def framed(message: AgentSessionMessage) -> bytes:
    """A message as it goes over the connection."""
    data: bytes = message.SerializeToString()
    return _LENGTH.pack(len(data)) + data


def sound(pcm: bytes) -> AgentSessionMessage:
    """The user's sound: mono PCM16 at 48 kHz, little-endian."""
    from livekit.protocol.agent_pb.agent_session import AgentSessionMessage

    frame = AgentSessionMessage.ConsoleIO.AudioFrame(
        data=pcm, sample_rate=WIRE_HZ, num_channels=1, samples_per_channel=len(pcm) // 2
    )
    return AgentSessionMessage(audio_input=frame)


def playback_finished() -> AgentSessionMessage:
    """What was flushed has been heard to its end."""
    from livekit.protocol.agent_pb.agent_session import AgentSessionMessage

    return AgentSessionMessage(audio_playback_finished=AgentSessionMessage.ConsoleIO.AudioPlaybackFinished())


async def next_message(reader: StreamReader) -> AgentSessionMessage | None:
    """The next message; None where the other side hung up between two. Raises ConsoleBroken.

    A connection that is reset between two messages was hung up: that is what a closed socket does with the sound that
    still comes to it.
    """
    from google.protobuf.message import DecodeError
    from livekit.protocol.agent_pb.agent_session import AgentSessionMessage

    try:
        head = await reader.readexactly(_LENGTH.size)
    except IncompleteReadError as error:
        if error.partial:
            raise ConsoleBroken("the connection broke off in the middle of a message") from None
        return None
    except OSError:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > LARGEST_MESSAGE:
        raise ConsoleBroken(
            f"the agent announced a message of {length} bytes, more than 1 MiB (it begins with {head!r})"
        )
    try:
        data = await reader.readexactly(length)
        return AgentSessionMessage.FromString(data)
    except (IncompleteReadError, OSError):
        raise ConsoleBroken("the connection broke off in the middle of a message") from None
    except DecodeError:
        told = f"{length} bytes that are no AgentSessionMessage ({data[:_SHOWN_BYTES]!r}...)"
        raise ConsoleBroken(f"the agent sent {told}") from None


def as_json(message: AgentSessionMessage) -> dict[str, Any]:
    """A message for the log; sound as its length."""
    from google.protobuf.json_format import MessageToDict

    kind = message.WhichOneof("message")
    if kind in ("audio_input", "audio_output"):
        frame = getattr(message, kind)
        return {kind: f"<{len(frame.data)} bytes, {frame.sample_rate} Hz>"}
    found: dict[str, Any] = MessageToDict(message, preserving_proto_field_name=True)
    return found
