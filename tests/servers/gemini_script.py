"""What the double of Gemini Live is told to do, and how strictly it reads its client."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Json = Any


@dataclass(frozen=True, kw_only=True)
class GeminiScript:
    """One way of behaving. As it stands, the double does everything right.

    Faults are lists of acts: "drop", {"close": code, "reason": ""}, {"raw": text}, {"binary": bytes}, {"event": {}},
    {"go_away": seconds, "leaves": seconds}.
    """

    key: str | None = None  # another one is refused with 1007, and repeated in the reason
    status: int | None = None  # refuses the handshake
    confirms: bool = True
    refuses_setup: str | None = None  # the reason of a 1008
    first: Sequence[Json] = ()  # right after setupComplete of the first socket
    on_audio: Sequence[Json] = ()  # after the second piece of the agent's audio
    on_turn: Sequence[Json] = ()  # when the user's first turn ends
    on_complete: Sequence[Json] = ()  # after the first turn is complete
    on_quiet_s: float | None = None  # goAway when that much audio has come, whatever is the case
    go_away_s: float = 8.0
    leaves_s: float | None = None  # when it really closes, else as it said
    resumes_after_s: float = 0.0  # so long a later socket waits for its setupComplete
    gives_handles: bool = True
    refuses_handle: str | None = None  # the reason of a 1008 on the second socket
    late_transcript: bool = False  # the user's text comes after the turn is complete
    joined: bool = False  # sound and text of the agent in one event, as 3.1 has it
    cancels_first_call: bool = False  # taken back in the next message
    snake: bool = False  # field names in snake_case
    plain_base64: bool = False  # instead of the url-safe letters
    text_frames: bool = False
    odd: bool = False  # pieces end in the middle of a sample
    unknown: bool = False  # fields and messages nobody has heard of
    piece_s: float = 0.1
    pace: float = 0.0  # seconds a piece waits for each second of it; 0 is a burst
    activity: bool = False  # voiceActivity events
    malformed: bool = False  # sound that is no base64: a fault for typed clients
    wrong_id: bool = False  # calls are expected back under another id


KNOWN: dict[str, set[str]] = {
    "": {"setup", "realtimeInput", "clientContent", "toolResponse", "contextUpdate"},
    "setup": {
        "model",
        "generationConfig",
        "systemInstruction",
        "tools",
        "realtimeInputConfig",
        "inputAudioTranscription",
        "outputAudioTranscription",
        "sessionResumption",
        "contextWindowCompression",
        "proactivity",
        "historyConfig",
    },
    "realtimeInput": {"audio", "mediaChunks", "text", "activityStart", "activityEnd", "audioStreamEnd", "video"},
    "clientContent": {"turns", "turnComplete"},
    "toolResponse": {"functionResponses"},
    "contextUpdate": {"systemInstruction", "tools"},
}


def read_spelling(value: Json, *, below: str = "") -> Json:
    """Field names in camelCase, as protobuf's JSON may also have them in snake_case; data of tools stays."""
    if isinstance(value, dict) and below not in ("response", "parametersJsonSchema", "parameters"):
        return {camel(k): read_spelling(v, below=camel(k)) for k, v in value.items()}
    return [read_spelling(v, below=below) for v in value] if isinstance(value, list) else value


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest)


def snake(value: Json, *, below: str = "") -> Json:
    """Field names in snake_case."""
    if isinstance(value, dict) and below != "args":
        return {re.sub(r"(?<!^)([A-Z])", r"_\1", k).lower(): snake(v, below=k) for k, v in value.items()}
    return [snake(v) for v in value] if isinstance(value, list) else value


def unknown_field(message: dict[str, Json]) -> str | None:
    """The first field that the API does not have, by its place."""
    for name, inner in message.items():
        if name not in KNOWN[""]:
            return name
        for field in inner if isinstance(inner, dict) else ():
            if field not in KNOWN[name]:
                return f"{name}.{field}"
    return None
