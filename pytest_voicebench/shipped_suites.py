"""Where the suites lie that travel with the package."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def shipped_suites() -> dict[str, Path]:
    """Their folders by name: of the installed package, or of the checkout that the package runs from."""
    for home in (_PACKAGE / "_suites", _PACKAGE.parent / "suites"):
        if home.is_dir():
            return {p.name: p for p in sorted(home.iterdir()) if p.is_dir() and any(p.glob("*.yaml"))}
    return {}
