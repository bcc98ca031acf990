"""What the double of a phone agent is told to do: its manners with sound and marks, its faults, its TwiML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Json = Any

TWIML = """<?xml version="1.0" encoding="UTF-8"?>
<Response><Connect><Stream url="{url}">{parameters}</Stream></Connect></Response>
"""


@dataclass(frozen=True, kw_only=True)
class PhoneScript:
    """One way of behaving. As it stands, the double does everything right."""

    dialect: str = "twilio"
    token: str | None = None  # what is not signed with it is refused with 403
    status: int | None = None  # refuses the handshake
    accept_s: float = 0.0  # the handshake waits that long
    sizes: Sequence[int] = (320,)  # bytes of one media message after another, over and over
    marks: Literal["reply", "each", "none"] = "reply"  # after which sound a mark is sent
    mark_name: str = "mark-{n}"
    unknown: bool = False  # messages that Twilio does not know, between the others
    wrong_stream: bool = False  # every message has the streamSid of another call
    pace: float = 0.0  # seconds a piece of audio waits, for each second of it
    on_audio: Sequence[Json] = ()  # what happens after the second piece of audio
    on_turn: Sequence[Json] = ()  # what happens when the user's first turn ends
    voice_status: int = 200
    twiml: str = TWIML
    parameters: str = ""  # elements inside <Stream>
