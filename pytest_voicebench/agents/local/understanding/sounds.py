"""How alike words sound: consonants by place of articulation, vowels left out; for what a recogniser misspells."""

from __future__ import annotations

import functools
from collections.abc import Sequence

_DIGRAPHS = (("ch", "j"), ("sh", "j"), ("cz", "j"), ("ph", "f"), ("th", "t"), ("ck", "k"), ("gh", ""), ("kn", "n"),
             ("wr", "r"), ("qu", "kw"), ("ce", "s"), ("ci", "s"), ("cy", "s"), ("ge", "j"))  # fmt: skip


@functools.cache
def sound_of(text: str) -> str:
    """The skeleton of consonants of words run together; voiced and voiceless ones are the same."""
    text = "".join(c for c in text.lower() if c.isalpha())
    for letters, sound in _DIGRAPHS:
        text = text.replace(letters, sound)
    sounds = "".join(_SOUNDS.get(c, "") for c in text)
    return "".join(c for i, c in enumerate(sounds) if i == 0 or c != sounds[i - 1])


_SOUNDS = {
    "b": "p", "p": "p", "d": "t", "t": "t", "g": "k", "k": "k", "q": "k", "c": "k", "x": "ks", "z": "s", "s": "s",
    "v": "f", "f": "f", "m": "m", "n": "n", "l": "l", "r": "r", "j": "j", "w": "w",
}  # fmt: skip


def likeness(one: str, other: str) -> float:
    """1.0 for the same skeleton, less for each consonant that is missing or another; 0.0 where nothing fits."""
    first, second = sound_of(one), sound_of(other)
    longest = max(len(first), len(second))
    if not longest:
        return 0.0
    return max(0.0, 1 - _distance(first, second) / longest)


def _distance(one: Sequence[str], other: Sequence[str]) -> int:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]
