"""Why there is no line to a service, in one line without a key: the same words over HTTP and over a WebSocket."""

from __future__ import annotations

import os
import socket
import ssl
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Literal

from pytest_voicebench.agents.credentials import Secret
from pytest_voicebench.agents.protocol import AgentAbsent

Refusal = Literal["refused", "dns", "tls", "timeout", "unauthorized", "rate_limited", "server_error", "rejected"]

LONGEST = 200
"""Characters of somebody else's message that ours repeat."""


class Unreachable(AgentAbsent):
    """No line to the provider. `kind` says why; `retry_after_s` is what the provider asked for, if it did."""

    kind: Refusal

    def __init__(self, kind: Refusal, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message, kind=kind, retry_after_s=retry_after_s)


def status_refusal(
    status: int, told: str, *, where: str, headers: Mapping[str, str], secret: Secret | None
) -> Unreachable:
    """A request or a handshake that was answered with an error. `told` is the service's own message, if it gave one."""
    kind: Refusal = "rejected"
    if status in (401, 403):
        kind, meaning = "unauthorized", f"the key of {secret.variable} is refused" if secret else "a key is asked for"
    elif status == 429:
        kind, meaning = "rate_limited", "too many sessions or requests, or no quota left"
    elif status >= 500:
        kind, meaning = "server_error", "the server failed"
    else:
        meaning = "not found: is the model or the path right?" if status == 404 else "refused"
    told = short(secret.scrub(told) if secret else told)
    text = f"{where}: HTTP {status}, {meaning}" + (f" ({told})" if told else "")
    return Unreachable(kind, text, _retry_after_s(headers.get("Retry-After", "")))


def _retry_after_s(text: str) -> float | None:
    """Seconds, or those until a date (RFC 9110, 10.2.3), 0 for one that has passed; None for anything else."""
    if text.isascii() and text.isdecimal():
        return float(text)
    try:
        until = parsedate_to_datetime(text) if text.endswith(" GMT") else None
    except ValueError:
        until = None
    return None if until is None else max(0.0, until.replace(tzinfo=UTC).timestamp() - time.time())


def connection_refusal(error: BaseException, where: str) -> Unreachable | None:
    """A connection that did not come about, by what the system raised; None for what it does not say."""
    match error:
        case socket.gaierror():
            told = f"the name of the host is not known ({error.strerror})"
            return Unreachable("dns", f"{where}: {told}{proxy_note()}")
        case ssl.SSLError():
            return Unreachable("tls", f"{where}: TLS failed: {_tls_reason(error)}")
        case ConnectionRefusedError():
            return Unreachable("refused", f"{where}: nobody listens there{proxy_note()}")
    return None


def _tls_reason(error: ssl.SSLError) -> str:
    reason = getattr(error, "verify_message", "") or error.reason or "handshake failed"
    if reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"):
        return "what answers there speaks no TLS"
    return str(reason).lower().replace("_", " ")


def proxy_note() -> str:
    """A hint where the environment names a proxy, which is not used."""
    names = [n for n in ("HTTPS_PROXY", "ALL_PROXY", "HTTP_PROXY") if os.environ.get(n) or os.environ.get(n.lower())]
    return f" ({names[0]} is set, and not used: a proxy would be measured too)" if names else ""


def short(text: str, most: int = LONGEST) -> str:
    """The text on one line, cut where it is long. A key must have been taken out before: half of one shows too much."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}..."
