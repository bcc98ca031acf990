"""judgements.jsonl in a run's folder: what judges said about it, one line an answer; results are never touched."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pytest_voicebench.codec import CodecError, dump_json, parse_json
from pytest_voicebench.files import read_file, write_atomically
from pytest_voicebench.judgement import ENDPOINT_FAILED, Cause, Judge, Judgement

JUDGEMENTS_NAME = "judgements.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgementLog:
    """The lines of a judgements.jsonl that could be read, and notes on the others."""

    judgements: tuple[Judgement, ...] = ()
    notes: tuple[str, ...] = ()


def read_judgements(run_folder: Path) -> JudgementLog:
    """What judges said about a run; nothing where there is no such file. A line that cannot be read is noted, and its
    question counts as unjudged."""
    path = run_folder / JUDGEMENTS_NAME
    try:
        lines = read_file(path).split(b"\n")
    except (FileNotFoundError, NotADirectoryError):
        return JudgementLog()
    except OSError as error:
        return JudgementLog(notes=(f"{path}: {error.strerror}: judgements left out",))
    found: list[Judgement] = []
    notes: list[str] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                found.append(parse_json(Judgement, line, where=f"{path}:{number}"))
            except CodecError as error:
                notes.append(f"{error}; line left out")
    return JudgementLog(judgements=tuple(found), notes=tuple(notes))


def write_judgements(run_folder: Path, judgements: Iterable[Judgement]) -> None:
    """Write the file whole. Raises OSError."""
    data = b"".join(dump_json(one) + b"\n" for one in judgements)
    write_atomically(run_folder / JUDGEMENTS_NAME, data)


NOBODY_ANSWERED: tuple[Cause, ...] = (*ENDPOINT_FAILED, "given_up", "interrupted", "not_asked")


def with_new(old: Iterable[Judgement], new: Iterable[Judgement], judge: Judge) -> tuple[Judgement, ...]:
    """What `judge` says now in place of what it said before; other judges keep theirs.

    Where nobody answers now, an answer of this judge to the same question of the same item stands.
    """
    old = tuple(old)
    given = {(one.item_id, one.asked.key): one for one in old if one.judge == judge and one.unjudged is None}
    said = (given.get((n.item_id, n.asked.key), n) if n.unjudged in NOBODY_ANSWERED else n for n in new)
    return (*(one for one in old if one.judge != judge), *said)
