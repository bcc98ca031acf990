"""A call is created by one HTTP request, which says all that is asked of it, and joined at the address it gives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pytest_voicebench.agents.addresses import shown_url, websocket_flaw
from pytest_voicebench.agents.briefing import briefing
from pytest_voicebench.agents.credentials import Secret
from pytest_voicebench.agents.http_client import certificates, open_client
from pytest_voicebench.agents.http_failures import failure
from pytest_voicebench.agents.protocol import Fault, Setup
from pytest_voicebench.agents.refusals import Unreachable, status_refusal
from pytest_voicebench.agents.wire import OPEN_TIMEOUT_S
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.tools import Tool

Json = Any

INPUT_HZ = 16_000
JOIN_TIMEOUT_S = 30
"""So long the provider keeps a call that nobody joins."""

DELETE_TIMEOUT_S = 2.0
"""For giving back a call that was not joined: the item is an error already, and waits for this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a call shall be like. `options` go into the request as they stand, `detection` as its turn detection."""

    options: Mapping[str, Json]
    detection: Mapping[str, Json]
    agent_begins: bool
    client_buffer_ms: int
    tool_timeout_s: float
    max_duration_s: int


def call_request(asked: Asked, setup: Setup) -> dict[str, Json]:
    """The body of the request."""
    return {
        "systemPrompt": briefing(setup),
        **asked.options,
        "firstSpeakerSettings": {"agent": {}} if asked.agent_begins else {"user": {}},
        "initialOutputMedium": "MESSAGE_MEDIUM_VOICE",
        "vadSettings": dict(asked.detection),
        "selectedTools": [_declared(tool, asked.tool_timeout_s) for tool in setup.tools],
        "medium": {
            "serverWebSocket": {
                "inputSampleRate": INPUT_HZ,
                "outputSampleRate": RATE_HZ,
                "clientBufferSizeMs": asked.client_buffer_ms,
            }
        },
        "joinTimeout": duration(JOIN_TIMEOUT_S),
        "maxDuration": duration(asked.max_duration_s),
        "recordingEnabled": False,
    }


def duration(seconds: float) -> str:
    """A duration as the API writes it: `0.384s`."""
    return f"{seconds:g}s"


def _declared(tool: Tool, timeout_s: float) -> dict[str, Json]:
    schema = tool.json_schema()
    parameters = [
        {
            "name": name,
            "location": "PARAMETER_LOCATION_BODY",
            "schema": inner,
            "required": name in schema["required"],
        }
        for name, inner in schema["properties"].items()
    ]
    return {
        "temporaryTool": {
            "modelToolName": tool.name,
            "description": tool.description,
            "dynamicParameters": parameters,
            "timeout": duration(timeout_s),
            "client": {},
        }
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """A call that waits: the address at which it is joined, and what of it the server changed, for the report."""

    join_url: str
    call_id: str | None
    remarks: Sequence[Fault]


async def create_call(url: str, request: Mapping[str, Json], *, secret: Secret | None, log: WireLog) -> Created:
    """Ask for a call. Raises Unreachable, in one line without the key."""
    log.hide(secret)
    where = f"call at {shown_url(url)}"
    await asyncio.to_thread(certificates)
    log.sent({"type": "calls.create", **request})
    try:
        status, headers, body = await _posted(f"{url.rstrip('/')}/calls", request, secret)
        if not 200 <= status < 300:
            raise status_refusal(status, _told(body), where=where, headers=headers, secret=secret)
        call = json.loads(body)
        log.received({"type": "calls.create", "status": status, **_shown(call)})
        return Created(join_url=_join_url(call, where), call_id=_call_id(call), remarks=_remarks(request, call))
    except Exception as error:
        refused = failure(error, where=where, limit_s=OPEN_TIMEOUT_S, secret=secret)
        log.note(str(refused))
        if refused is error:
            raise
        raise refused from error


async def delete_call(url: str, call: Created, *, secret: Secret | None, log: WireLog) -> None:
    """Give back the place of a call that was not joined; where that fails, it is kept for JOIN_TIMEOUT_S. No errors."""
    if call.call_id is None:
        return
    log.sent({"type": "calls.delete", "callId": call.call_id})
    try:
        async with asyncio.timeout(DELETE_TIMEOUT_S), open_client() as client:
            place = f"{url.rstrip('/')}/calls/{quote(call.call_id, safe='')}"
            answer = await client.delete(place, headers=_headers(secret))
            log.received({"type": "calls.delete", "status": answer.status_code})
    except Exception as error:  # noqa: BLE001 - why it could not be joined is what is told
        log.note(str(failure(error, where=f"call at {shown_url(url)}", limit_s=DELETE_TIMEOUT_S, secret=secret)))


def _headers(secret: Secret | None) -> dict[str, str]:
    return {"User-Agent": "pytest-voicebench", **({"X-API-Key": secret.reveal()} if secret else {})}


async def _posted(url: str, request: Mapping[str, Json], secret: Secret | None) -> tuple[int, Mapping[str, str], bytes]:
    """Status, headers and body of the answer."""
    async with asyncio.timeout(OPEN_TIMEOUT_S), open_client() as client:
        answer = await client.post(
            url, json=dict(request), headers=_headers(secret), params={"enableGreetingPrompt": "false"}
        )
        return answer.status_code, answer.headers, answer.content


def _join_url(call: Json, where: str) -> str:
    """Raises Unreachable where there is none that can be joined."""
    address = call.get("joinUrl") if isinstance(call, dict) else None
    if not isinstance(address, str) or websocket_flaw(address):
        raise Unreachable("rejected", f"{where}: the answer holds no joinUrl of a WebSocket")
    return address


def _call_id(call: Json) -> str | None:
    found = call.get("callId") if isinstance(call, dict) else None
    return found if isinstance(found, str) and found else None


def _remarks(request: Mapping[str, Json], call: dict[str, Json]) -> list[Fault]:
    """The answer repeats the request; a model that is told something else is another one than was to be measured."""
    changed = call.get("systemPrompt") not in (None, request["systemPrompt"])
    return [Fault(kind="agent", message="the server did not take a setting: systemPrompt was changed")] * changed


def _shown(call: Json) -> dict[str, Json]:
    """What the log needs of the answer, which repeats the request; whoever has the whole address can join the call."""
    found = call if isinstance(call, dict) else {}
    address = found.get("joinUrl")
    return {
        "callId": found.get("callId"),
        "joinUrl": shown_url(address) if isinstance(address, str) and not websocket_flaw(address) else None,
    }


def _told(body: bytes) -> str:
    """The service's own message: `detail` of its JSON, or all of it where fields have messages of their own."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    detail = found.get("detail") if isinstance(found, dict) else None
    return detail if isinstance(detail, str) else json.dumps(found)
