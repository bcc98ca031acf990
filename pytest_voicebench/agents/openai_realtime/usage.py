"""What a response cost, flat: `input_audio_tokens` for `usage.input_token_details.audio_tokens`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_voicebench.agents.checks import is_count

Json = Any


def usage_counts(usage: Json, prefix: str = "") -> dict[str, float]:
    """All counts by name; empty for anything that holds none. What is no finite number is no count."""
    return dict(_counts(usage, prefix)) if isinstance(usage, Mapping) else {}


def _counts(usage: Mapping[str, Json], prefix: str) -> Iterator[tuple[str, float]]:
    for name, value in usage.items():
        if isinstance(value, Mapping):
            yield from _counts(value, prefix + name.removesuffix("token_details").removesuffix("tokens_details"))
        elif is_count(value):
            yield f"{prefix}{name}", value
