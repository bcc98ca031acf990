"""The WebSocket to a provider: addresses, refusals by kind, proxies, redirects, and what must not be logged."""

from __future__ import annotations

import asyncio
import json
import logging
import time

import pytest
from websockets.asyncio.server import serve

from pytest_voicebench.agents.addresses import is_private, shown_url, websocket_flaw
from pytest_voicebench.agents.credentials import Secret, scrubbed, secrets_of
from pytest_voicebench.agents.refusals import Unreachable, status_refusal
from pytest_voicebench.agents.wire import open_wire
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.hidden import without_secrets
from tests.servers.openai_script import Script
from tests.servers.openai_server import openai_server

SECRET = Secret("sk-planted-55", "SOME_KEY")


def opened(url):
    """Open and close; gives what was logged, or raises."""
    log = WireLog(time.monotonic)

    async def once():
        async with open_wire(url, log=log, headers={"Authorization": "Bearer sk-planted-55"}, secret=SECRET) as line:
            await line.send({"type": "session.update", "session": {"type": "realtime"}})
            await line.wait_for(lambda e: e["type"] == "session.updated", "session.updated")

    try:
        asyncio.run(asyncio.wait_for(once(), 15))
    finally:
        opened.log = [json.loads(line) for line in log.lines(None)]
    return opened.log


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, "unauthorized"),
        (403, "unauthorized"),
        (404, "rejected"),
        (429, "rate_limited"),
        (500, "server_error"),
        (503, "server_error"),
    ],
)
def test_a_refused_handshake_has_a_kind_and_says_when_to_come_back(status, kind):
    with openai_server(Script(status=status, retry_after="7")) as double, pytest.raises(Unreachable) as refused:
        opened(double.url)
    assert (refused.value.kind, refused.value.retry_after_s) == (kind, 7.0)
    assert str(refused.value).startswith(f"{double.url}: HTTP {status}, ")
    assert opened.log[-1]["event"] == str(refused.value)
    assert double.refused == 1


@pytest.mark.parametrize(
    ("headers", "after_s"),
    [
        ([("Retry-After", "7"), ("Retry-After", "7")], 7.0),
        ([("retry-after", "3")], 3.0),
        ([("Retry-After", "²")], None),
        ([("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT")], 0.0),  # has passed
        ([("Retry-After", "some day, GMT")], None),
    ],
)
def test_an_odd_retry_after_does_not_break_the_refusal(headers, after_s):
    def refuse(connection, _request):
        response = connection.respond(429, "{}")
        for name, value in headers:
            response.headers[name] = value
        return response

    async def tried():
        async with serve(lambda _: None, "127.0.0.1", 0, process_request=refuse) as server:
            url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            async with open_wire(url, log=WireLog(time.monotonic)):
                pass

    with pytest.raises(Unreachable) as refused:
        asyncio.run(tried())
    assert (refused.value.kind, refused.value.retry_after_s) == ("rate_limited", after_s)


@pytest.mark.parametrize("filling", range(180, 201, 5))
def test_a_key_that_lies_where_a_message_is_cut_is_not_shown_in_part(filling):
    refused = status_refusal(400, "x" * filling + "sk-planted-55", where="w", headers={}, secret=SECRET)
    log = WireLog(time.monotonic)
    log.hide(SECRET)
    log.sent({"text": "x" * filling + "sk-planted-55" * 10_000})
    assert "sk-" not in str(refused) + "".join(log.lines(None))


@pytest.mark.parametrize(
    "url",
    [
        "wss://h/x?token=tk-planted-77",
        "wss://h/x?a=b&API_KEY=tk-planted%2D77",
        "wss://me:tk-planted-77@h/x",
        "wss://h/x?access_token=tk%2Dplanted-77#f",
    ],
)
def test_what_an_address_holds_is_hidden_as_it_stands_and_decoded(url):
    assert scrubbed(f"you came with tk-planted-77, or {url}", secrets_of(url)).count("planted") == 0
    assert "planted" not in without_secrets(f'GET "{url}", refused')
    assert without_secrets("no address?a=b") == "no address?a=b"


def test_a_redirect_is_not_followed():
    with openai_server(Script()) as other, openai_server(Script(status=307, location=other.url)) as double:
        with pytest.raises(Unreachable, match="HTTP 307"):
            opened(double.url)
        assert other.sessions == []


def test_a_proxy_is_not_asked_and_a_failure_says_so(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with openai_server(Script()) as double:
        opened(double.url)
    with pytest.raises(Unreachable, match="HTTPS_PROXY is set, and not used") as refused:
        opened(double.url)
    assert refused.value.kind == "refused"


def test_nothing_that_is_logged_at_any_level_shows_the_key(caplog):
    with caplog.at_level(logging.DEBUG), openai_server(Script()) as double:
        rows = opened(double.url)
    assert double.sessions[0].headers["Authorization"] == "Bearer sk-planted-55"
    sent = [record for record in caplog.records if "websockets.server" not in record.name]
    assert "sk-planted-55" not in "".join(str(record.getMessage()) for record in sent) + json.dumps(rows)


@pytest.mark.parametrize(
    ("url", "fine"),
    [
        ("wss://host/v1", True),
        ("ws://127.0.0.1:80/x", True),
        ("ws://[::1]:80/x?a=b", True),
        ("http://host/v1", False),
        ("wss://", False),
        ("wss:///path", False),
        ("host/v1", False),
        ("ws://host:0/x", False),
        ("ws://host:x/x", False),
        ("ws://ho st/x", False),
        ("ws://h\u00f6st/x", False),
        ("ws://user@host/x", False),
        ("ws://[::1/x", False),
    ],
)
def test_what_is_an_address(url, fine):
    assert (websocket_flaw(url) is None) == fine


def test_what_of_an_address_is_shown_and_where_it_is_private():
    assert shown_url("wss://u:p@host:8/v1/x?key=sk-1#f") == "wss://host:8/v1/x"
    assert shown_url("ws://[::1]:8/x") == "ws://[::1]:8/x"
    private = ["wss://host/x", "ws://127.0.0.1/x", "ws://localhost:1/x", "ws://[::1]/x", "ws://10.0.0.5/x"]
    assert [is_private(url) for url in private] == [True, True, True, True, False]
