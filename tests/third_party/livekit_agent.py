"""A small LiveKit agent as somebody would write it, under test by `--agent=livekit,entry=...`; nothing of ours in it.

Its model is a realtime one at MODEL_URL, its tools are declared by the benchmark and answered over HTTP. One of them,
`own_clock`, answers by itself. Runs in an environment of its own with livekit-agents and livekit-plugins-openai.
"""

from __future__ import annotations

import json
import os

import aiohttp
from livekit.agents import Agent, AgentServer, AgentSession, JobContext, RunContext, function_tool
from livekit.plugins import openai
from openai.types.realtime.realtime_audio_input_turn_detection import ServerVad

server = AgentServer()


def tool(declared: dict):
    """A function tool that asks the benchmark's tool of the same name."""

    async def ask(raw_arguments: dict, context: RunContext) -> str:
        url = f"{os.environ['VOICEBENCH_TOOLS_URL']}/tools/{declared['name']}"
        async with aiohttp.ClientSession() as http, http.post(url, json=raw_arguments) as response:
            return await response.text()

    schema = {key: declared[key] for key in ("name", "description", "parameters")}
    return function_tool(ask, raw_schema=schema)


@function_tool
async def own_clock(zone: str) -> dict:
    """What time it is in a zone."""
    return {"zone": zone, "time": "12:30"}


@server.rtc_session()
async def entrypoint(context: JobContext) -> None:
    """One conversation."""
    tools = [tool(declared) for declared in json.loads(os.environ["VOICEBENCH_TOOLS"])]
    model = openai.realtime.RealtimeModel(
        base_url=os.environ["MODEL_URL"],
        api_key="sk-test",
        turn_detection=ServerVad(
            type="server_vad",
            threshold=0.5,
            prefix_padding_ms=300,
            silence_duration_ms=900,
            create_response=True,
            interrupt_response=True,
        ),
    )
    agent = Agent(instructions=os.environ["VOICEBENCH_INSTRUCTIONS"], tools=[*tools, own_clock])
    await AgentSession(llm=model).start(agent=agent, room=context.room)
