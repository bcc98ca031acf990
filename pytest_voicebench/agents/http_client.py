"""HTTP as a measurement needs it: no proxy, no redirect, no endless body, and certificates that are read once."""

from __future__ import annotations

import functools
import importlib
import logging
import ssl
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Any

import openai  # at the top: two threads that import it at once, each for a conversation, break each other's import

from pytest_voicebench.agents.http_failures import TooLarge
from pytest_voicebench.hidden import without_secrets

LARGEST_ANSWER = 16 * 2**20
"""Bytes of one body; four minutes of sound are 11 MiB."""

_OUR_REQUEST: ContextVar[bool] = ContextVar("_OUR_REQUEST", default=False)
"""Whether what this task asks for over HTTP is ours: other people's logs stay as they are."""

KEPT_OPEN_S = 600.0
"""A connection outlives any pause of a conversation: opening one anew would count as the service's slowness."""


def open_client() -> Any:
    """An asynchronous client (httpx or its successor), to be used with `async with`, or by the openai SDK."""
    _mask_log()
    return openai.DefaultAsyncHttpxClient(
        trust_env=False,
        follow_redirects=False,
        verify=certificates(),
        limits=_library().Limits(keepalive_expiry=KEPT_OPEN_S),
        event_hooks={"request": [_begun], "response": [_limit]},
    )


async def _begun(_request: Any) -> None:
    _OUR_REQUEST.set(True)


@functools.cache
def _mask_log() -> None:
    """The library logs the address of each request; of ours, without what its query holds."""
    logging.getLogger(_library().__name__).addFilter(_masked)


def _masked(record: logging.LogRecord) -> bool:
    if _OUR_REQUEST.get() and isinstance(record.args, tuple):
        record.args = tuple(without_secrets(str(a)) if isinstance(a, _library().URL) else a for a in record.args)
    return True


async def _limit(response: Any) -> None:
    """Let no more of a body through than LARGEST_ANSWER: reading what is longer holds up every conversation."""
    _OUR_REQUEST.set(False)
    whole = response.stream

    class Limited(_library().AsyncByteStream):  # type: ignore[misc]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in whole:
                size += len(piece)
                if size > LARGEST_ANSWER:
                    raise TooLarge(f"an answer of more than {LARGEST_ANSWER // 2**20} MiB")
                yield piece

        async def aclose(self) -> None:
            await whole.aclose()

    response.stream = Limited()


@functools.cache
def _library() -> Any:
    """What the openai SDK uses: httpx or its successor, as the SDK's version has it."""
    (name,) = {c.__module__ for c in openai.DefaultAsyncHttpxClient.__mro__ if c.__name__ == "AsyncClient"}
    return importlib.import_module(name.partition(".")[0])


@functools.cache
def certificates() -> ssl.SSLContext:
    """Those of the system. Reading them takes 50 ms, in which every conversation of the process would stand still."""
    context: ssl.SSLContext = _library().create_ssl_context()
    return context
