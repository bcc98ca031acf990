"""A small LiveKit agent as somebody would write it, dispatched by name into rooms; nothing of ours in it.

What it needs to know comes as the metadata of the dispatch. Its tools are declared by the benchmark and answered over
HTTP, two answer by themselves: `own_clock`, and `hang_up`, which ends the call in the way that `ends_by` names.
Runs in an environment of its own with livekit-agents and livekit-plugins-openai.
"""

from __future__ import annotations

import json
import os

import aiohttp
from livekit.agents import Agent, AgentServer, AgentSession, JobContext, RunContext, function_tool
from livekit.plugins import openai
from openai.types.realtime.realtime_audio_input_turn_detection import ServerVad

NAME = "voicebench-test"

server = AgentServer()


def tool(declared: dict, url: str):
    """A function tool that asks the benchmark's tool of the same name."""

    async def ask(raw_arguments: dict, context: RunContext) -> str:
        async with aiohttp.ClientSession() as http, http.post(url, json=raw_arguments) as response:
            return await response.text()

    schema = {key: declared[key] for key in ("name", "description", "parameters")}
    return function_tool(ask, raw_schema=schema)


@function_tool
async def own_clock(zone: str) -> dict:
    """What time it is in a zone."""
    return {"zone": zone, "time": "12:30"}


def ending(context: JobContext, how: str):
    """The tool `hang_up`."""

    @function_tool
    async def hang_up() -> str:
        """End the call."""
        if how == "crash":
            os._exit(3)
        if how == "delete":
            await context.delete_room()
        context.shutdown()
        return "bye"

    return hang_up


@server.rtc_session(agent_name=NAME)
async def entrypoint(context: JobContext) -> None:
    """One conversation."""
    told = json.loads(context.job.metadata)
    if told.get("ends_by") == "crash at once":
        os._exit(3)
    offered = told["tools"] if "tools_url" in told else []
    tools = [tool(declared, f"{told['tools_url']}/tools/{declared['name']}") for declared in offered]
    model = openai.realtime.RealtimeModel(
        base_url=told["model_url"],
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
    own = [own_clock, ending(context, told.get("ends_by", "leave"))]
    agent = Agent(instructions=told["instructions"], tools=[*tools, *own])
    await AgentSession(llm=model).start(agent=agent, room=context.room)
