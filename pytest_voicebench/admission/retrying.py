"""Trying again after a provider said that it is too much, or that it failed: how often, how long, how far apart."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

FIRST_WAIT_S = 2.0
LONGEST_WAIT_S = 30.0
JITTER = 0.25
"""By up to this share a wait is longer than it must be, so that those refused together do not come back together."""

WORTH_A_TRY = ("rate_limited", "server_error")
"""Kinds of refusal that may be over soon."""

_FORM = "TRIES or TRIES,SECONDS (5,120: at most five tries, within 120 s)"


class RetriesError(ValueError):
    """A text that says nothing of tries; one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """At most `tries` tries, the first included, and at most `total_s` from the first refusal to the last try."""

    tries: int = 5
    total_s: float = 120.0

    def wait_s(self, tried: int, retry_after_s: float | None, seed: str) -> float:
        """How long to wait after so many tries: twice as long each time, and never less than the provider asked for."""
        growing = min(FIRST_WAIT_S * 2.0 ** min(tried - 1, 10), LONGEST_WAIT_S)
        jitter = 1 + JITTER * random.Random(f"{seed} {tried}").random()
        return max(growing, retry_after_s or 0.0) * jitter


def parse_retries(text: str) -> Retries:
    """From `5` or `5,120`; `1` tries once. Raises RetriesError."""
    found = re.fullmatch(r"\s*(\d{1,4})\s*(?:,\s*(\d{1,6})\s*s?\s*)?", text, re.ASCII)
    if not found or not 1 <= int(found[1]) <= 100:
        raise RetriesError(f"{text[:40]!r} is not {_FORM}, with 1 to 100 tries")
    return Retries(tries=int(found[1])) if found[2] is None else Retries(tries=int(found[1]), total_s=float(found[2]))
