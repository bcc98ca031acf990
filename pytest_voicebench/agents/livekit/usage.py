"""What a session says it used, flat: counts of language models by their own names, others with `tts_` or `stt_`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def counts_of(usage: Any) -> dict[str, float]:
    """All counts of an AgentSessionUsage by name, added up over models; zeros are left out."""
    found: dict[str, float] = {}
    for model in usage.model_usage:
        kind = model.WhichOneof("usage")
        if kind is None:
            continue
        prefix = "" if kind == "llm" else f"{kind}_"
        for field, value in getattr(model, kind).ListFields():
            if isinstance(value, int | float):
                found[prefix + field.name] = found.get(prefix + field.name, 0.0) + value
    tokens = found.get("input_tokens", 0.0) + found.get("output_tokens", 0.0)
    return {**found, "total_tokens": tokens} if tokens else found


def difference(totals: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    """What was added to each count; what did not grow is left out."""
    grown = {name: value - before.get(name, 0.0) for name, value in totals.items()}
    return {name: value for name, value in grown.items() if value > 0}
