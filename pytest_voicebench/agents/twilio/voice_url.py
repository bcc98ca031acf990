"""An incoming call as Twilio announces it: a signed POST to the agent's voice URL, answered with TwiML."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pytest_voicebench.agents.credentials import Secret
from pytest_voicebench.agents.twilio.messages import Call
from pytest_voicebench.agents.twilio.twiml import LARGEST, NoStream, Stream, read_stream
from pytest_voicebench.agents.wire import Unreachable, http_refusal, refusal, shown_url
from pytest_voicebench.agents.wire_log import WireLog

if TYPE_CHECKING:
    from aiohttp import StreamReader

TIMEOUT_S = 15.0
"""How long Twilio waits for TwiML (twilio.com/docs/usage/webhooks)."""

SIGNATURE = "X-Twilio-Signature"


def voice_url_flaw(url: str) -> str | None:
    """What is wrong with the address, or None."""
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        fine = False
    if not fine or not url.isascii() or not url.isprintable() or " " in url:
        return "voice_url must be the address of a page: https://HOST/PATH or http://HOST:PORT/PATH"
    return "voice_url must not hold a user or password" if parts.username or parts.password else None


def signature(secret: Secret, url: str, form: Mapping[str, str]) -> str:
    """HMAC-SHA1 over the address and the sorted names and values, in base64 (twilio.com/docs/usage/security)."""
    signed = url + "".join(f"{name}{form[name]}" for name in sorted(form))
    return base64.b64encode(hmac.digest(secret.reveal().encode(), signed.encode(), hashlib.sha1)).decode()


def signed_headers(secret: Secret | None, url: str, form: Mapping[str, str]) -> dict[str, str]:
    """The signature's header; none without a token."""
    return {SIGNATURE: signature(secret, url, form)} if secret else {}


def call_form(call: Call) -> dict[str, str]:
    """What a request for TwiML tells of a call; custom parameters stand beside it, as of calls by Twilio's own SDKs."""
    return {
        **call.parameters,
        "CallSid": call.call_sid,
        "AccountSid": call.account_sid,
        "From": call.caller,
        "To": call.called,
        "CallStatus": "ringing",
        "ApiVersion": "2010-04-01",
        "Direction": "inbound",
    }


async def announce(call: Call, url: str, *, secret: Secret | None, log: WireLog) -> Stream:
    """Ask the voice URL what to do with a call. No redirect is followed and no proxy used. Raises Unreachable."""
    await asyncio.to_thread(importlib.import_module, "aiohttp")  # it takes a while, and other conversations go on
    import aiohttp

    where, form = shown_url(url), call_form(call)
    log.sent({"event": "POST", "url": where, "form": form})
    try:
        limit = aiohttp.ClientTimeout(total=TIMEOUT_S)
        async with (
            aiohttp.ClientSession(timeout=limit, trust_env=False) as session,
            session.post(url, data=form, headers=signed_headers(secret, url, form), allow_redirects=False) as answer,
        ):
            status, body = answer.status, await _start_of(answer.content)
            after = answer.headers.get("Retry-After", "")
        if not 200 <= status < 300:
            raise http_refusal(status, body, where, retry_after=after, secret=secret)
        stream = read_stream(body)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        refused = _unanswered(error, where, secret)
    except Unreachable as told:
        refused = told
    else:
        log.received({"event": "TwiML", "stream": shown_url(stream.url), "parameters": sorted(stream.parameters)})
        return stream
    log.note(str(refused))
    raise refused


async def _start_of(content: StreamReader) -> bytes:
    """The body, cut where TwiML would be too long anyhow."""
    body = b""
    while len(body) <= LARGEST and (piece := await content.read(LARGEST)):
        body += piece
    return body


def _unanswered(error: Exception, where: str, secret: Secret | None) -> Unreachable:
    """Why there is no TwiML, in one line."""
    if isinstance(error, NoStream):
        return Unreachable("rejected", f"{where}: {secret.scrub(str(error)) if secret else error}")
    if isinstance(error, TimeoutError):
        return Unreachable("timeout", f"{where}: no TwiML within {TIMEOUT_S:.0f} s")
    cause = getattr(error, "os_error", None) or getattr(error, "certificate_error", None)
    if isinstance(cause or error, OSError):
        return refusal(cause or error, where, secret)
    told = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return Unreachable("rejected", f"{where}: no answer in HTTP: {secret.scrub(told) if secret else told}")
