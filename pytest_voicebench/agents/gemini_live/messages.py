"""What we send, but audio: the setup of a session, the answers to calls, silent text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_voicebench.agents.briefing import briefing
from pytest_voicebench.agents.gemini_live.models import Calling, Generation
from pytest_voicebench.agents.protocol import Setup, ToolResult

Json = Any
Message = dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a session shall be like. `detection`, `handling` and `thinking` are in the API's own words."""

    generation: Generation
    model: str
    voice: str
    calling: Calling
    scheduling: str | None
    detection: Mapping[str, Json]
    handling: str
    coverage: str
    thinking: Mapping[str, Json] = field(default_factory=dict)
    transcribes_user: bool = True
    transcribes_agent: bool = True


def session_setup(asked: Asked, setup: Setup, handle: str | None = None) -> Message:
    """The first message of a socket; with a handle it goes on where another one ended."""
    config: Message = {
        "responseModalities": ["AUDIO"],
        "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": asked.voice}}},
    }
    if asked.thinking:
        config["thinkingConfig"] = dict(asked.thinking)
    session: Message = {
        "model": asked.model if "/" in asked.model else f"models/{asked.model}",
        "generationConfig": config,
        "systemInstruction": {"parts": [{"text": briefing(setup)}]},
        "realtimeInputConfig": {
            "automaticActivityDetection": {"disabled": False, **asked.detection},
            "activityHandling": asked.handling,
            "turnCoverage": asked.coverage,
        },
        "sessionResumption": {"handle": handle} if handle else {},
    }
    if setup.tools:
        session["tools"] = [{"functionDeclarations": _declarations(asked, setup)}]
    if asked.transcribes_user:
        session["inputAudioTranscription"] = {}
    if asked.transcribes_agent:
        session["outputAudioTranscription"] = {}
    return {"setup": session}


def _declarations(asked: Asked, setup: Setup) -> list[Message]:
    how: Message = {}
    if asked.calling == "async" or asked.generation.sends_behavior:
        how = {"behavior": "NON_BLOCKING" if asked.calling == "async" else "BLOCKING"}
    return [
        {"name": t.name, "description": t.description, "parametersJsonSchema": t.json_schema(), **how}
        for t in setup.tools
    ]


def tool_response(results: Sequence[ToolResult], unnamed: frozenset[str], scheduling: str | None) -> Message:
    """All results in one message. `unnamed` are calls to which the server gave no id; they are answered without one.

    `scheduling` belongs to calls that do not block, and is None for others.
    """
    answers = []
    for result in results:
        answer: Message = {} if result.call_id in unnamed else {"id": result.call_id}
        answer |= {"name": result.name, "response": _as_object(result)}
        answers.append(answer | ({"scheduling": scheduling.upper()} if scheduling else {}))
    return {"toolResponse": {"functionResponses": answers}}


def _as_object(result: ToolResult) -> Message:
    """A response must be an object; `output` and `error` are the API's words for what is none."""
    if isinstance(result.result, dict):
        return result.result
    return {"error" if result.is_error else "output": result.result}


def silent_text(text: str) -> Message:
    """What adds a text to the context without asking for a reply. It would interrupt one that is being given."""
    return {"clientContent": {"turns": [{"role": "user", "parts": [{"text": text}]}], "turnComplete": False}}
