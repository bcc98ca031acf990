"""How a session is opened in each dialect: who speaks first, what is asked for, what the server makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_voicebench.agents.omni import map as openbmb
from pytest_voicebench.agents.omni import sglang, vllm
from pytest_voicebench.agents.omni.asked import Asked
from pytest_voicebench.agents.omni.errors import error_text
from pytest_voicebench.agents.omni.line import OmniState
from pytest_voicebench.agents.openai_realtime.dialects import differences
from pytest_voicebench.agents.protocol import Fault
from pytest_voicebench.agents.refusals import Unreachable
from pytest_voicebench.agents.wire import Wire

Json = Any
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A session that stands: what follows it, remarks on it, and what ends it."""

    state: OmniState
    remarks: list[Fault]
    farewell: Mapping[str, Json]


async def open_vllm(wire: Wire, asked: Asked, now_s: Clock) -> Opened:
    """We speak first; the session's settings come back with the greeting."""
    update = vllm.session_update(asked)
    await wire.send(update)
    created = await _await(wire, "session.created")
    state = vllm.VllmState(now_s=now_s)
    state.take(created)
    told = {k: v for k, v in update["session"].items() if k not in ("ref_audio", "extra_body", "model")}
    return Opened(
        state=state, remarks=_remarks(differences(told, created.get("session"))), farewell={"type": "session.close"}
    )


async def open_sglang(wire: Wire, asked: Asked, now_s: Clock) -> Opened:
    """The server greets; what it grants comes with the session's confirmation."""
    await _await(wire, "session.created")
    await wire.send(sglang.session_update(asked))
    updated = await _await(wire, "session.updated")
    granted = _inner(_inner(_inner(updated, "session"), "sglang"), "granted")
    rejections = granted.get("rejections")
    told = [
        f"{r.get('field')}: {r.get('reason')}"[:200]
        for r in (rejections if isinstance(rejections, list) else [])
        if isinstance(r, dict)
    ]
    return Opened(
        state=sglang.SglangState(now_s=now_s, granted=granted),
        remarks=_remarks(told),
        farewell={"type": "session.close", "event_id": "event_close"},
    )


async def open_map(wire: Wire, asked: Asked, _now_s: Clock) -> Opened:
    """The server has a queue; when it is over we ask, and the session stands."""
    while (await _await(wire, *openbmb.ADMITTED, *openbmb.QUEUED))["type"] in openbmb.QUEUED:
        pass
    await wire.send(openbmb.session_init(asked))
    await _await(wire, "session.created")
    farewell = {"type": "session.close", "reason": "user_stop"}
    return Opened(state=openbmb.MapState(), remarks=[], farewell=farewell)


async def _await(wire: Wire, *kinds: str) -> dict[str, Json]:
    """The first event of these kinds. Raises Unreachable, also for an error or an end in its place."""
    ends = ("error", "session.closed", "session.expired")
    event = await wire.wait_for(lambda e: e.get("type") in (*kinds, *ends), kinds[0])
    if event["type"] in kinds:
        return event
    told = error_text(event) if event["type"] == "error" else str(event.get("reason") or "no reason given")
    raise Unreachable("rejected", wire.scrubbed(f"the server refused the session: {told}"))


def _remarks(told: list[str]) -> list[Fault]:
    return [Fault(kind="agent", message=f"the server did not take a setting: {text}") for text in told]


def _inner(event: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    value = event.get(name)
    return value if isinstance(value, Mapping) else {}
