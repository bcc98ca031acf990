"""What went wrong between us and a service, in one line without the key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_voicebench.agents.credentials import Secret
from pytest_voicebench.agents.refusals import Unreachable, connection_refusal, short, status_refusal

Json = Any

BROKEN_OFF = "the connection broke off before the end of the answer"

_LINE = ("httpx", "httpx2", "httpcore", "httpcore2", "anyio", "h11", "h2")
"""Packages whose exceptions say that a connection broke."""


class TooLarge(Exception):  # noqa: N818 - says what is the case
    """A body that is longer than any answer needs to be; one line."""


def failure(error: Exception, *, where: str, limit_s: float, secret: Secret | None) -> Unreachable:
    """The exception of a request as ours. `where` names service and address."""
    import openai

    told = short(secret.scrub(str(error)) if secret else str(error))
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
            found = _unconnected(error, where)
        case _:
            found = Unreachable("rejected", f"{where}: the answer cannot be read ({type(error).__name__}: {told})")
    if secret is None:
        return found
    return Unreachable(found.kind, secret.scrub(str(found)), found.retry_after_s)


def _refused(error: Any, where: str, secret: Secret | None) -> Unreachable:
    body = error.body
    message = body.get("message") if isinstance(body, dict) else None
    told = message if isinstance(message, str) else ""
    return status_refusal(int(error.status_code), told, where=where, headers=error.response.headers, secret=secret)


def _unconnected(error: Exception, where: str) -> Unreachable:
    """Why no connection came about or it ended, from what the libraries below raised."""
    for cause in _causes(error):
        if isinstance(cause, TooLarge):
            return Unreachable("rejected", f"{where}: {cause}")
        if known := connection_refusal(cause, where):
            return known
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
