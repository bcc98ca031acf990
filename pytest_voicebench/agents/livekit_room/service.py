"""A LiveKit server as its API sees it: a room for one conversation, and an agent that is sent into it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from pytest_voicebench.agents.addresses import shown_url
from pytest_voicebench.agents.credentials import Secret
from pytest_voicebench.agents.refusals import Unreachable, status_refusal
from pytest_voicebench.agents.wire_log import WireLog

if TYPE_CHECKING:
    from livekit.api import LiveKitAPI

CALLER = "voicebench-caller"
"""The identity under which we are in the room."""

REQUEST_S = 10.0
DELETE_S = 5.0
TOKEN_LASTS = timedelta(hours=1)
EMPTY_S = 60
DEPARTURE_S = 20
"""A room that nobody deletes, since we died: gone so long after its creation, or after its last one left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where the server is, and how we prove who we are."""

    url: str
    key: Secret
    secret: Secret

    @property
    def where(self) -> str:
        """For messages."""
        return f"LiveKit ({shown_url(self.url)})"

    def scrub(self, text: str) -> str:
        """The text without the key and the secret."""
        return self.secret.scrub(self.key.scrub(text))

    def token(self, room: str) -> str:
        """What lets the caller into this one room."""
        from livekit import api

        token = api.AccessToken(self.key.reveal(), self.secret.reveal()).with_identity(CALLER).with_ttl(TOKEN_LASTS)
        return token.with_grants(api.VideoGrants(room_join=True, room=room)).to_jwt()


class RentedRoom:
    """A room that is ours alone."""

    def __init__(self, name: str, server: Server, api: LiveKitAPI, log: WireLog) -> None:
        self.name = name
        self.server = server
        self._api = api
        self._log = log

    async def dispatch(self, agent_name: str, metadata: str) -> None:
        """Send for an agent; whether one comes is another thing. Raises Unreachable."""
        from livekit import api

        request = api.CreateAgentDispatchRequest(agent_name=agent_name, room=self.name, metadata=metadata)
        self._log.sent({"create_dispatch": {"agent_name": agent_name, "room": self.name, "metadata": metadata}})
        await answered(self._api.agent_dispatch.create_dispatch(request), self.server)

    async def was_taken(self) -> bool:
        """Whether a worker has taken the job of a dispatch; False where the server does not say."""
        try:
            async with asyncio.timeout(REQUEST_S):
                found = await self._api.agent_dispatch.list_dispatch(self.name)
        except Exception:  # noqa: BLE001 - it only makes a message better
            return False
        return any(dispatch.state.jobs for dispatch in found)

    async def create(self) -> None:
        """Raises Unreachable."""
        from livekit import api

        request = api.CreateRoomRequest(name=self.name, empty_timeout=EMPTY_S, departure_timeout=DEPARTURE_S)
        self._log.sent({"create_room": {"name": self.name}})
        await answered(self._api.room.create_room(request), self.server)

    async def delete(self) -> None:
        """Best effort: a room that stays is emptied, and goes by itself."""
        from livekit import api

        self._log.sent({"delete_room": {"name": self.name}})
        try:
            async with asyncio.timeout(DELETE_S):
                await answered(self._api.room.delete_room(api.DeleteRoomRequest(room=self.name)), self.server)
        except (TimeoutError, Unreachable) as refused:
            self._log.note(f"the room was not deleted: {refused or 'no answer'}")


@asynccontextmanager
async def rented_room(name: str, server: Server, log: WireLog) -> AsyncIterator[RentedRoom]:
    """A new room, deleted with the block. Raises Unreachable, one line."""
    from livekit import api

    key, secret = server.key.reveal(), server.secret.reveal()
    async with api.LiveKitAPI(server.url, key, secret, failover=False) as client:
        room = RentedRoom(name, server, client, log)
        await room.create()
        try:
            yield room
        finally:
            await room.delete()


async def answered(request: Awaitable[object], server: Server) -> None:
    """Wait for an answer. Raises Unreachable, whose kind says why there is none."""
    import aiohttp
    from livekit import api

    where = server.where
    try:
        async with asyncio.timeout(REQUEST_S):  # the client's own limit is not kept by its requests
            await request
    except api.TwirpError as error:
        told = server.scrub(error.message)
        raise status_refusal(error.status, told, where=where, headers={}, secret=server.secret) from None
    except TimeoutError:
        raise Unreachable("timeout", f"{where}: nothing came for {REQUEST_S:g} s") from None
    except aiohttp.ClientConnectorDNSError:
        raise Unreachable("dns", f"{where}: the name of the host is not known") from None
    except aiohttp.ClientSSLError as error:
        raise Unreachable("tls", f"{where}: TLS failed: {server.scrub(_line(error))}") from None
    except aiohttp.ClientConnectorError:
        raise Unreachable("refused", f"{where}: nobody listens there") from None
    except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError) as error:
        raise Unreachable("refused", f"{where}: the connection broke off before the end of the answer") from error
    except Exception as error:  # noqa: BLE001 - the client raises what its parsers raise
        told = server.scrub(_line(error))
        raise Unreachable("rejected", f"{where}: the answer cannot be read ({told})") from None


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text[:200] or type(error).__name__
