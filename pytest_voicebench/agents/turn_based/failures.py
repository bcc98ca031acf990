"""What went wrong between us and a service, in one line without the key."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from typing import Any

from pytest_voicebench.agents.credentials import Secret
from pytest_voicebench.agents.wire import Refusal, Unreachable

Json = Any

BROKEN_OFF = "the connection broke off before the end of the answer"

_LINE = ("httpx", "httpx2", "httpcore", "httpcore2", "anyio", "h11", "h2")
"""Packages whose exceptions say that a connection broke."""


class TooLarge(Exception):  # noqa: N818 - says what is the case
    """A body that is longer than any answer needs to be; one line."""


def failure(error: Exception, *, where: str, limit_s: float, secret: Secret | None) -> Unreachable:
    """The exception of a request as ours. `where` names service and address."""
    import openai

    told = _short(str(error), 200)
    match error:
        case Unreachable():
            return error
        case TimeoutError() | openai.APITimeoutError():
            return Unreachable("timeout", f"{where}: nothing came for {limit_s:g} s")
        case TooLarge():
            found = Unreachable("rejected", f"{where}: {told}")
        case openai.APIStatusError():
            found = _refused(error, where, secret)
        case openai.APIConnectionError():
            found = _unconnected(error, where)
        case openai.APIError():  # inside a stream
            found = Unreachable("server_error", f"{where}: an error in the middle of the answer: {told}")
        case OSError() | EOFError():
            found = Unreachable("refused", f"{where}: {BROKEN_OFF}")
        case _ if type(error).__module__.partition(".")[0] in _LINE:
            found = Unreachable("refused", f"{where}: {BROKEN_OFF}")
        case _:
            found = Unreachable("rejected", f"{where}: the answer cannot be read ({type(error).__name__}: {told})")
    if secret is None:
        return found
    return Unreachable(found.kind, secret.scrub(str(found)), found.retry_after_s)


def _refused(error: Any, where: str, secret: Secret | None) -> Unreachable:
    status = int(error.status_code)
    kind: Refusal = "rejected"
    if status in (401, 403):
        kind, meaning = "unauthorized", f"the key of {secret.variable} is refused" if secret else "a key is asked for"
    elif status == 429:
        kind, meaning = "rate_limited", "too many requests, or no quota left"
    elif status >= 500:
        kind, meaning = "server_error", "the server failed"
    else:
        meaning = "not found: is the model or the path right?" if status == 404 else "refused"
    body = error.body
    message = body.get("message") if isinstance(body, dict) else None
    told = f" ({_short(message, 200)})" if isinstance(message, str) and message else ""
    after = error.response.headers.get("Retry-After", "")
    return Unreachable(kind, f"{where}: HTTP {status}, {meaning}{told}", float(after) if after.isdigit() else None)


def _unconnected(error: Exception, where: str) -> Unreachable:
    """Why no connection came about or it ended, from what the libraries below raised."""
    for cause in _causes(error):
        match cause:
            case TooLarge():
                return Unreachable("rejected", f"{where}: {cause}")
            case socket.gaierror():
                return Unreachable("dns", f"{where}: the name of the host is not known ({cause.strerror})")
            case ssl.SSLError():
                reason = getattr(cause, "verify_message", "") or cause.reason or "handshake failed"
                return Unreachable("tls", f"{where}: TLS failed: {str(reason).lower().replace('_', ' ')}")
            case ConnectionRefusedError():
                return Unreachable("refused", f"{where}: nobody listens there")
    return Unreachable("refused", f"{where}: {BROKEN_OFF}")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception and what it came of, each once; of a group, its members."""
    left, seen = [error], set()
    while left:
        cause = left.pop()
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        left += [c for c in (cause.__context__, cause.__cause__) if c is not None]
        if isinstance(cause, BaseExceptionGroup):
            left += cause.exceptions


def _short(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}..."
