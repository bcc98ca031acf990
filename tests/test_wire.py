"""The WebSocket to a provider: addresses, refusals by kind, proxies, redirects, and what must not be logged."""

from __future__ import annotations

import asyncio
import json
import logging
import time

import pytest

from pytest_voicebench.agents.credentials import Secret
from pytest_voicebench.agents.refusals import Unreachable
from pytest_voicebench.agents.wire import is_private, open_wire, shown_url, url_flaw
from pytest_voicebench.agents.wire_log import WireLog
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
    assert (url_flaw(url) is None) == fine


def test_what_of_an_address_is_shown_and_where_it_is_private():
    assert shown_url("wss://u:p@host:8/v1/x?key=sk-1#f") == "wss://host:8/v1/x"
    assert shown_url("ws://[::1]:8/x") == "ws://[::1]:8/x"
    private = ["wss://host/x", "ws://127.0.0.1/x", "ws://localhost:1/x", "ws://[::1]/x", "ws://10.0.0.5/x"]
    assert [is_private(url) for url in private] == [True, True, True, True, False]
