"""Whether a transcript stops in the middle of a sentence."""

from __future__ import annotations

from pytest_voicebench.agents.local.understanding.lexicon import CONJUNCTIONS, DETERMINERS, PREPOSITIONS
from pytest_voicebench.agents.local.understanding.wording import word_set
from pytest_voicebench.agents.local.understanding.words import tokenize

_COMPLETE = word_set("that this those these off up on one's there then also out it in another")
_HANGING = PREPOSITIONS | CONJUNCTIONS | DETERMINERS | word_set("i we i'd i'm no wait sorry actually")


def is_unfinished(text: str) -> bool:
    """True where the last word wants another one, or the recogniser wrote a comma or dots at the end."""
    if text.rstrip().endswith(("...", "…", ",", "-", "–", "—")):
        return True
    words = [t.low for t in tokenize(text) if t.is_word]
    return bool(words) and words[-1] in _HANGING - _COMPLETE
