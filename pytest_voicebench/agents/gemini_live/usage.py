"""What a turn cost, flat and by the provider's names: `promptAudioTokenCount` for the audio of its prompt's details."""

from __future__ import annotations

from typing import Any

from pytest_voicebench.agents.checks import is_count
from pytest_voicebench.agents.reading import parts, text

Json = Any


def usage_counts(usage: dict[str, Json]) -> dict[str, float]:
    """All counts by name; empty for anything that holds none. What is no finite number is no count."""
    found: dict[str, float] = {}
    for name, value in usage.items():
        if is_count(value):
            found[name] = value
        elif name.endswith("TokensDetails"):
            for detail in parts(usage, name):
                count = detail.get("tokenCount", 0)
                key = f"{name.removesuffix('TokensDetails')}{text(detail, 'modality').capitalize()}TokenCount"
                found[key] = found.get(key, 0) + (count if is_count(count) else 0)
    return found
