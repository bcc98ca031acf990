"""`livekit-room` with every fault of a server of rooms: one line of the right kind, no secret, nothing left behind.

The faults of an API, and of joining, come from a server of ours. What only happens in a room needs a real one, which
VOICEBENCH_LIVEKIT_SERVER names (see test_livekit_room_proof.py). We need the extra `livekit`.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta

import pytest
import stage

from pytest_voicebench.duplex import converse
from pytest_voicebench.runner import Runner
from tests.servers.hostile_room import HostileRoom, listen
from tests.servers.livekit_server import KEY, SECRET, livekit_server
from tests.servers.tls import new_certificate, server_context
from tests.turn_stage import free_port

pytest.importorskip("livekit.rtc", reason="rooms need the extra 'livekit'")

SERVER = os.environ.get("VOICEBENCH_LIVEKIT_SERVER")
needs_server = pytest.mark.skipif(SERVER is None, reason="VOICEBENCH_LIVEKIT_SERVER is not set")
DEADLINE_S = 120.0


@dataclass(frozen=True)
class Told:
    """Where a fault happens, and words of what is said of it."""

    where: str
    words: str


FAULTS = {
    "refused": Told("", "nobody listens there"),
    "dns": Told("", "the name of the host is not known"),
    "self_signed": Told("", "TLS failed: "),
    "no_tls": Told("", "TLS failed: "),
    "tcp_garbage": Told("", "the answer cannot be read"),
    "tcp_closes": Told("", "the connection broke off before the end of the answer"),
    "tcp_silent": Told("", "nothing came for 0.5 s"),
    "ipv6": Told("CreateRoom", "HTTP 500, the server failed"),
    "status_401": Told("CreateRoom", "HTTP 401, the key of LIVEKIT_API_SECRET is refused"),
    "status_403": Told("CreateRoom", "HTTP 403, the key of LIVEKIT_API_SECRET is refused"),
    "status_404": Told("CreateRoom", "HTTP 404, not found"),
    "status_429": Told("CreateRoom", "HTTP 429, too many sessions or requests, or no quota left"),
    "status_500": Told("CreateRoom", "HTTP 500, the server failed"),
    "status_302": Told("CreateRoom", "HTTP 302, refused"),
    "list": Told("CreateRoom", "the answer cannot be read"),
    "garbage": Told("CreateRoom", "the answer cannot be read"),
    "hangs": Told("CreateRoom", "nothing came for 0.5 s"),
    "closes": Told("CreateRoom", "the connection broke off before the end of the answer"),
    "join status_401": Told("join", "cannot join the room: "),
    "join status_404": Told("join", "cannot join the room: "),
    "join status_500": Told("join", "cannot join the room: "),
    "join closes": Told("join", "cannot join the room: "),
    "join garbage": Told("join", "cannot join the room: "),
    "join hangs": Told("join", "no seat in the room within 3 s"),
    "join babbles": Told("join", ""),
}


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """The variables are set, and nobody waits for long."""
    from pytest_voicebench.agents.livekit_room import seat, service

    monkeypatch.setenv("LIVEKIT_API_KEY", KEY)
    monkeypatch.setenv("LIVEKIT_API_SECRET", SECRET)
    monkeypatch.delenv("LIVEKIT_URL", raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # nothing is there; it must not be asked
    monkeypatch.setattr(service, "REQUEST_S", 0.5)
    monkeypatch.setattr(seat, "JOIN_S", 3.0)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return new_certificate(tmp_path_factory.mktemp("certificate"))


def room_agent(url, **more):
    from pytest_voicebench.agents.livekit_room import LiveKitRoom

    return LiveKitRoom(agent_name="nobody", url=url, tools="session", **{"join_timeout_s": 2.0, **more})


def hostile(fault, certificate):
    told = FAULTS[fault]
    kind = {"ipv6": "status_500"}.get(fault, fault.removeprefix("join "))
    tls = server_context(certificate) if fault == "self_signed" else None
    return HostileRoom(kind, told.where, host="::1" if fault == "ipv6" else "127.0.0.1", tls=tls)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_server_of_rooms_is_told_on_one_line(fault, tmp_path, certificate):
    async def talk():
        async with asyncio.timeout(DEADLINE_S), listen(hostile(fault, certificate)) as server:
            at = {
                "refused": f"127.0.0.1:{free_port()}",
                "dns": "no-such-host.invalid",
                "ipv6": f"[::1]:{server.port}",
            }.get(fault, f"127.0.0.1:{server.port}")
            scheme = "wss" if fault in ("self_signed", "no_tls") else "ws"
            held = await converse(stage.scenario(tmp_path), room_agent(f"{scheme}://{at}"))
        await asyncio.sleep(0.5)
        left = [t for t in asyncio.all_tasks() - {asyncio.current_task()} if "RequestHandler" not in repr(t.get_coro())]
        return held, server.seen, left

    held, seen, left = asyncio.run(talk())
    ((kind, message),) = [(p.kind, p.message) for p in held.problems]
    assert kind == "agent_absent"
    assert message.startswith("LiveKit (ws")
    assert FAULTS[fault].words in message
    assert "\n" not in message
    assert SECRET not in message + "".join(held.wire_events)
    assert left == []
    if fault.startswith("join "):
        assert "DeleteRoom" in seen  # what was rented is given back


def test_a_dispatch_that_is_refused_is_told_and_the_room_is_given_back(tmp_path, monkeypatch):
    """The seat is taken by then; here nobody has to sit."""
    from pytest_voicebench.agents.livekit_room.seat import Seat

    async def sit(self, server, room):
        """Nothing."""

    monkeypatch.setattr(Seat, "sit", sit)

    async def talk():
        async with asyncio.timeout(DEADLINE_S), listen(HostileRoom("status_500", "CreateDispatch")) as server:
            held = await converse(stage.scenario(tmp_path), room_agent(f"ws://127.0.0.1:{server.port}"))
        return held, server.seen

    held, seen = asyncio.run(talk())
    ((kind, message),) = [(p.kind, p.message) for p in held.problems]
    assert kind == "agent_absent"
    assert "HTTP 500, the server failed" in message
    assert seen == ["CreateRoom", "CreateDispatch", "DeleteRoom"]


def _held(folder, agent, **suite):
    with closing(Runner()) as runner:
        folder.mkdir()
        return runner.submit(stage.scenario(folder, **suite), agent).result(timeout=DEADLINE_S)


@needs_server
def test_a_token_that_has_expired_opens_no_room(tmp_path, monkeypatch):
    from pytest_voicebench.agents.livekit_room import seat, service

    monkeypatch.setattr(service, "REQUEST_S", 20.0)
    monkeypatch.setattr(seat, "JOIN_S", 20.0)
    monkeypatch.setattr(service, "TOKEN_LASTS", timedelta(minutes=-5))
    with livekit_server(SERVER) as server:
        ((kind, message),) = [(p.kind, p.message) for p in _held(tmp_path / "a", room_agent(server.url)).problems]
    assert kind == "agent_absent"
    assert "cannot join the room: " in message
    assert SECRET not in message


@needs_server
def test_a_server_that_has_vanished_between_two_items_is_absent_for_the_second(tmp_path, monkeypatch):
    from pytest_voicebench.agents.livekit_room import seat, service

    monkeypatch.setattr(service, "REQUEST_S", 20.0)
    monkeypatch.setattr(seat, "JOIN_S", 20.0)
    with livekit_server(SERVER) as server:
        agent = room_agent(server.url)
        first = _held(tmp_path / "a", agent)
    second = _held(tmp_path / "b", agent)
    assert [(p.kind, p.message.partition(":")[0]) for p in first.problems] == [
        ("agent_absent", "no agent came into the room within 2 s")
    ]
    assert [p.kind for p in second.problems] == ["agent_absent"]
    assert "nobody listens there" in second.problems[0].message
