"""What several agents ask of their settings."""

from __future__ import annotations


def need_one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raises ValueError, one line, where a setting has none of the values it may have."""
    if value not in allowed:
        raise ValueError(f"{name} must be {' or '.join(allowed)}, not {value!r}")
