"""One WebSocket to a provider: opened with a deadline, logged, and every way it fails in one line."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.typing import Subprotocol

from pytest_voicebench.agents.addresses import shown_url
from pytest_voicebench.agents.arriving import MOST_FRAMES, ArrivingConnection
from pytest_voicebench.agents.audio_frame import AudioFrame, as_text
from pytest_voicebench.agents.credentials import Secret, scrubbed, secrets_of
from pytest_voicebench.agents.refusals import Unreachable, short
from pytest_voicebench.agents.turns import turns_of_this_loop
from pytest_voicebench.agents.wire_failures import KEEPALIVE_S, LARGEST_MESSAGE, told_end, wire_refusal
from pytest_voicebench.agents.wire_log import WireLog

Json = Any
Frame = TypeVar("Frame")

OPEN_TIMEOUT_S = 10.0
HANDSHAKE_TIMEOUT_S = 10.0
"""For the provider's own greeting, after the socket is open."""
CLOSE_TIMEOUT_S = 2.0
LEAVE_TIMEOUT_S = 0.5
"""For the farewell to a server whose place another connection has taken already."""

ENDED_WELL = (1000, 1005)
"""Closing codes of a server that hangs up: done, and none given."""

_QUIET = logging.Logger("pytest_voicebench.wire", logging.CRITICAL)  # the library's own debug log shows headers
_QUIET.addHandler(logging.NullHandler())


class WireBroken(Exception):  # noqa: N818 - names what is the case
    """An open line ended in a way that is nobody's hanging up, or carried what cannot be read; one line.

    `code` is the closing code that the server gave, None where it gave none.
    """

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class Garbled(WireBroken):
    """The line stands, but what came over it cannot be read; one line."""


class Wire:
    """An open WebSocket of JSON objects, and of bytes where the protocol has them.

    Sending on a closed one does nothing: receiving says what became of it.
    """

    def __init__(
        self,
        connection: ArrivingConnection,
        log: WireLog,
        secrets: Sequence[Secret],
        *,
        where: str,
        json_in_binary: bool = False,
        shown: Callable[[Json], Json] | None = None,
    ) -> None:
        self._connection = connection
        self._where = where
        self._log = log
        self._secrets = secrets
        self._json_in_binary = json_in_binary
        self._shown = shown or (lambda event: event)
        self._left = False
        self._turns = turns_of_this_loop()
        self._opened_s = log.now_s()
        self.arrived_s: float | None = None
        """When the latest frame arrived that was given to whoever receives, by the loop's clock."""

    def now_s(self) -> float:
        """The present of whoever reads: when the frame arrived that is read now; before the first one, the time."""
        return self._log.now_s() if self.arrived_s is None else self.arrived_s

    async def send(self, event: Mapping[str, Json]) -> bool:
        """Send one object, and say whether it left. Waits while the server takes nothing."""
        try:
            await self._connection.send(as_text(event))
        except ConnectionClosed:
            return False
        self._log.sent(self._shown(event))
        return True

    async def send_bytes(self, data: bytes) -> bool:
        """Send one binary frame, and say whether it left."""
        try:
            await self._connection.send(data)
        except ConnectionClosed:
            return False
        self._log.sent(_shown_bytes(data))
        return True

    async def send_audio(self, frame: AudioFrame, base64_text: str) -> bool:
        """Send one block of audio, as `send` does an object."""
        try:
            await self._connection.send(frame.filled(base64_text))
        except ConnectionClosed:
            return False
        self._log.sent_as(frame.shown(len(base64_text)))
        return True

    async def receive(self) -> AsyncIterator[dict[str, Json]]:
        """Objects until the server hangs up. Raises WireBroken for any other end, Garbled for what is no object."""
        while (frame := await self._frame()) is not None:
            yield self._read(frame)

    async def receive_mixed(self) -> AsyncIterator[dict[str, Json] | bytes]:
        """As `receive`, for protocols with binary frames: these come as they are."""
        while (frame := await self._frame()) is not None:
            if isinstance(frame, bytes):
                self._log.received(_shown_bytes(frame), self.arrived_s)
                yield frame
            else:
                yield self._read(frame)

    async def _frame(self) -> str | bytes | None:
        """The next frame; None when the server has hung up. Raises WireBroken for any other end."""
        try:
            frame, arrived_s = await self._connection.arrived()
        except ConnectionClosed as closed:
            if self._left:
                return None
            told = told_end(closed, self.scrubbed)
            self._log.note(told)
            if closed.rcvd is not None and closed.rcvd.code in ENDED_WELL:
                return None
            raise WireBroken(told, closed.rcvd.code if closed.rcvd else None) from None
        await self._turns.take()
        self.arrived_s = max(arrived_s, self._opened_s)  # a greeting may come with the handshake
        return frame

    def _read(self, frame: str | bytes) -> dict[str, Json]:
        if isinstance(frame, bytes) and self._json_in_binary:
            frame = frame.decode(errors="replace")
        if isinstance(frame, bytes):
            self._log.note(f"binary frame of {len(frame)} bytes")
            raise Garbled(f"the server sent a binary frame of {len(frame)} bytes where JSON is due")
        if isinstance(frame, str):  # before anything is cut or read: what comes of a key in two is not found again
            frame = self.scrubbed(frame)
        try:
            event = json.loads(frame)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict):
            self._log.note(f"not a JSON object: {frame[:200]}")
            raise Garbled(f"the server sent what is not a JSON object: {short(frame, 80)!r}")
        self._log.received(self._shown(event), self.arrived_s)
        return event

    async def wait_for(self, found: Callable[[dict[str, Json]], bool], what: str) -> dict[str, Json]:
        """The first object for which `found` holds; others are passed over. Raises Unreachable as `first` does."""
        return await self.first(self.receive(), found, what)

    async def first(
        self, frames: AsyncIterator[Frame], found: Callable[[Frame], bool], what: str, limit_s: float | None = None
    ) -> Frame:
        """The first of these frames for which `found` holds; others are passed over.

        Raises Unreachable when it does not come within the limit (HANDSHAKE_TIMEOUT_S), or the line ends before it.
        """
        limit_s = HANDSHAKE_TIMEOUT_S if limit_s is None else limit_s
        try:
            async with asyncio.timeout(limit_s):
                async for frame in frames:
                    if found(frame):
                        return frame
            refused = Unreachable("rejected", f"{self._where}: the server hung up before {what}")
        except TimeoutError:
            refused = Unreachable("timeout", f"{self._where}: no {what} within {limit_s:.0f} s")
        except WireBroken as broken:
            refused = Unreachable("rejected", f"{self._where}: before {what}: {broken}")
        self._log.note(str(refused))
        raise refused

    async def farewell(self, event: Mapping[str, Json]) -> bool:
        """Send the last object, and say whether it left; who reads no more is not waited for."""
        try:
            async with asyncio.timeout(LEAVE_TIMEOUT_S):
                return await self.send(event)
        except TimeoutError:
            return False

    async def leave(self) -> None:
        """Hang up before the line is closed: whoever receives comes to an end at once, and without a fault."""
        self._left = True
        self._log.note("left this connection")
        try:
            async with asyncio.timeout(LEAVE_TIMEOUT_S):
                await self._connection.close()
        except TimeoutError:
            self._connection.transport.abort()

    def scrubbed(self, text: str) -> str:
        """The text without the key, and without what is secret in the address."""
        return scrubbed(text, self._secrets)


@asynccontextmanager
async def open_wire(
    url: str,
    *,
    log: WireLog,
    headers: Mapping[str, str] | None = None,
    secret: Secret | None = None,
    hidden: Sequence[Secret] = (),
    json_in_binary: bool = False,
    shown: Callable[[Json], Json] | None = None,
    subprotocol: str | None = None,
) -> AsyncIterator[Wire]:
    """Open a WebSocket and close it in the end. Raises Unreachable, in one line without the key.

    `hidden`: what else no message may repeat; the secrets in the address are among it anyway.

    `json_in_binary`: the provider puts its JSON into binary frames, so these are read like text. `shown`: an event as
    the log keeps it, where that is not the event as it stands. `subprotocol`: what is offered in the handshake; a
    server that does not take it is talked to all the same.

    No proxy is used, no redirect followed and nothing tried again: a measurement knows whom it measures. Frames are not
    compressed, since that takes time from other conversations.
    """
    secrets = [*([secret] if secret else []), *secrets_of(url), *hidden]
    for one in secrets:
        log.hide(one)
    where = shown_url(url)
    try:
        connection = await _Connect(
            url,
            additional_headers=dict(headers or {}),
            user_agent_header="pytest-voicebench",
            subprotocols=[Subprotocol(subprotocol)] if subprotocol else None,
            proxy=None,
            compression=None,
            open_timeout=OPEN_TIMEOUT_S,
            ping_interval=KEEPALIVE_S,
            ping_timeout=KEEPALIVE_S,
            close_timeout=CLOSE_TIMEOUT_S,
            max_size=LARGEST_MESSAGE,
            max_queue=MOST_FRAMES,
            create_connection=ArrivingConnection,
            logger=_QUIET,
        )
    except (OSError, WebSocketException, EOFError, ValueError) as error:
        refused = wire_refusal(error, where, secrets, secret, OPEN_TIMEOUT_S)
        log.note(str(refused))
        raise refused from None
    assert isinstance(connection, ArrivingConnection)
    log.note(f"connected to {where}")
    try:
        yield Wire(connection, log, secrets, where=where, json_in_binary=json_in_binary, shown=shown)
    finally:
        await connection.close()


class _Connect(connect):
    """Follows no redirect: a key goes where it was sent, and nowhere else."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


def _shown_bytes(data: bytes) -> dict[str, Json]:
    """A binary frame as the log has it: frames of one length in a row are one row."""
    return {"binary": f"<{len(data)} bytes>"}
