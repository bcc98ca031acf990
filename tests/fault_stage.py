"""One scripted conversation end to end: a suite file, loaded, held on the virtual clock, listened to, scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pytest_voicebench.agents.protocol import AgentAudio, ToolCall
from pytest_voicebench.audio import RATE_HZ, Audio, Samples
from pytest_voicebench.audio_files import write_flac
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.files import file_sha256
from pytest_voicebench.loading import load_suite
from pytest_voicebench.scenario import Scenario, Timing
from pytest_voicebench.scorecard import Scorecard
from pytest_voicebench.scoring import score
from pytest_voicebench.speech import detect_speech
from pytest_voicebench.timing_file import timing_path, write_timing
from tests.scripted import Scripted
from tests.stage import hold
from tests.voice import silence, spoken

Words = Sequence[tuple[str, float, float]]

USER: Words = (("Please", 0.3, 1.2), ("do", 1.2, 1.6), ("it", 1.6, 2.3))
"""What the user says unless told otherwise: it ends at 2.3 s."""

REPLY = (4.0, 5.0)

TOOLS = """
get_exchange_rate:
  description: A rate.
  parameters:
    amount: {type: number, match: money}
    from_currency: {type: string, match: currency}
    to_currency: {type: string, match: currency}
  returns: {rate: 1.1}
add_to_cart:
  description: Put a product into the cart.
  parameters:
    id: {type: string, match: identifier, required: true}
    quantity: {type: integer, default: 1}
  writes: true
  returns: {status: success}
ping: {description: Answer., returns: pong}
weather: {description: The weather., parameters: {city: {type: string, match: place}}, returns: {sky: blue}}
search_apartments:
  description: Find flats.
  parameters: {bedrooms: {type: integer}}
  returns: {apartments: [{address: "12 Main Street"}]}
calculate_commute:
  description: How far it is.
  parameters: {origin_address: {type: string, match: place}, destination_address: {type: string, match: place}}
  returns: {minutes: 20}
search_flights:
  description: Find flights.
  parameters: {destination: {type: string, match: place}, day: {type: string, format: date, match: date}}
  returns: {flights: [{flight_id: F10}, {flight_id: F11}]}
book_flight:
  description: Book a flight.
  parameters: {flight_id: {type: string, match: identifier}, budget: {type: string}}
  writes: true
  returns: {status: booked}
update_search_filter:
  description: Narrow a search.
  parameters:
    filter_name: {type: string, enum: [min_bedrooms, max_price]}
    value: {type: number}
  returns: {status: success}
search_products:
  description: Find products.
  parameters: {query: {type: string}, max_price: {type: number}}
  returns: {products: []}
transfer:
  description: Move money.
  parameters:
    quantity: {type: integer}
    account: {type: integer}
    amount: {type: number, match: money}
    currency: {type: string, match: currency}
  writes: true
  returns: {status: success}
order:
  description: Order things.
  parameters:
    item_ids: {type: array, items: {type: string}, options: {set: true}}
    colours: {type: array, items: {type: string}}
    confirm_code: {type: string, match: exact}
    place: {type: string, match: place}
    what: {type: string}
    share: {type: number}
  returns: {status: success}
"""

SUITE = """voicebench: 1
kind: tool_use
suite: faults
tools: tools.yaml
today: 2026-04-06
{more}scenarios:
  - id: fault
    user:
      - {{say: "{text}", audio: audio/user.flac}}
{steps}    expect:
{expect}
"""


@dataclass(frozen=True)
class Judged:
    """All that came of it."""

    scenario: Scenario
    conversation: Conversation
    card: Scorecard
    agent: Scripted


def voice(start_s: float, end_s: float, item_id: str = "") -> tuple[float, AgentAudio]:
    """The agent speaks from start to end."""
    audio = Audio(samples=spoken(end_s - start_s), rate_hz=RATE_HZ)
    return start_s, AgentAudio(item_id=item_id or f"reply_{start_s}", audio=audio)


def call(at_s: float, name: str, /, call_id: str = "", **arguments: Any) -> tuple[float, ToolCall]:
    """The agent calls a tool."""
    return at_s, ToolCall(call_id=call_id or f"{name}@{at_s}", name=name, arguments=arguments)


def said(path: Path, words: Words, tail_s: float = 0.2) -> None:
    """A recording in which the words stand where they stand, and its timing file; words that touch are one stretch."""
    speech: list[tuple[float, float]] = []
    for _, start_s, end_s in words:
        if speech and start_s - speech[-1][1] < 0.3:
            speech[-1] = (speech[-1][0], end_s)
        else:
            speech.append((start_s, end_s))
    parts: list[Samples] = []
    for start_s, end_s in speech:
        parts += [silence(start_s - sum(map(len, parts)) / RATE_HZ), spoken(end_s - start_s, pitch_hz=180.0)]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_flac(path, [np.concatenate([*parts, silence(tail_s)])], RATE_HZ)
    timing = Timing(audio_sha256=file_sha256(path), rate_hz=RATE_HZ, speech=tuple(speech), words=tuple(words))
    write_timing(timing_path(path), timing, "annotated")


def written(folder: Path, expect: str = "calls: []", *, user: Words = USER, steps: str = "", more: str = "") -> Path:
    """A suite of one scenario whose `expect` holds this YAML."""
    said(folder / "audio" / "user.flac", user)
    (folder / "tools.yaml").write_text(TOOLS, encoding="utf-8")
    indented = "\n".join(f"      {line}" for line in expect.strip("\n").splitlines())
    text = " ".join(word for word, _, _ in user)
    path = folder / "fault.yaml"
    path.write_text(SUITE.format(text=text, expect=indented, steps=steps, more=more), encoding="utf-8")
    return path


def judged(folder: Path, expect: str, *script: Any, reply: bool = True, clock: str = "virtual", **suite: Any) -> Judged:
    """The conversation with an agent that does what the script says, and replies from 4 to 5 s unless told not to."""
    (scenario,) = load_suite(written(folder, expect, **suite)).scenarios
    events = sorted([*script, *([voice(*REPLY)] if reply else [])], key=lambda event: event[0])
    agent = Scripted(events, clock=clock)
    conversation = detect_speech(hold(scenario, agent))
    return Judged(scenario, conversation, score(scenario, conversation), agent)
