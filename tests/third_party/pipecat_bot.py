"""A phone bot by pipecat: `pipecat_bot.py OPENAI_URL`; prints its port, and ends with its standard input.

It takes calls by Twilio's Media Streams at /ws, thinks with an OpenAI realtime service at OPENAI_URL, and learns from
the custom parameter `tools_url` what it is to do and which tools there are; these it calls over HTTP. Runs in an
environment of its own with pipecat-ai, fastapi and uvicorn; nothing of ours is imported.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys

import aiohttp
import uvicorn
from fastapi import FastAPI, WebSocket
from loguru import logger
from pipecat.adapters.llm.schemas.function_schema import FunctionSchema
from pipecat.adapters.llm.schemas.tools_schema import ToolsSchema
from pipecat.frames.frames import LLMContextFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.runner.utils import parse_telephony_websocket
from pipecat.serializers.twilio import TwilioFrameSerializer
from pipecat.services.llm_service import FunctionCallParams
from pipecat.services.openai.realtime import events
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService
from pipecat.transports.websocket.fastapi import FastAPIWebsocketParams, FastAPIWebsocketTransport
from pipecat.turns.user_turn_strategies import ExternalUserTurnStrategies
from pipecat.workers.runner import WorkerRunner

PHONE_HZ = 8_000
SILENCE_MS = 700

logger.remove()
logger.add(sys.stderr, level="WARNING")
app = FastAPI()


def tool(http: aiohttp.ClientSession, url: str, declared: dict) -> FunctionSchema:
    """A function of the model whose work is done at the suite's address."""

    async def call(params: FunctionCallParams) -> None:
        async with http.post(f"{url}/tools/{params.function_name}", json=dict(params.arguments)) as response:
            await params.result_callback(await response.json())

    schema = declared["parameters"]
    return FunctionSchema(
        name=declared["name"],
        description=declared["description"],
        properties=schema["properties"],
        required=schema["required"],
        handler=call,
    )


def service(url: str, instructions: str, tools: list[FunctionSchema]) -> OpenAIRealtimeLLMService:
    """The model that hears and speaks. Its first session has the tools already, so that it misses nothing."""
    hearing = events.AudioInput(
        transcription=events.InputAudioTranscription(model="whisper-1"),
        turn_detection=events.TurnDetection(silence_duration_ms=SILENCE_MS),
    )
    session = events.SessionProperties(
        instructions=instructions, tools=tools, audio=events.AudioConfiguration(input=hearing)
    )
    settings = OpenAIRealtimeLLMService.Settings(model="gpt-realtime", session_properties=session)
    return OpenAIRealtimeLLMService(
        api_key=os.environ.get("OPENAI_API_KEY", "sk-test"), base_url=url, settings=settings
    )


@app.websocket("/ws")
async def talk(websocket: WebSocket) -> None:
    """One call."""
    await websocket.accept()
    _, call = await parse_telephony_websocket(websocket)
    tools_url = call["body"]["tools_url"]
    serializer = TwilioFrameSerializer(
        stream_sid=call["stream_id"],
        call_sid=call["call_id"],
        params=TwilioFrameSerializer.InputParams(auto_hang_up=False),
    )
    params = FastAPIWebsocketParams(audio_in_enabled=True, audio_out_enabled=True, serializer=serializer)
    transport = FastAPIWebsocketTransport(websocket=websocket, params=params)
    async with aiohttp.ClientSession() as http:
        async with http.get(f"{tools_url}/tools") as response:
            tools = [tool(http, tools_url, declared) for declared in await response.json()]
        async with http.get(f"{tools_url}/instructions") as response:
            model = service(sys.argv[1], await response.text(), tools)
        context = LLMContext(tools=ToolsSchema(standard_tools=tools))
        turns = LLMUserAggregatorParams(user_turn_strategies=ExternalUserTurnStrategies())  # the model finds them
        user, assistant = LLMContextAggregatorPair(context, user_params=turns)
        pipeline = Pipeline([transport.input(), user, model, transport.output(), assistant])
        rates = PipelineParams(audio_in_sample_rate=PHONE_HZ, audio_out_sample_rate=PHONE_HZ)
        worker = PipelineWorker(pipeline, params=rates)

        @transport.event_handler("on_client_connected")
        async def connected(_, __) -> None:
            await worker.queue_frames([LLMContextFrame(context)])

        @transport.event_handler("on_client_disconnected")
        async def disconnected(_, __) -> None:
            await worker.cancel()

        runner = WorkerRunner(handle_sigint=False)
        await runner.add_workers(worker)
        await runner.run()


async def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="websockets-sansio"))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        print(json.dumps({"port": listening.getsockname()[1]}), flush=True)
        await asyncio.to_thread(sys.stdin.read)
        server.should_exit = True
        await serving


asyncio.run(main())
