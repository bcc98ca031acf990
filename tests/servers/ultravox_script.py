"""What the double of Ultravox is told to do, and how strictly it reads the request that creates a call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Json = Any


@dataclass(frozen=True, kw_only=True)
class UltravoxScript:
    """One way of behaving. As it stands, the double does everything right.

    Faults are lists of acts: "drop", "end" (the call), {"close": code, "reason": ""}, {"raw": text}, {"binary": bytes},
    {"event": {}}.
    """

    key: str | None = None  # another one is refused with 403, and repeated in the message
    status: int | None = None  # of the answer to the request that creates a call
    message: str = "Too many requests."
    retry_after: str | None = None
    body: str | None = None  # instead of the call
    redirect: str | None = None  # where the request is sent on to
    hangs: bool = False  # the request is not answered
    join_status: int | None = None  # refuses to be joined
    greets: bool = True
    first: Sequence[Json] = ()  # right after call_started
    on_audio: Sequence[Json] = ()  # after the second piece of the agent's audio
    on_turn: Sequence[Json] = ()  # when the user's first turn ends
    on_complete: Sequence[Json] = ()  # after the first reply
    late_transcript: bool = False  # the user's text comes after the reply
    unnumbered: bool = False  # texts without their ordinal
    whole_texts: bool = False  # the agent's text so far, instead of what is added to it
    text_first: bool = True  # else the sound comes before its text
    same_call_id: bool = False  # every call of a tool has the same one
    odd: bool = False  # pieces end in the middle of a sample
    twice: bool = False  # every message is sent twice
    unknown: bool = False  # messages and fields nobody has heard of
    hums: bool = False  # digital silence while the agent does not speak, as it comes in from the user
    no_clear: bool = False  # an interruption just stops the sound
    no_states: bool = False
    piece_s: float = 0.1
    malformed: bool = False  # messages without what they need: a fault for typed clients


FIELDS = {
    "systemPrompt",
    "model",
    "voice",
    "externalVoice",
    "temperature",
    "languageHint",
    "maxDuration",
    "joinTimeout",
    "timeExceededMessage",
    "firstSpeaker",
    "firstSpeakerSettings",
    "initialOutputMedium",
    "selectedTools",
    "vadSettings",
    "recordingEnabled",
    "inactivityMessages",
    "medium",
    "dataConnection",
    "metadata",
}
SOCKET = {"inputSampleRate", "outputSampleRate", "clientBufferSizeMs"}
DETECTION = {"turnEndpointDelay", "minimumTurnDuration", "minimumInterruptionDuration", "frameActivationThreshold"}
TOOL = {"modelToolName", "description", "dynamicParameters", "timeout", "precomputable", "client"}
PARAMETER = {"name", "location", "schema", "required"}

MESSAGES = {"client_tool_result", "user_text_message", "set_output_medium", "forced_agent_message", "hang_up", "ping"}
REACTIONS = ("speaks", "listens", "speaks-once")


def seconds(text: Json) -> float:
    """A duration as the API has it. Raises ValueError."""
    if not isinstance(text, str) or not re.fullmatch(r"\d+(\.\d+)?s", text):
        raise ValueError(f"{text!r} is not a duration")
    return float(text[:-1])


def request_flaw(body: Json) -> dict[str, list[str]] | None:
    """What the API would refuse with 400, by field; None where nothing is wrong."""
    try:
        _check(body)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return {"body": [str(error)]}
    return None


def _check(body: dict[str, Json]) -> None:
    _only(body, FIELDS)
    socket = body["medium"]["serverWebSocket"]
    _only(socket, SOCKET)
    for rate in (socket["inputSampleRate"], socket.get("outputSampleRate", 48_000)):
        if rate not in (8000, 16000, 24000, 44100, 48000):
            raise ValueError(f"{rate!r} is no sample rate")
    _only(body.get("vadSettings", {}), DETECTION)
    for name in ("maxDuration", "joinTimeout"):
        seconds(body.get(name, "1s"))
    for name, value in body.get("vadSettings", {}).items():
        if name != "frameActivationThreshold":
            seconds(value)
    for selected in body.get("selectedTools", []):
        tool = selected["temporaryTool"]
        _only(tool, TOOL)
        if not 0 < seconds(tool.get("timeout", "2.5s")) <= 40:
            raise ValueError("timeout must be at most 40s")
        for parameter in tool["dynamicParameters"]:
            _only(parameter, PARAMETER)
            if parameter["location"] != "PARAMETER_LOCATION_BODY" or "type" not in parameter["schema"]:
                raise ValueError(f"dynamicParameters: {parameter['name']}")


def _only(value: dict[str, Json], names: set[str]) -> None:
    if unknown := set(value) - names:
        raise ValueError(f"unknown fields: {', '.join(sorted(unknown))}")


def message_flaw(message: dict[str, Json]) -> str | None:
    """What is wrong with a client's message, or None."""
    kind = message.get("type")
    if kind not in MESSAGES:
        return f"unknown message {kind!r}"
    if kind == "client_tool_result":
        if not isinstance(message.get("invocationId"), str):
            return "client_tool_result without invocationId"
        if ("result" in message) == ("errorType" in message) or not isinstance(message.get("result", ""), str):
            return "client_tool_result must have a result, a text, or an errorType"
        if message.get("agentReaction", "speaks") not in REACTIONS:
            return "client_tool_result with an unknown agentReaction"
    if kind == "user_text_message" and message.get("urgency", "soon") not in ("immediate", "soon", "later"):
        return "user_text_message with an unknown urgency"
    return None
