"""Mistakes in a suite's files: one line each, collected, raised together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """One thing that is wrong in a file. As text: `file.yaml:LINE: where: what is wrong`."""

    path: Path
    line: int
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.where}: {self.what}"


class SuiteError(Exception):
    """A suite cannot be used. `problems` holds every mistake found; the text has one line for each."""

    def __init__(self, problems: Iterable[Mistake]) -> None:
        self.problems: tuple[Mistake, ...] = tuple(dict.fromkeys(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


MAX_MISTAKES = 500
"""More than these are not collected: a file of another kind, or of noise, would cost minutes."""


class TooManyMistakes(Exception):  # noqa: N818 - says what happened
    """Raised by a report that is full; `load_suite` stops there."""


class Report:
    """Collects the mistakes of one file; `of` gives the report of another file of the same suite."""

    def __init__(self, path: Path, mistakes: list[Mistake] | None = None) -> None:
        self.path = path
        self.mistakes: list[Mistake] = [] if mistakes is None else mistakes

    def add(self, line: int, where: str, what: str) -> None:
        """Note a mistake. What comes from the file is put on one line, made visible and kept short."""
        if len(self.mistakes) >= MAX_MISTAKES:
            raise TooManyMistakes
        self.mistakes.append(Mistake(path=self.path, line=line, where=_shown(where, 160), what=_shown(what, 600)))

    def of(self, path: Path) -> Report:
        """A report for another file that adds to the same list."""
        return Report(path, self.mistakes)


def _shown(text: str, limit: int) -> str:
    """Text on one line; what would not print (or would move a terminal's cursor) as an escape."""
    line = " ".join(text.split())
    if not line.isprintable():
        line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    return line if len(line) <= limit else line[: limit - 3] + "..."


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?` for the nearest known word, or nothing."""
    import difflib

    by_lower = {w.lower(): w for w in known}
    near = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return f'; did you mean "{by_lower[near[0]]}"?' if near else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """As `nearest`; where nothing is near, the known words if they are few."""
    words = [*known]
    return nearest(word, words) or (f"; known: {', '.join(words)}" if 0 < len(words) <= 12 else "")


def quoted(text: object, limit: int = 60) -> str:
    """Text of a file for a message: on one line, in quotes, cut at `limit` characters."""
    line = " ".join(str(text).split())
    return f'"{line if len(line) <= limit else line[: limit - 3] + "..."}"'


def listed(words: Sequence[str]) -> str:
    """`a, b or c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
