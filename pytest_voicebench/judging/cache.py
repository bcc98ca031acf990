"""Verdicts that were given before, one small file each, found by judge, prompts and content; never a failure."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_voicebench.codec import CodecError, dump_json, parse_json
from pytest_voicebench.files import read_file, write_atomically
from pytest_voicebench.judgement import Judge
from pytest_voicebench.judging.prompts import Prompt

CACHE_NAME = ".judge_cache"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """An answer's text as it came: it is read again as a new one would be."""

    text: str
    judged_at: str
    output_format: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictCache:
    """A folder of verdicts; without one nothing is remembered. A folder that cannot be written is no reason to stop."""

    folder: Path | None

    def get(self, judge: Judge, prompt: Prompt) -> Remembered | None:
        """What this judge answered to exactly this prompt, or None."""
        if self.folder is None:
            return None
        path = self._path(judge, prompt)
        try:
            return parse_json(Remembered, read_file(path), where=path.name)
        except (OSError, CodecError):
            return None

    def put(self, judge: Judge, prompt: Prompt, answer: Remembered) -> None:
        """Remember an answer that was a verdict."""
        if self.folder is not None:
            with suppress(OSError):
                write_atomically(self._path(judge, prompt), dump_json(answer) + b"\n")

    def _path(self, judge: Judge, prompt: Prompt) -> Path:
        assert self.folder is not None
        key = hashlib.sha256(json.dumps([asdict(judge), prompt.sha256], sort_keys=True).encode()).hexdigest()
        return self.folder / key[:2] / f"{key}.json"
