"""What tells the generations of Gemini Live apart: how they call tools, and how text reaches them silently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Calling = Literal["blocking", "async"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """What the models of one generation can do.

    `sends_behavior`: the declaration of a tool says how it is called also where it blocks; else only where it does not,
    since blocking is what the model does by itself. `takes_silent_text`: text may join the context at any time without
    asking for a reply.
    """

    name: str
    calling: tuple[Calling, ...]
    sends_behavior: bool
    takes_silent_text: bool


GEMINI_2_5 = Generation(name="2.5", calling=("blocking", "async"), sends_behavior=False, takes_silent_text=True)
GEMINI_3_1 = Generation(name="3.1", calling=("blocking",), sends_behavior=False, takes_silent_text=False)
GEMINI_3_8 = Generation(name="3.8", calling=("async", "blocking"), sends_behavior=True, takes_silent_text=False)
