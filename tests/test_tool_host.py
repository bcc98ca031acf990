"""The suite's tools over HTTP: what a client sees of each request, and what the conversation is told of it."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import socket
from contextlib import closing, suppress

import pytest
import stage
from hosted_tools import DEADLINE_S, MILAN, answering, held, hosted, setup
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_voicebench.agents.protocol import AgentAbsent, Fault, Ready, ToolCall, ToolCancelled, ToolResult
from pytest_voicebench.agents.tool_host import address_flaw, tool_host, with_calls
from pytest_voicebench.agents.tool_host.endpoint import MOST_BYTES
from pytest_voicebench.agents.tool_host.open_calls import MOST_CALLS, MOST_UNREAD_BYTES, TooMany

pytest.importorskip("mcp_types", reason="the extra 'tools' is not installed")


def test_a_post_is_a_call_of_the_conversation_and_its_result_is_the_response():
    async def talk(host, client):
        async with answering(host, {"flights": [{"flight_id": "FL123"}]}) as events:
            return await client.post(f"{host.url}/tools/search_flights", json=MILAN), events

    (response, (call,)), log = hosted(talk)
    assert (response.status_code, response.json()) == (200, {"flights": [{"flight_id": "FL123"}]})
    assert response.headers["content-type"] == "application/json"
    assert (call.name, json.loads(call.arguments), call.response_id) == ("search_flights", MILAN, None)
    assert [row["event"]["type"] for row in log] == ["tool_call", "tool_result"]
    assert [row["event"]["call_id"] for row in log] == [call.call_id, call.call_id]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/tools/search_flights", 405),
        ("PUT", "/tools/search_flights", 405),
        ("DELETE", "/tools", 405),
        ("POST", "/instructions", 405),
        ("GET", "", 404),
        ("GET", "/", 404),
        ("GET", "/instructions/more", 404),
        ("GET", "/calls", 404),
        ("POST", "/mcp/more", 404),
    ],
)
def test_wrong_methods_and_paths_are_refused_and_are_no_calls(method, path, status):
    async def talk(host, client):
        async with answering(host) as events:
            return await client.request(method, host.url + path), events

    (response, events), _ = hosted(talk)
    assert response.status_code == status
    assert events == []
    assert ("allow" in response.headers) == (status == 405)


@pytest.mark.parametrize("wrong", ["", "x", "ü", "A" * 43, "%00"])
@pytest.mark.parametrize("path", ["/tools", "/tools/search_flights", "/mcp", ""])
def test_a_wrong_token_finds_nothing_whatever_the_path_and_the_method(wrong, path):
    async def talk(host, client):
        async with answering(host) as events:
            url = host.url.rpartition("/")[0]
            return [await client.request(m, f"{url}/{wrong}{path}") for m in ("GET", "POST", "DELETE")], events

    (responses, events), _ = hosted(talk)
    assert [r.status_code for r in responses] == [404, 404, 404]
    assert [r.content for r in responses] == [b"", b"", b""]
    assert events == []


def test_declarations_and_instructions_can_be_read():
    async def talk(host, client):
        return await client.get(f"{host.url}/tools"), await client.get(f"{host.url}/instructions")

    (tools, instructions), _ = hosted(talk)
    assert tools.json() == [
        {"type": "function", "name": t.name, "description": t.description, "parameters": t.json_schema()}
        for t in stage.TOOLS.values()
    ]
    assert instructions.text == "Help the caller.\n\nToday is Monday, 6 April 2026."


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("search_flights", b'{"destination": 7}', 200),  # breaks the schema: the answer says so
        ("search_flights", b'{"destination": "Par', 400),
        ("search_flights", b"[1]", 400),
        ("search_flights", b"null", 400),
        ("search_flights", b"\xff\xfe", 400),
        ("search_flights", b"", 200),  # no body: no arguments
        ("search_flights", b"[" * 100_000, 400),
        ("cancel_everything", b"{}", 404),
        ("cancel_everything", b"{", 404),
        ("a%2Fb%20c/d", b"{}", 404),
    ],
)
def test_whatever_is_posted_is_a_call_with_its_text_and_the_answer_is_the_conversations(name, body, status):
    async def talk(host, client):
        async with answering(host, {"error": "no"}, is_error=True) as events:
            return await client.post(f"{host.url}/tools/{name}", content=body), events

    (response, (call,)), _ = hosted(talk)
    assert (response.status_code, response.json()) == (status, {"error": "no"})
    assert call.name == name.replace("%2F", "/").replace("%20", " ")
    assert call.arguments == (body.decode(errors="replace") or "{}")


@pytest.mark.parametrize("result", [None, False, 0, "", "text", [], {"half": "\ud83d", "whole": "😀"}])
def test_any_result_is_told_as_json(result):
    async def talk(host, client):
        async with answering(host, lambda _: result):
            return (await client.post(f"{host.url}/tools/search_flights", json={})).content

    told, _ = hosted(talk)
    assert json.loads(told) == result


def test_bodies_of_every_kind_reach_the_conversation_unchanged():
    async def talk(host, client):
        loop = asyncio.get_running_loop()

        async def post(body):
            response = await client.post(f"{host.url}/tools/search_flights", content=body)
            return response.status_code, response.json()["echo"]

        @given(st.binary(max_size=300) | st.text(max_size=100).map(lambda t: json.dumps({"a": t}).encode()))
        @settings(max_examples=40, deadline=None, database=None)
        def unchanged(body):
            status, echo = asyncio.run_coroutine_threadsafe(post(body), loop).result(DEADLINE_S)
            assert echo == (body.decode(errors="replace").strip() or "{}")
            assert status == (200 if is_object(echo) else 400)

        async with answering(host):
            await asyncio.to_thread(unchanged)

    hosted(talk)


def is_object(text: str) -> bool:
    with suppress(ValueError):
        return isinstance(json.loads(text), dict)
    return False


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(("size", "status"), [(MOST_BYTES, 400), (MOST_BYTES + 1, 413), (3 * MOST_BYTES, 413)])
def test_a_body_of_over_a_megabyte_is_refused_and_is_no_call(size, status, chunked):
    async def pieces():
        for start in range(0, size, 50_000):
            yield b"x" * min(50_000, size - start)

    async def talk(host, client):
        async with answering(host, {"error": "no"}) as events:
            body = pieces() if chunked else b"x" * size
            return await client.post(f"{host.url}/tools/search_flights", content=body), events

    (response, events), log = hosted(talk)
    assert response.status_code == status
    assert len(events) == (status == 400)
    assert [row["way"] for row in log] == (["received", "sent"] if status == 400 else ["note"])


def test_a_megabyte_over_mcp_is_refused_too():
    async def talk(host, client):
        async with answering(host) as events:
            return await client.post(f"{host.url}/mcp", content=b" " * (MOST_BYTES + 1)), events

    (response, events), _ = hosted(talk)
    assert (response.status_code, events) == (413, [])


async def half_open(host, text: str, length: int):
    """A connection over which a request has been sent, of which more may be due."""
    address, _, token = host.url.removeprefix("http://").partition("/")
    _, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
    head = f"POST /{token}/tools/book_flight HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
    writer.write((head + text).encode())
    await writer.drain()
    return writer


@pytest.mark.parametrize("abruptly", [False, True])
def test_a_client_that_hangs_up_before_the_answer_takes_its_call_back(abruptly):
    async def talk(host, _):
        writer = await half_open(host, "{}", 2)
        calls = host.calls()
        call = await anext(calls)
        (writer.transport.abort if abruptly else writer.close)()
        cancelled = await anext(calls)
        host.answer([ToolResult(call_id=call.call_id, name=call.name, result="too late")])
        return call, cancelled

    (call, cancelled), log = hosted(talk)
    assert isinstance(call, ToolCall)
    assert cancelled == ToolCancelled(call_ids=(call.call_id,))
    assert [row["way"] for row in log] == ["received", "note"]


def test_a_client_that_hangs_up_inside_its_body_made_no_call():
    async def talk(host, client):
        (await half_open(host, "{", 9)).close()
        async with answering(host) as events:
            await client.post(f"{host.url}/tools/search_flights", json={})
        return events

    events, _ = hosted(talk)
    assert [e.name for e in events] == ["search_flights"]


def test_results_go_to_their_own_requests_in_any_order_and_strangers_are_passed_over():
    async def talk(host, client):
        asked = [asyncio.create_task(client.post(f"{host.url}/tools/search_flights", json={"n": n})) for n in range(20)]
        calls = host.calls()
        made = [await anext(calls) for _ in asked]
        results = [ToolResult(call_id=c.call_id, name=c.name, result=json.loads(c.arguments)["n"]) for c in made]
        host.answer([ToolResult(call_id="another's", name="x", result=1)])
        host.answer(results[::-2])
        host.answer(results)  # half of them again
        return [(await a).json() for a in asked], made

    (told, made), _ = hosted(talk)
    assert told == list(range(20))
    assert len({c.call_id for c in made}) == 20


def test_a_conversation_that_ends_answers_open_requests_with_503_and_its_address_is_gone():
    async def talk(host, client, end):
        async with tool_host(setup()):  # another conversation: the server goes on
            asked = [asyncio.create_task(client.post(f"{host.url}/tools/book_flight", json={})) for _ in range(5)]
            calls = host.calls()
            for _ in asked:
                await anext(calls)
            await end()
            assert [call async for call in calls] == []
            return [await a for a in asked], await client.get(f"{host.url}/tools")

    (told, after), _ = hosted(talk, ends=True)
    assert [(r.status_code, r.json()) for r in told] == [(503, {"error": "the conversation is over"})] * 5
    assert after.status_code == 404


def test_when_the_last_conversation_ends_nothing_listens_any_more():
    async def talk(host, client, end):
        port = int(host.url.split(":")[2].split("/")[0])
        await client.get(f"{host.url}/tools")  # leaves a connection open
        await end()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
        return port

    port, _ = hosted(talk, ends=True)
    with closing(socket.create_server(("127.0.0.1", port))):
        pass


def test_conversations_of_one_address_share_a_server_and_only_their_own_calls_reach_them():
    async def conversation():
        import httpx2

        address = f"127.0.0.1:{free_port()}"
        for _ in range(2):  # again, once all have ended
            async with (
                tool_host(setup(), address=address) as one,
                tool_host(setup(), address=address) as other,
                httpx2.AsyncClient() as client,
                answering(one, "one") as first,
                answering(other, "other") as second,
            ):
                (base, first_token), (same, second_token) = (h.url.rsplit("/", 1) for h in (one, other))
                assert base == same == f"http://{address}"
                assert first_token != second_token
                assert min(len(first_token), len(second_token)) >= 43  # 256 bits
                assert (await client.post(f"{other.url}/tools/x", json={})).json() == "other"
                assert (len(first), len(second)) == (0, 1)

    held(conversation)


def test_a_conversation_may_begin_while_the_last_one_is_ending():
    address = f"127.0.0.1:{free_port()}"

    async def one():
        async with tool_host(setup(), address=address) as host:
            await asyncio.sleep(0)
            return host.url

    async def conversation():
        return await asyncio.gather(*(one() for _ in range(10)))

    assert len(set(held(conversation))) == 10


def free_port() -> int:
    with closing(socket.socket()) as nobody:
        nobody.bind(("127.0.0.1", 0))
        return nobody.getsockname()[1]


def test_answers_go_out_without_waiting_for_acknowledgements():
    async def talk(host, client):
        from pytest_voicebench.agents.tool_host import listening

        (listener,) = listening._LISTENERS[asyncio.get_running_loop()].by_address.values()
        await client.get(f"{host.url}/tools")
        (connection,) = listener._server.server_state.connections
        return connection.transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    assert hosted(talk)[0] != 0


def test_a_port_that_is_taken_is_one_line_that_says_what_to_do():
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]

        async def conversation():
            async with tool_host(setup(), address=f"127.0.0.1:{port}"):
                pass

        with pytest.raises(AgentAbsent) as raised:
            held(conversation)
    assert str(raised.value) == (
        f"tools address 127.0.0.1:{port} is taken: choose another port, or port 0 for any free one "
        "(with -n every worker needs its own)"
    )


def has_ipv6() -> bool:
    with suppress(OSError), closing(socket.create_server(("::1", 0), family=socket.AF_INET6)):
        return True
    return False


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_an_address_may_be_ipv6():
    async def talk(host, client):
        return host.url, (await client.get(f"{host.url}/tools")).status_code

    (url, status), _ = hosted(talk, address="[::1]:0")
    assert url.startswith("http://[::1]:")
    assert status == 200


@pytest.mark.parametrize("address", ["192.0.2.1:0", "no-such-host.invalid:0"])
def test_an_address_that_is_not_ours_is_one_line(address):
    async def conversation():
        async with tool_host(setup(), address=address):
            pass

    with pytest.raises(AgentAbsent, match=f"tools address {address} cannot be listened at: "):
        held(conversation)


@pytest.mark.parametrize(
    ("address", "public_url", "flaw"),
    [
        ("127.0.0.1:0", None, None),
        ("127.0.0.1", None, None),
        ("[::1]:8080", None, None),
        ("10.0.0.5:8080", None, None),
        ("0.0.0.0:8080", "http://10.0.0.5:8080", None),
        ("127.0.0.1:8080", "https://abc.example/tools/", None),
        ("0.0.0.0:8080", None, "tools address 0.0.0.0:8080: say as tools_public_url how the agent"),
        ("[::]:8080", None, "tools address [::]:8080: say as tools_public_url"),
        ("", None, "tools address '': write HOST:PORT, such as 127.0.0.1:0"),
        (":8080", None, "tools address ':8080': write HOST:PORT"),
        ("127.0.0.1:http", None, "tools address '127.0.0.1:http': write"),
        ("127.0.0.1:70000", None, "tools address '127.0.0.1:70000': write"),
        ("http://127.0.0.1:80", None, "tools address 'http://127.0.0.1:80': write"),
        ("127.0.0.1:80/tools", None, "tools address '127.0.0.1:80/tools': write"),
        ("me@127.0.0.1:80", None, "tools address 'me@127.0.0.1:80': write"),
        ("127.0.0.1:0", "abc.example", "the public address of the tools must be http://HOST:PORT or https://HOST"),
        ("127.0.0.1:0", "https://me:pw@abc.example", "the public address of the tools must be"),
        ("127.0.0.1:0", "https://abc.example/?a=1", "the public address of the tools must be"),
        ("127.0.0.1:0", "https://abc.example:99999", "the public address of the tools must be"),
    ],
)
def test_addresses_that_cannot_be_used_are_told_before_anything_runs(address, public_url, flaw):
    told = address_flaw(address, public_url)
    assert told is None if flaw is None else told is not None and told.startswith(flaw) and "\n" not in told


@given(st.text(max_size=40))
def test_an_address_is_read_or_refused_in_one_line(text):
    told = address_flaw(text)
    assert told is None or "\n" not in told


def test_a_missing_extra_is_one_line_that_names_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert address_flaw() == "tools over HTTP need the extra 'tools': pip install 'pytest-voicebench[tools]'"


def test_the_public_address_stands_before_the_token():
    async def talk(host, _):
        return host.url

    url, _ = hosted(talk, public_url="https://abc.example/tools/")
    assert url.startswith("https://abc.example/tools/")
    assert "/" not in url.removeprefix("https://abc.example/tools/")


def test_the_token_is_in_no_log_and_no_representation(capfd, caplog):
    caplog.set_level(logging.DEBUG)

    async def talk(host, client):
        async with answering(host):
            for path in ("/tools/x", "/tools", "/mcp", "/nothing"):
                await client.post(host.url + path, json={"at": host.url})
        return host.url, repr(host), repr(host.secret)

    (url, *shown), log = hosted(talk)
    token = url.rsplit("/", 1)[1]
    assert "***" in json.dumps(log)
    ours = [
        r.getMessage() for r in caplog.records if not r.name.startswith(("http", "asyncio"))
    ]  # httpx2 is the client
    assert not any(token in text for text in (json.dumps(log), *shown, *ours, *capfd.readouterr()))


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_can_call_a_tool():
    async def talk(host, _):
        command = (
            "curl",
            "-s",
            "--noproxy",
            "*",
            "-X",
            "POST",
            f"{host.url}/tools/search_flights",
            "-d",
            json.dumps(MILAN),
        )
        async with answering(host):
            process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
            told, _ = await process.communicate()
            return json.loads(told)

    told, _ = hosted(talk)
    assert json.loads(told["echo"]) == MILAN


def test_more_calls_at_once_than_may_wait_are_refused_and_told_of_once():
    """Those that came before are answered, and there is room again when they are."""

    async def talk(host, client):
        calls = host._calls
        asked = [asyncio.ensure_future(calls.ask("search_flights", "{}", "http")) for _ in range(MOST_CALLS)]
        await asyncio.sleep(0)
        refused = [await client.post(f"{host.url}/tools/book_flight", json={}) for _ in range(3)]
        told = [(r.status_code, r.json()) for r in refused]
        async with answering(host, "done") as events:
            answers = [(await a).result for a in asked]
            again = await client.post(f"{host.url}/tools/search_flights", json={})
        return told, answers, again.json(), events

    (told, answers, again, events), _ = hosted(talk)
    limit = "too many calls at once: 256, or 4 MiB, wait for their answers"
    assert told == [(429, {"error": limit})] * 3
    assert (len(answers), set(answers), again) == (MOST_CALLS, {"done"}, "done")
    faults = [e for e in events if isinstance(e, Fault)]
    assert [(f.kind, f.message) for f in faults] == [
        ("agent", f"{limit}; a call of book_flight was refused, and all that came before there was room again")
    ]


def test_the_bytes_of_calls_that_nobody_has_read_are_bounded():
    async def talk(host, _):
        calls, large = host._calls, "x" * (MOST_UNREAD_BYTES // 4)
        asked = [asyncio.ensure_future(calls.ask("search_flights", large, "http")) for _ in range(20)]
        await asyncio.sleep(0)
        refused = [a for a in asked if a.done() and isinstance(a.exception(), TooMany)]
        async with answering(host, "done"):
            told = [(await a).result for a in asked if a not in refused]
        return len(refused), told

    (refused, told), _ = hosted(talk)
    assert (refused, told) == (15, ["done"] * 5)


def test_a_client_that_calls_and_hangs_up_again_and_again_fills_nothing():
    async def talk(host, _):
        calls = host._calls
        for _ in range(3 * MOST_CALLS):
            asking = asyncio.ensure_future(calls.ask("search_flights", "{}", "http"))
            await asyncio.sleep(0)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        return calls._events.qsize()

    waiting, _ = hosted(talk)
    assert waiting <= MOST_CALLS + 2


class Hoster:
    """A tool host of which calls come at once."""

    async def timed_calls(self):
        yield ToolCall(call_id="http_1", name="x", arguments="{}"), 5.0
        await asyncio.Event().wait()


def test_calls_join_the_events_of_a_line_until_its_own_end():
    async def line():
        yield Ready()
        await asyncio.sleep(0.01)
        yield ToolCancelled(call_ids=("own",))

    async def conversation():
        return [type(event).__name__ async for event in with_calls(line(), Hoster())]

    assert held(conversation) == ["Ready", "ToolCall", "ToolCancelled"]


def test_what_a_line_raises_is_raised_beside_calls():
    async def line():
        yield Ready()
        raise ValueError("broken")

    async def conversation():
        return [event async for event in with_calls(line(), Hoster())]

    with pytest.raises(ValueError, match="broken"):
        held(conversation)
