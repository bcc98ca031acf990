"""What our own export says of a run beyond the official layout; of files that others wrote nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pytest_voicebench.importers.labels import ours_of
from pytest_voicebench.importers.release import Release, read_json_object
from pytest_voicebench.loading.fields import NAME, RESERVED


def suite_name(release: Release) -> str | None:
    """The suite that all folders of our own export come from; None where they are not ours, or of several suites."""
    names = [ours_of(folder.metadata).get("suite") for folder in release.folders if folder.metadata is not None]
    name = names[0] if names and all(other == names[0] for other in names) else None
    return name if isinstance(name, str) and is_suite_name(name) else None


def lost_in_the_layout(release: Release) -> list[str]:
    """A line on what scenarios of our own export had and the layout has no place for; none for the release's own."""
    told = [ours_of(folder.metadata or {}) for folder in release.folders]
    kinds = (("has_retraction", "values taken back"), ("has_mentions", "words the agent must say"))
    lost = [f"{what} ({n})" for key, what in kinds if (n := sum(ours.get(key) is True for ours in told))]
    if not lost:
        return []
    return [f"{' and '.join(lost)}: the layout cannot hold them; to score them give --suite, the suite they came from"]


def clock_of(release: Release, provider: str) -> Literal["virtual", "wall"]:
    """Virtual only where our own export says so of every result: figures of two clocks never share a table."""
    paths = [path for folder in release.folders if (path := folder.path / f"result_{provider}.json").exists()]
    return "virtual" if {_clock(path) for path in paths} == {"virtual"} else "wall"


def _clock(path: Path) -> Literal["virtual", "wall"] | None:
    """The clock of the conversation, where our own export wrote the file; None where it did not, or cannot be read."""
    try:
        clock = ours_of(read_json_object(path)).get("clock")
    except ValueError:
        return None
    return "virtual" if clock == "virtual" else "wall" if clock == "wall" else None


def is_suite_name(name: str) -> bool:
    """Whether a suite may have this name."""
    return NAME.fullmatch(name) is not None and name not in RESERVED and len(name) <= 80
