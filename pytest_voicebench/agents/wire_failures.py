"""Why a WebSocket did not come about, and how an open one ended, in one line without a key."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from websockets.exceptions import ConnectionClosed, InvalidStatus

from pytest_voicebench.agents.credentials import Secret, scrubbed
from pytest_voicebench.agents.refusals import Unreachable, connection_refusal, proxy_note, short, status_refusal

KEEPALIVE_S = 20.0
LARGEST_MESSAGE = 16 * 1024 * 1024
"""Bytes; the largest events that a provider documents are 15 MiB."""


def wire_refusal(
    error: Exception, where: str, secrets: Sequence[Secret], key: Secret | None, limit_s: float
) -> Unreachable:
    """Why no connection came about, in one line."""
    if known := connection_refusal(error, where):
        return known
    told = short(scrubbed(str(getattr(error, "strerror", None) or error), secrets))
    match error:
        case InvalidStatus():
            response = error.response
            told = scrubbed(_error_message(bytes(response.body or b"")), secrets)
            headers = {n.title(): value for n, value in response.headers.raw_items()}  # get() raises for two of a name
            return status_refusal(response.status_code, told, where=where, headers=headers, secret=key)
        case TimeoutError():
            return Unreachable("timeout", f"{where}: no connection within {limit_s:.0f} s{proxy_note()}")
        case OSError():
            told = told or "the connection broke off while it was opened"
            return Unreachable("refused", f"{where}: {told}{proxy_note()}")
    return Unreachable("rejected", f"{where}: no WebSocket there: {told}")


def _error_message(body: bytes) -> str:
    """`error.message` of a JSON body; empty where there is none."""
    try:
        message = json.loads(body)["error"]["message"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return message if isinstance(message, str) else ""


def told_end(closed: ConnectionClosed, scrub: Callable[[str], str]) -> str:
    """How an open connection ended, in one line."""
    sent, received = closed.sent, closed.rcvd
    if received is not None and (sent is None or closed.rcvd_then_sent):
        reason = f" {short(scrub(received.reason))}" if received.reason else ""
        return f"the server closed the connection ({received.code}{reason})"
    if sent is not None and sent.code == 1009:
        return f"the server sent a message of more than {LARGEST_MESSAGE // 2**20} MiB (1009)"
    if sent is not None and sent.code == 1011:
        return f"no sign of life from the server for {KEEPALIVE_S:.0f} s (1011)"
    if sent is not None and sent.code != 1000:
        return f"the server broke the WebSocket protocol ({sent.code} {short(scrub(sent.reason), 100)})"
    return "the connection broke off without a closing frame (1006)"
