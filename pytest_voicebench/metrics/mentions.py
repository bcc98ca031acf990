"""Whether something was said: word by word, with numbers brought to one form, never by substring."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from pytest_voicebench.conversation import Conversation
from pytest_voicebench.matchers.numerals import ORDINALS, SCALES, TENS, UNITS, read_figures, read_number
from pytest_voicebench.phrases import without_control_tokens

_TOKEN = re.compile(r"[^\W_]+(?:[.,:'’][^\W_]+)*|[$€£¥₹%]")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_SHORT = re.compile(r"(\d+(?:\.\d+)?)(k|m)")
_UNIT_SIGNS = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen", "₹": "rupee", "%": "percent"}
_NUMBER_WORDS = frozenset({*UNITS, *TENS, *SCALES, "hundred", "point", "and"})
_LONGEST_NUMBER = 14  # words


def agent_words_heard(conversation: Conversation) -> str | None:
    """What the agent said as far as it was played; None where the agent gave no words for its voice.

    Words of an agent that was never audible were not said (empty text). Where the heard part of an entry is unknown,
    its whole text counts only if nothing was cut in this conversation. Control tokens are left out.
    """
    if conversation.agent_speech is not None and not conversation.agent_speech:
        return ""
    entries = [t for t in conversation.transcripts if t.speaker == "agent" and t.text.strip()]
    whole = not conversation.clears_ticks
    heard = [t.heard_text if t.heard_text is not None else (t.text if whole else None) for t in entries]
    known = [without_control_tokens(text) for text in heard if text is not None]
    return "\n".join(known) if known else None


def is_mentioned(fact: str, said: str) -> bool:
    """Whether a fact was said: `1,000` in "one thousand dollars", but not `10` in "100"; `FL123` in "F L 1 2 3"."""
    needle, hay = tokens(fact), tokens(said)
    if not needle:
        return False
    joined = "".join(needle)
    is_identifier = joined[0] == "0" or (any(c.isdigit() for c in joined) and any(c.isalpha() for c in joined))
    return contains(hay, needle) or (is_identifier and is_spelled(joined, hay))


def contains(hay: Sequence[str], needle: Sequence[str]) -> bool:
    """Whether the needle's tokens occur side by side."""
    size = len(needle)
    return any(tuple(hay[n : n + size]) == tuple(needle) for n in range(len(hay) - size + 1))


def is_spelled(joined: str, hay: Sequence[str]) -> bool:
    """Whether an identifier, folded and without separators, occurs in pieces: `fl123` in f, l, 1, 2, 3."""
    for start in range(len(hay)):
        text = ""
        for token in hay[start:]:
            text += token
            if text == joined:
                return True
            if not joined.startswith(text):
                break
    return False


@lru_cache(maxsize=1024)
def tokens(text: str) -> tuple[str, ...]:
    """The words of a text, folded: numbers as figures, ordinals as numbers, `$90` as 90 dollar, plural -s off."""
    folded = unicodedata.normalize("NFC", text).casefold()
    raw = [w.removesuffix("'s").removesuffix("’s") for w in _TOKEN.findall(folded.replace("’", "'"))]
    found: list[str] = []
    at = 0
    while at < len(raw):
        word, size = _next(raw, at)
        sign = _UNIT_SIGNS.get(raw[at - 1]) if at and found and found[-1] == _UNIT_SIGNS.get(raw[at - 1]) else None
        if sign and sign != "percent" and word[0].isdigit():
            found[-1:] = [word, sign]
        else:
            found.append(word)
        at += size
    return tuple(found)


def _next(raw: Sequence[str], at: int) -> tuple[str, int]:
    """The token that begins here and the number of words it takes."""
    word = raw[at]
    if word in _NUMBER_WORDS or word in ("a", "an") or word[0].isdigit():
        number, size = _number(raw, at)
        if number is not None:
            return number, size
    if word in ORDINALS:
        return str(ORDINALS[word]), 1
    ordinal = _ORDINAL.fullmatch(word)
    if ordinal:
        return ordinal[1], 1
    return _UNIT_SIGNS.get(word) or _singular(word), 1


def _number(raw: Sequence[str], at: int) -> tuple[str | None, int]:
    """The longest number that begins here, as figures."""
    word = raw[at]
    if word in TENS and at + 1 < len(raw) and ORDINALS.get(raw[at + 1], 99) < 10:
        return str(TENS[word] + ORDINALS[raw[at + 1]]), 2
    end = at + 1
    while end < len(raw) and end - at < _LONGEST_NUMBER and raw[end] in _NUMBER_WORDS:
        end += 1
    for stop in range(end, at, -1):
        if stop == at + 1 and (word in ("a", "an") or (word[0] == "0" and word.isdigit() and word != "0")):
            break  # an article; the leading zeros of an identifier
        value = read_number(" ".join(raw[at:stop]))
        if value is not None:
            return format(value.normalize(), "f"), stop - at
    short = _SHORT.fullmatch(word)
    figures = read_figures(short[1]) if short else None
    if short and figures is not None:
        return format(figures.scaleb(3 if short[2] == "k" else 6).normalize(), "f"), 1
    return None, 1


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
