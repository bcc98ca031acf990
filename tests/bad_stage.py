"""One conversation with a server that does something wrong, and a second one with the same agent; on a patient loop."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import stage
from patience import skipping

from pytest_voicebench.agents.naming import build_agent, parse_agent
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.duplex import converse
from tests.servers.hostile_server import Hostile, listen
from tests.servers.tls import server_context
from tests.servers.tongues import BY_AGENT
from tests.turn_stage import free_port

KEY = "sk-planted-in-the-environment-2718"
TOKEN = "tk-planted-in-an-address-3141"
DEADLINE_S = 120.0
"""On the clock of the loop, for both conversations: nothing waits longer than its own limits allow."""

SUITE = {"settle_s": 0.6, "max_duration_s": 6.0}
TOO_MUCH = (stage.Step(kind="wait", seconds=1.0), stage.Step(kind="inject", text="much " * 3_000_000))
"""More than the system holds for a server that reads no more."""

HTTP = ("cascaded", "audio_chat", "audio_chat speech")
_TURNS = "silence_ms=300,vad=energy,timeout_s=4"

ADDRESSES = {  # how each agent is asked for; {at} is HOST:PORT, {s} an s where it is to be encrypted
    "gpt-realtime": "gpt-realtime,url=ws{s}://{at}/v1/realtime?access_token={token}",
    "grok": "grok,url=ws{s}://{at}/v1/realtime?access_token={token}",
    "gpt-live": "gpt-live,url=ws{s}://{at}/v1/live/sessions?access_token={token}",
    "gemini-live-2.5": "gemini-live-2.5,url=ws{s}://{at}/ws/Bidi?key={token}",
    "ultravox": "ultravox,url=http{s}://{at}/api",
    "nemotron-voicechat": "nemotron-voicechat,url=ws{s}://{at}/v1/realtime?token={token}",
    "minicpm-o sglang-omni": "minicpm-o,dialect=sglang-omni,ref_audio=none,url=ws{s}://{at}/v1/realtime?api_key={token}",
    "minicpm-o map": "minicpm-o,dialect=map,ref_audio=none,url=ws{s}://{at}/v1/realtime?token={token}",
    "moshi": "moshi,url=ws{s}://{at}/api/chat?auth_token={token}",
    "twilio": "twilio,tools=none,url=ws{s}://{at}/stream?token={token}",
    "twilio voice_url": "twilio,tools=none,voice_url=http{s}://{at}/voice?token={token}",
    "cascaded": f"cascaded,url=http{{s}}://{{at}}/v1,{_TURNS}",
    "audio_chat": f"audio_chat,url=http{{s}}://{{at}}/v1,{_TURNS}",
    "audio_chat speech": f"audio_chat,answer=text,url=http{{s}}://{{at}}/v1,tts_url=http{{s}}://{{at}}/v1,{_TURNS}",
}
VARIABLES = {
    "OPENAI_API_KEY": KEY,
    "XAI_API_KEY": KEY,
    "GOOGLE_API_KEY": KEY,
    "ULTRAVOX_API_KEY": KEY,
    "MODELBEST_API_KEY": KEY,
    "TWILIO_AUTH_TOKEN": KEY,
    "HTTP_PROXY": "http://127.0.0.1:9",  # nothing is there; it must not be asked
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "ALL_PROXY": "http://127.0.0.1:9",
}


@dataclass(frozen=True)
class Row:
    """What came of it. `left` names what was not cleaned up."""

    bad: Conversation
    good: Conversation
    agent: Any
    server: Hostile
    left: list[str]

    @property
    def told(self) -> list[tuple[str, str]]:
        return [(p.kind, p.message) for p in self.bad.problems]

    def shown(self) -> str:
        """All that could show a secret."""
        talks = [part for talk in (self.bad, self.good) for part in (repr(talk), *talk.wire_events)]
        return "\n".join([*talks, repr(self.agent), repr(self.agent.info)])


def held(name: str, fault: str, folder: Path, certificate: Any = None) -> Row:
    """Both conversations of a row. Raises TimeoutError for one that hangs."""
    before = _sockets_and_threads()
    row = skipping(_held(name, fault, folder, certificate))
    after = _sockets_and_threads()
    more = [f"{kind}: {after[kind]} instead of {before[kind]}" for kind in before if after[kind] > before[kind]]
    row.left.extend(more)
    return row


def _sockets_and_threads() -> dict[str, int]:
    links = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{fd}"))
        except OSError:  # the one that lists them
            continue
    return {"sockets": sum(link.startswith("socket:") for link in links), "threads": threading.active_count()}


def agent_for(name: str, at: str, *, encrypted: bool = False) -> Any:
    """The agent as a command line asks for it."""
    text = ADDRESSES[name].format(at=at, s="s" if encrypted else "", token=TOKEN)
    return build_agent(parse_agent(text), None)  # type: ignore[arg-type]


async def _held(name: str, fault: str, folder: Path, certificate: Any) -> Row:
    (folder / "talk").mkdir()
    steps = [stage.say(folder / "talk", "turn", "filler")]
    scenario = again = stage.scenario(folder / "talk", *steps, item_id="talk", **SUITE)
    if fault == "deaf":
        scenario = stage.scenario(folder / "talk", *steps, *TOO_MUCH, item_id="talk", **SUITE)
    bad = Hostile(BY_AGENT[name], fault, (KEY, TOKEN), host="::1" if fault == "ipv6" else "127.0.0.1")
    bad.fault = "" if fault in ("ipv6", "none") else fault
    bad.tls = server_context(certificate) if fault == "self_signed" else None
    async with asyncio.timeout(DEADLINE_S), AsyncExitStack() as stack:
        await stack.enter_async_context(listen(bad))
        at = f"[{bad.host}]:{bad.port}" if ":" in bad.host else f"{bad.host}:{bad.port}"
        at = {"refused": f"127.0.0.1:{free_port()}", "dns": "no-such-host.invalid"}.get(fault, at)
        agent = agent_for(name, at, encrypted=fault in ("self_signed", "no_tls"))
        first = await converse(scenario, agent)
        good, next_agent = bad, agent
        if fault in ("refused", "dns", "self_signed", "no_tls") or fault.startswith("tcp_"):
            good = await _listening(stack, Hostile(BY_AGENT[name], "", (KEY, TOKEN)))
            next_agent = agent_for(name, f"127.0.0.1:{good.port}")
        second = await converse(again, next_agent)
        await asyncio.sleep(1.0)
        left = [f"{server.open_sockets} connections" for server in (bad, good) if server.open_sockets]
        left += [*bad.own_errors, *good.own_errors]
    await asyncio.sleep(0.1)
    left += [f"task {task}" for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    return Row(first, second, agent, bad, left)


def vanished(name: str, folder: Path) -> tuple[Conversation, Conversation]:
    """Two conversations with a server that is not there any more in the second one."""
    return skipping(_vanished(name, folder))


async def _vanished(name: str, folder: Path) -> tuple[Conversation, Conversation]:
    scenario = stage.scenario(folder, stage.say(folder, "turn", "filler"), item_id="talk", **SUITE)
    server = Hostile(BY_AGENT[name], secrets=(KEY, TOKEN))
    async with asyncio.timeout(DEADLINE_S):
        async with listen(server):
            agent = agent_for(name, f"127.0.0.1:{server.port}")
            first = await converse(scenario, agent)
        return first, await converse(scenario, agent)


async def _listening(stack: AsyncExitStack, server: Hostile) -> Hostile:
    await stack.enter_async_context(listen(server))
    return server
