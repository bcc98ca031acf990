"""Run by `python -m livekit.agents console`: a LiveKit agent with the suite's tools, for any of the systems we know.

Nothing of this package is imported, since the interpreter may be another one. What to be comes from the environment:
VOICEBENCH_AGENT (JSON: the system and its settings), VOICEBENCH_AGENT_KEY, VOICEBENCH_INSTRUCTIONS, VOICEBENCH_TOOLS,
VOICEBENCH_TOOLS_URL. The folder is no package, so that LiveKit imports this file alone.
"""

# mypy: disable-error-code="import-untyped, import-not-found, untyped-decorator, misc"
# (what is imported here is installed elsewhere)

from __future__ import annotations

import json
import os
from importlib import import_module
from typing import Any

from livekit.agents import Agent, AgentServer, AgentSession, APIConnectOptions, JobContext, function_tool

NO_KEY = "none"
"""For servers that ask for none: the plugins want one."""

MOST_TOOL_STEPS = 50
"""Calls after calls in one turn; LiveKit's own limit of 3 would decide tasks that need more."""

NO_ECHO = None
"""How long the first speech cannot be interrupted, so that an echo canceller settles; there is no echo here."""

ONCE = APIConnectOptions(max_retry=0)
"""Nothing is tried again inside a measurement."""

ASKED: dict[str, Any] = json.loads(os.environ["VOICEBENCH_AGENT"])
SYSTEM: str = ASKED["system"]

import_module(f"livekit.plugins.{'openai' if SYSTEM == 'cascaded' else SYSTEM}")  # LiveKit: on the main thread only

server = AgentServer(host="127.0.0.1")  # its health check is nobody else's business


def key() -> str:
    """The provider's key, or a word in its place."""
    return os.environ.get("VOICEBENCH_AGENT_KEY") or NO_KEY


def tool(declared: dict[str, Any]) -> Any:
    """A function tool that asks the suite's tool of the same name; the model is told what that answers."""

    async def ask(raw_arguments: dict[str, object]) -> str:
        import aiohttp

        url = f"{os.environ['VOICEBENCH_TOOLS_URL']}/tools/{declared['name']}"
        async with aiohttp.ClientSession() as http, http.post(url, json=raw_arguments) as response:
            return await response.text()

    return function_tool(ask, raw_schema={part: declared[part] for part in ("name", "description", "parameters")})


def openai_turn_detection(asked: dict[str, Any]) -> Any:
    """Turn detection in the SDK's types."""
    from openai.types.realtime.realtime_audio_input_turn_detection import SemanticVad, ServerVad

    shape = SemanticVad if asked["type"] == "semantic_vad" else ServerVad
    return shape(**asked, create_response=True, interrupt_response=True)


def openai_model(asked: dict[str, Any]) -> Any:
    """OpenAI's Realtime API, or a server that speaks like it."""
    from livekit.plugins import openai
    from openai.types.realtime import AudioTranscription

    heard = asked["transcription"]
    return openai.realtime.RealtimeModel(
        model=asked["model"],
        voice=asked["voice"],
        base_url=asked["url"],
        api_key=key(),
        modalities=["audio"],
        turn_detection=openai_turn_detection(asked["turn_detection"]),
        input_audio_transcription=AudioTranscription(model=heard) if heard else None,
        conn_options=ONCE,
    )


def xai_model(asked: dict[str, Any]) -> Any:
    """Grok's voice agent."""
    from livekit.plugins import xai
    from openai.types.realtime import AudioTranscription

    heard = asked["transcription"]
    return xai.realtime.RealtimeModel(
        model=asked["model"],
        voice=asked["voice"],
        base_url=asked["url"],
        api_key=key(),
        turn_detection=openai_turn_detection(asked["turn_detection"]),
        input_audio_transcription=AudioTranscription(model=heard) if heard else None,
        conn_options=ONCE,
    )


def google_model(asked: dict[str, Any]) -> Any:
    """Gemini Live."""
    from google.genai import types
    from livekit.plugins import google

    detection = types.AutomaticActivityDetection(**asked["detection"])
    calling = {}
    if asked["calling"] == "async":
        calling = {"tool_behavior": types.Behavior.NON_BLOCKING}
        calling["tool_response_scheduling"] = types.FunctionResponseScheduling[asked["scheduling"].upper()]
    elif asked["calling_is_told"]:
        calling = {"tool_behavior": types.Behavior.BLOCKING}
    thinking = {"thinking_config": types.ThinkingConfig(**asked["thinking"])} if asked["thinking"] else {}
    return google.realtime.RealtimeModel(
        model=asked["model"],
        voice=asked["voice"],
        api_key=key(),
        vertexai=False,
        http_options=types.HttpOptions(base_url=asked["url"], api_version=asked["api_version"]),
        realtime_input_config=types.RealtimeInputConfig(
            automatic_activity_detection=detection,
            activity_handling=asked["handling"],
            turn_coverage=asked["coverage"],
        ),
        conn_options=ONCE,
        **calling,
        **thinking,
    )


def ultravox_model(asked: dict[str, Any]) -> Any:
    """Ultravox."""
    from livekit.plugins import ultravox

    hint = {} if asked["language_hint"] == "auto" else {"language_hint": asked["language_hint"]}
    return ultravox.realtime.RealtimeModel(
        model=asked["model"],
        voice=asked["voice"],
        base_url=asked["url"],
        api_key=key(),
        system_prompt=os.environ["VOICEBENCH_INSTRUCTIONS"],
        temperature=asked["temperature"],
        max_duration=f"{asked['max_duration_s']}s",
        first_speaker=f"FIRST_SPEAKER_{asked['first_speaker'].upper()}",
        **hint,
    )


def realtime_session(model: Any) -> AgentSession[None]:
    """A session whose model hears, takes turns and speaks by itself."""
    turns: Any = {"turn_detection": "realtime_llm"}
    return AgentSession(
        llm=model, vad=None, turn_handling=turns, max_tool_steps=MOST_TOOL_STEPS, aec_warmup_duration=NO_ECHO
    )


def cascaded_services(asked: dict[str, Any]) -> dict[str, Any]:
    """Speech to text, chat and speech at OpenAI-compatible endpoints."""
    from livekit.plugins import openai

    language = {"detect_language": True} if asked["language"] == "auto" else {"language": asked["language"]}
    options = {"temperature": asked["temperature"]} if asked["temperature"] >= 0 else {}
    keys = {name: key() if name in asked["keyed"] else NO_KEY for name in ("stt_url", "llm_url", "tts_url")}
    return {
        "stt": openai.STT(
            model=asked["stt_model"], base_url=asked["stt_url"], api_key=keys["stt_url"], use_realtime=False, **language
        ),
        "llm": openai.LLM(
            model=asked["llm_model"], base_url=asked["llm_url"], api_key=keys["llm_url"], max_retries=0, **options
        ),
        "tts": openai.TTS(
            model=asked["tts_model"],
            voice=asked["voice"],
            base_url=asked["tts_url"],
            api_key=keys["tts_url"],
            response_format="pcm",
        ),
    }


def cascaded_session(asked: dict[str, Any]) -> AgentSession[None]:
    """A session of three services; turns by LiveKit's own voice detection."""
    from livekit.agents import inference
    from livekit.agents.voice.agent_session import SessionConnectOptions

    start_s, silence_s = asked["start_s"], asked["silence_s"]
    vad = inference.VAD(
        min_speech_duration=start_s,
        min_silence_duration=min(0.25, silence_s),
        activation_threshold=asked["threshold"],
    )
    turns: Any = {
        "turn_detection": "vad",
        "endpointing": {"mode": "fixed", "min_delay": silence_s, "max_delay": silence_s},
        "interruption": {"enabled": asked["barge_in"], "mode": "vad", "min_duration": start_s},
    }
    once = APIConnectOptions(max_retry=0, timeout=asked["timeout_s"])
    return AgentSession(
        **cascaded_services(asked),
        vad=vad,
        turn_handling=turns,
        max_tool_steps=MOST_TOOL_STEPS,
        aec_warmup_duration=NO_ECHO,
        conn_options=SessionConnectOptions(stt_conn_options=once, llm_conn_options=once, tts_conn_options=once),
    )


MODELS = {"openai": openai_model, "xai": xai_model, "google": google_model, "ultravox": ultravox_model}


@server.rtc_session()
async def entrypoint(context: JobContext) -> None:
    """One conversation."""
    session = cascaded_session(ASKED) if SYSTEM == "cascaded" else realtime_session(MODELS[SYSTEM](ASKED))
    tools = [tool(declared) for declared in json.loads(os.environ["VOICEBENCH_TOOLS"])]
    await session.start(agent=Agent(instructions=os.environ["VOICEBENCH_INSTRUCTIONS"], tools=tools), room=context.room)
