"""How a call is announced at a voice URL: TwiML read safely, Twilio's signature, and every refusal in one line."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.agents.credentials import Secret
from pytest_voicebench.agents.refusals import Unreachable
from pytest_voicebench.agents.twilio import voice_url
from pytest_voicebench.agents.twilio.messages import Call
from pytest_voicebench.agents.twilio.twiml import NoStream, read_stream
from pytest_voicebench.agents.twilio.voice_url import announce, call_form, signature
from pytest_voicebench.agents.wire_log import WireLog
from tests.servers.twilio_script import PhoneScript
from tests.servers.twilio_server import twilio_server

TOKEN = "planted-token-12345"
CALL = Call(
    account_sid="AC1", call_sid="CA1", stream_sid="MZ1", caller="+1", called="+2", parameters={"language": "en"}
)
BOMB = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><Response><Say>&b;</Say></Response>'
FILE = '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><Response>&f;</Response>'


def inside(connect: str) -> str:
    return f"<Response><Connect>{connect}</Connect></Response>"


@pytest.mark.parametrize(
    ("document", "url", "parameters"),
    [
        (inside('<Stream url="wss://a.example/m"/>'), "wss://a.example/m", {}),
        (
            '<?xml version="1.0" encoding="UTF-8"?><Response><Say>Hi</Say>'
            '<Connect action="/x"><Stream url=" ws://h:1/m?a=1&amp;b=2 " name="s">'
            '<Parameter name="who" value="J&#246;rg"/><Parameter name="empty"/><Other/></Stream></Connect></Response>',
            "ws://h:1/m?a=1&b=2",
            {"who": "Jörg", "empty": ""},
        ),
        (
            inside(
                '<Stream url="wss://a/1"><Parameter name="n" value="1"/></Stream>'
                '<Stream url="wss://a/2"><Parameter name="n" value="2"/></Stream>'
            ),
            "wss://a/1",
            {"n": "1"},
        ),
    ],
    ids=["plain", "rich", "the first of two"],
)
def test_the_stream_and_its_parameters_are_found(document, url, parameters):
    stream = read_stream(document.encode())
    assert (stream.url, dict(stream.parameters)) == (url, parameters)


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ("<Response><Say>Hi</Say><Hangup/></Response>", "has no <Connect><Stream>: it holds Say, Hangup"),
        ('<Response><Start><Stream url="wss://a/1"/></Start></Response>', "it holds Start"),
        ("<Response/>", "it holds nothing"),
        ('<Connect><Stream url="wss://a/1"/></Connect>', "has no <Connect><Stream>"),
        (inside("<Stream/>"), "<Stream> has no usable address"),
        (inside('<Stream url="https://a/1"/>'), "<Stream> has no usable address"),
        (inside('<Stream url="wss://u:p@a/1"/>'), "must not hold a user or password"),
        ("", "the answer is not TwiML"),
        ('{"url": "wss://a/1"}', "the answer is not TwiML"),
        ("<Response><Connect>", "the answer is not TwiML"),
        ("<!DOCTYPE html><html></html>", "has a DTD"),
        (BOMB, "has a DTD"),
        (FILE, "has a DTD"),
        ("<Response>&b;</Response>", "the answer is not TwiML"),
        ("<Response>" + " " * 70_000 + "</Response>", "more than 64 KiB"),
        ('<?xml version="1.0" encoding="no-such-thing"?><Response/>', "the answer is not TwiML"),
    ],
)
def test_what_leads_to_no_stream_is_one_line(document, told):
    with pytest.raises(NoStream) as refused:
        read_stream(document.encode())
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


@given(st.binary(max_size=200) | st.text(alphabet='<>/&;!"= ResponseConnectStreamurl', max_size=80).map(str.encode))
def test_no_document_whatever_is_more_than_a_refusal(document):
    try:
        found = read_stream(document).url
    except NoStream as refused:
        found = str(refused)
    assert "\n" not in found


def test_the_signature_is_that_of_twilios_documentation():
    form = {
        "CallSid": "CA1234567890ABCDE",
        "Caller": "+14158675310",
        "Digits": "1234",
        "From": "+14158675310",
        "To": "+18005551212",
    }
    url = "https://mycompany.com/myapp.php?foo=1&bar=2"
    assert signature(Secret("12345", "T"), url, form) == "GvWf1cFY/Q7PnoempGyD5oXAezc="


def test_a_call_is_told_as_twilio_tells_it_with_custom_parameters_beside():
    assert call_form(CALL) == {
        "language": "en",
        "CallSid": "CA1",
        "AccountSid": "AC1",
        "From": "+1",
        "To": "+2",
        "CallStatus": "ringing",
        "ApiVersion": "2010-04-01",
        "Direction": "inbound",
    }


def announced(url: str, token: str | None = None):
    """Ask a voice URL; the stream or the refusal, and the log."""
    log = WireLog(time.monotonic)
    secret = Secret(token, "TWILIO_AUTH_TOKEN") if token else None
    try:
        found = asyncio.run(asyncio.wait_for(announce(CALL, url, secret=secret, log=log), 30))
    except Unreachable as refused:
        found = refused
    return found, "\n".join(log.lines(None))


def test_a_voice_url_gets_a_signed_form_and_its_answer_is_read():
    script = PhoneScript(token=TOKEN, parameters='<Parameter name="tenant" value="7"/>')
    with twilio_server(script) as double:
        found, log = announced(double.voice_url, TOKEN)
        assert (found.url, dict(found.parameters)) == (double.url, {"tenant": "7"})
    assert double.announced == [call_form(CALL)]
    assert TOKEN not in log
    assert "tenant=7" not in log


@pytest.mark.parametrize(
    ("script", "token", "kind", "told"),
    [
        (PhoneScript(voice_status=404), None, "rejected", "HTTP 404, not found"),
        (PhoneScript(voice_status=401), None, "unauthorized", "HTTP 401, a key is asked for"),
        (PhoneScript(token=TOKEN), None, "unauthorized", "HTTP 403, a key is asked for"),
        (PhoneScript(token=TOKEN), "another", "unauthorized", "HTTP 403, the key of TWILIO_AUTH_TOKEN is refused"),
        (PhoneScript(voice_status=429), None, "rate_limited", "HTTP 429"),
        (PhoneScript(voice_status=503), None, "server_error", "HTTP 503"),
        (PhoneScript(voice_status=302), None, "rejected", "HTTP 302"),
        (PhoneScript(twiml="<Response><Hangup/></Response>"), None, "rejected", "it holds Hangup"),
        (PhoneScript(twiml=BOMB), None, "rejected", "has a DTD"),
        (PhoneScript(twiml="x" * 5_000_000), None, "rejected", "more than 64 KiB"),
    ],
)
def test_a_voice_url_that_leads_nowhere_is_refused_by_kind_and_asked_once(script, token, kind, told):
    with twilio_server(script) as double:
        refused, log = announced(double.voice_url, token)
    assert (refused.kind, told in str(refused)) == (kind, True), refused
    assert str(refused).startswith(f"http://127.0.0.1:{double.voice_port}/voice: ")
    assert str(refused) in log
    assert len(double.announced) == 1


def test_a_voice_url_that_is_not_there_or_no_web_server_or_silent_is_refused_by_kind(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # nothing is there; it must not be asked
    with closing(socket.socket()) as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}/voice"
        assert announced(url)[0].kind == "refused"
        assert "nobody listens there (HTTP_PROXY is set, and not used" in str(announced(url)[0])
        nobody.listen()
        monkeypatch.setattr(voice_url, "TIMEOUT_S", 0.2)
        assert announced(url)[0].kind == "timeout"
        assert announced(url.replace("http:", "https:"))[0].kind in ("timeout", "tls")
    assert announced("http://no-such-host.invalid/voice")[0].kind == "dns"
    with twilio_server() as double:
        refused, _ = announced(f"https://127.0.0.1:{double.voice_port}/voice")
        assert refused.kind == "tls"
        refused, _ = announced(f"http://127.0.0.1:{double.port}/voice")  # where a WebSocket is
        assert isinstance(refused, Unreachable)
