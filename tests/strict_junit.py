"""Whether a junit.xml is what strict readers accept."""

from __future__ import annotations

from pathlib import Path

SCHEMA = Path(__file__).parent / "data" / "junit-strict.xsd"


def strict_errors(path: Path) -> list[str]:
    """What the strict schema says against a file; nothing where it is valid."""
    import xmlschema  # type: ignore[import-not-found, unused-ignore]

    return [f"{error.path}: {error.reason}" for error in xmlschema.XMLSchema(SCHEMA).iter_errors(path)]
