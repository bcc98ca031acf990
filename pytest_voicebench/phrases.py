"""Words as they are compared: where a phrase stands in what was said."""

from __future__ import annotations

import re
from collections.abc import Sequence

_CONTROL_TOKEN = re.compile(r"<\|[^<>|]{0,40}\|>|<\$[^<>$]{0,40}\$>")
"""Marks that some speech models leave in their text, `<|1.2|>` and `<$0.72$>`: nobody hears them."""

_WORD = re.compile(r"[^\W_]+(?:['.,:]?[^\W_]+)*", re.UNICODE)


def without_control_tokens(text: str) -> str:
    """The text as it was spoken, its words one space apart."""
    return " ".join(_CONTROL_TOKEN.sub(" ", text).split())


def words_of(text: str) -> list[str]:
    """The words of a text, in small letters, without the punctuation around them (`"Sorry, 3:30 p.m."` has three)."""
    return _WORD.findall(text.casefold().replace("’", "'"))


def count_phrase(phrase: str, text: str) -> int:
    """How often the phrase stands in the text, word for word, occurrences that overlap included."""
    wanted, said = (f" {' '.join(words_of(t))} " for t in (phrase, text))
    count, at = 0, said.find(wanted) if wanted.strip() else -1
    while at >= 0:
        count, at = count + 1, said.find(wanted, at + 1)
    return count


def find_phrase(phrase: str, words: Sequence[str]) -> list[int]:
    """Indexes in `words` (each as spoken, punctuation allowed) of the last word of every occurrence of the phrase.

    A spoken entry that is no word by itself ("--") is passed over; one that holds two words counts at its own index.
    """
    spoken = [(word, index) for index, entry in enumerate(words) for word in words_of(entry)]
    wanted = words_of(phrase)
    ends = range(len(wanted), len(spoken) + 1) if wanted else ()
    return [spoken[end - 1][1] for end in ends if [w for w, _ in spoken[end - len(wanted) : end]] == wanted]
