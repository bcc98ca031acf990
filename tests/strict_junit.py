"""Whether a junit.xml is what strict readers accept."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).parent / "data" / "junit-strict.xsd"


@cache
def _schema() -> Any:
    import xmlschema  # type: ignore[import-not-found, unused-ignore]

    return xmlschema.XMLSchema(SCHEMA)


def strict_errors(path: Path) -> list[str]:
    """What the strict schema says against a file; nothing where it is valid."""
    return [f"{error.path}: {error.reason}" for error in _schema().iter_errors(path)]
