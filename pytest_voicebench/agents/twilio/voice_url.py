"""An incoming call as Twilio announces it: a signed POST to the agent's voice URL, answered with TwiML."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import urlsplit

from pytest_voicebench.agents.addresses import is_address, shown_url
from pytest_voicebench.agents.credentials import Secret
from pytest_voicebench.agents.http_client import certificates, open_client
from pytest_voicebench.agents.http_failures import failure
from pytest_voicebench.agents.refusals import Unreachable, status_refusal
from pytest_voicebench.agents.twilio.messages import Call
from pytest_voicebench.agents.twilio.twiml import LARGEST, NoStream, Stream, read_stream
from pytest_voicebench.agents.wire_log import WireLog

TIMEOUT_S = 15.0
"""How long Twilio waits for TwiML (twilio.com/docs/usage/webhooks)."""

SIGNATURE = "X-Twilio-Signature"


def voice_url_flaw(url: str) -> str | None:
    """What is wrong with the address, or None."""
    if not is_address(url, ("http", "https")):
        return "voice_url must be the address of a page: https://HOST/PATH or http://HOST:PORT/PATH"
    parts = urlsplit(url)
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
    where, form = shown_url(url), call_form(call)
    await asyncio.to_thread(certificates)
    log.sent({"event": "POST", "url": where, "form": form})
    try:
        status, headers, body = await _posted(url, form, secret)
        if not 200 <= status < 300:
            raise status_refusal(status, "", where=where, headers=headers, secret=secret)
        stream = read_stream(body)
    except Exception as error:
        told = Unreachable("rejected", f"{where}: {error}") if isinstance(error, NoStream) else error
        refused = failure(told, where=where, limit_s=TIMEOUT_S, secret=secret)
        log.note(str(refused))
        raise refused from error
    log.received({"event": "TwiML", "stream": shown_url(stream.url), "parameters": sorted(stream.parameters)})
    return stream


async def _posted(url: str, form: Mapping[str, str], secret: Secret | None) -> tuple[int, Mapping[str, str], bytes]:
    """Status, headers and body of the answer; of a body that is too long for TwiML, the beginning."""
    headers = {"User-Agent": "pytest-voicebench", **signed_headers(secret, url, form)}
    body = b""
    async with (
        asyncio.timeout(TIMEOUT_S),
        open_client() as client,
        client.stream("POST", url, data=dict(form), headers=headers) as answer,
    ):
        async for piece in answer.aiter_bytes():
            body += piece
            if len(body) > LARGEST:
                break
        return answer.status_code, answer.headers, body
