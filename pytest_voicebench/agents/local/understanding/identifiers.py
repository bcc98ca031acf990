"""Identifiers in a transcript: spelled letters and digits, "double four", "B as in bravo", corrections of their end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_voicebench.agents.local.understanding.mentions import Mention, marker_at
from pytest_voicebench.agents.local.understanding.numbers import TENS, UNITS
from pytest_voicebench.agents.local.understanding.wording import word_set
from pytest_voicebench.agents.local.understanding.words import Token

_SPELLING = word_set("""
    alpha alfa bravo charlie delta echo foxtrot golf hotel india juliet juliett kilo lima mike november oscar papa
    quebec romeo sierra tango uniform victor whiskey x-ray xray yankee zulu
    """)
_TIMES = {"double": 2, "triple": 3}
_LETTER_NAMES = {"jay": "J", "kay": "K", "zee": "Z", "zed": "Z", "ex": "X", "oh": "0", "cee": "C", "dee": "D"}
_HOMOPHONES = {"to": "2", "too": "2", "do": "2", "for": "4", "o": "0", "ate": "8", "won": "1"}
_CUES = word_set("""
    number order id code item product flight tracking reference confirmation passport licence license document
    package parcel shipment card permit visa sku model booking ticket case
    """)
_GLUE = frozenset(("-", ",", "dash", "hyphen", "...", "…", "then", "#"))
_MIXED = re.compile(r"(?=.*[a-z])(?=.*\d)[a-z\d]+$", re.IGNORECASE)
_MEASURE = re.compile(r"\d+(st|nd|rd|th|k|am|pm)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Atom:
    text: str
    end: int
    sure: bool  # cannot be anything but spelling


def find_identifiers(tokens: Sequence[Token], taken: set[int]) -> list[Mention]:
    """All identifiers, in order, in capitals without separators. Tokens in `taken` belong to other mentions."""
    found: list[Mention] = []
    i = 0
    while i < len(tokens):
        after = found[-1].end if found else 0
        correcting = bool(found) and i - after < 6 and any(marker_at(tokens, j) for j in range(max(after, i - 4), i))
        mention = None if i in taken else _run_at(tokens, i, taken, correcting)
        if mention is not None:
            found.append(_corrected(tokens, found[-1] if found else None, mention))
        i = mention.end if mention else i + 1
    return found


def _run_at(tokens: Sequence[Token], start: int, taken: set[int], correcting: bool) -> Mention | None:
    if (
        tokens[start].low == "one"
        and start
        and tokens[start - 1].low in ("another", "other", "that", "this", "new", "right")
    ):
        return None
    atoms: list[_Atom] = []
    i, commas = start, 0
    while i < len(tokens) and i not in taken:
        atom = _atom_at(tokens, i, bool(atoms))
        if atom is not None:
            atoms.append(atom)
            i = atom.end
        elif atoms and (_continues(tokens, i) or _goes_on(tokens, i, commas)) and not _starts_again(tokens, i, atoms):
            commas += tokens[i].text == ","
            i += 1
        else:
            break
    closed = i >= len(tokens) or tokens[i].is_punctuation
    made_it = [t.low for t in tokens[max(0, start - 2) : start]] in (["make", "it"], ["make", "that"])
    if made_it and len(atoms) == 1 and len(atoms[0].text) < 3:
        return None  # a count: "make it two"
    if not atoms or not (_plausible(tokens, start, atoms) or (correcting and closed)):
        return None
    return Mention(kind="identifier", value="".join(a.text for a in atoms).upper(), start=start, end=atoms[-1].end)


def _goes_on(tokens: Sequence[Token], i: int, commas: int) -> bool:
    """One more digit after a comma, where commas have parted the ones before: "P, 7, 0, 3, 2 first"."""
    if tokens[i].text != "," or not commas or i + 1 >= len(tokens):
        return False
    after = tokens[i + 2].low if i + 2 < len(tokens) else ""
    return len(tokens[i + 1].low) == 1 and tokens[i + 1].low.isdigit() and after not in ("of", "bedroom", "bedrooms")


def _atom_at(tokens: Sequence[Token], i: int, inside: bool) -> _Atom | None:
    token, low = tokens[i], tokens[i].low
    if low == "double" and i + 1 < len(tokens) and re.fullmatch(r"u\d*", tokens[i + 1].low):
        return _Atom(text="w" + tokens[i + 1].low[1:], end=i + 2, sure=True)
    if low in _TIMES and i + 1 < len(tokens) and tokens[i + 1].low in ("floor", "for", "fore"):
        return _Atom(text="4" * _TIMES[low], end=i + 2, sure=True)
    if low in _TIMES and i + 1 < len(tokens) and (one := _atom_at(tokens, i + 1, inside)) and len(one.text) == 1:
        return _Atom(text=one.text * _TIMES[low], end=one.end, sure=True)
    if len(low) == 1 and low.isalpha():
        end = _explained(tokens, i + 1, low)
        following = tokens[i + 1] if i + 1 < len(tokens) else None
        if low in "ai" and not token.glued and end == i + 1 and _is_word(token, following, inside):
            return None
        return _Atom(text=low, end=end, sure=low not in "ai" or end > i + 1)
    if _MIXED.match(low) and not (inside and re.fullmatch(r"\d+s", low)) and not _MEASURE.match(low):
        plural = re.fullmatch(r"([a-z]+\d+)s", low)  # "ten of the T901s"
        return _Atom(text=plural[1] if plural else low, end=i + 1, sure=True)
    if inside and re.fullmatch(r"\d+s", low):
        return _Atom(text=low[:-1], end=i + 1, sure=True)
    if low.isdigit():
        return _Atom(text=low, end=i + 1, sure=False)
    if inside and re.fullmatch(r"\d+\.\d+", low):
        return _Atom(text=low.replace(".", ""), end=i + 1, sure=False)
    if low in UNITS:
        return _Atom(text=str(UNITS[low]), end=i + 1, sure=False)
    if low in TENS:
        more = UNITS.get(tokens[i + 1].low, 99) if i + 1 < len(tokens) else 99
        return _Atom(text=str(TENS[low] + (more if more < 10 else 0)), end=i + 1 + (more < 10), sure=False)
    if low in _LETTER_NAMES and (inside or low != "oh"):
        return _Atom(text=_LETTER_NAMES[low], end=i + 1, sure=False)
    if low in _SPELLING and (inside or (i + 1 < len(tokens) and _spelled(tokens[i + 1]))):
        return _Atom(text=low[0], end=i + 1, sure=True)
    if inside and low in _HOMOPHONES and i + 1 < len(tokens) and _spelled(tokens[i + 1]) and _amid(tokens, i):
        return _Atom(text=_HOMOPHONES[low], end=i + 1, sure=False)
    if (
        inside
        and low in ("to", "too", "for")
        and i + 1 < len(tokens)
        and tokens[i + 1].low in ("in", "into", "on", "please")
    ):
        return _Atom(text=_HOMOPHONES[low], end=i + 1, sure=False)
    if end := _as_in(tokens, i):
        return _Atom(text=tokens[end - 1].low[0], end=end, sure=True)
    return _capitals(tokens, i, inside)


def _is_word(token: Token, following: Token | None, inside: bool) -> bool:
    """An article or a pronoun, not a letter."""
    if following is None or not following.is_word:
        return token.text in ("a", "I") and not inside and (following is None or following.text != ",")
    if not _spelled(following):
        return True
    if token.text in ("a", "A") and not inside and not following.glued and following.low in UNITS | TENS:
        return True  # "a two bedroom"; digits are written as figures where they are spelled
    letter = (len(following.low) == 1 and following.low.isalpha()) or following.glued
    return not letter and not inside and token.text in ("a", "I")


def _capitals(tokens: Sequence[Token], i: int, inside: bool) -> _Atom | None:
    """Letters that the recogniser ran together: "FL 220", "DL-599"."""
    text = tokens[i].text
    if not (text.isupper() and 2 <= len(text) <= 5 and text.isalpha()) or text in ("US", "UK", "ID", "OK"):
        return None
    digits = i + 1 < len(tokens) and tokens[i + 1].low[0].isdigit()
    return _Atom(
        text=text,
        end=i + 1,
        sure=inside or tokens[i].glued or (digits and (len(tokens[i + 1].low) > 1 or _stays_spelling(tokens, i + 1))),
    )


def _amid(tokens: Sequence[Token], i: int) -> bool:
    """Whether a small word stands between spelled pieces: "B to 0 4" is B204, "K2 for 30 dollars" is not K2430."""
    after = tokens[i + 2] if i + 2 < len(tokens) else None
    return len(tokens[i + 1].low) == 1 and (after is None or after.is_punctuation or after.glued or _spelled(after))


def _as_in(tokens: Sequence[Token], i: int) -> int:
    """Past "be as in bravo": whatever the letter was heard as, the word after "as in" tells it."""
    after = [t.low for t in tokens[i + 1 : i + 4]]
    return (
        i + 4 if len(after) == 3 and after[:2] == ["as", "in"] and tokens[i].is_word and len(tokens[i].low) < 4 else 0
    )


def _spelled(token: Token) -> bool:
    low = token.low
    return (
        (len(low) == 1 and low.isalnum())
        or low.isdigit()
        or low in UNITS
        or low in _TIMES
        or low in _SPELLING
        or bool(_MIXED.match(low))
    )


def _explained(tokens: Sequence[Token], i: int, letter: str) -> int:
    """Past "as in bravo", "for boy", "like boy" after a letter."""
    j = i + 1 if i < len(tokens) and tokens[i].text == "," else i
    words = [t.low for t in tokens[j : j + 3]]
    for lead in (["as", "in"], ["for"], ["like"], ["is", "in"]):
        rest = words[len(lead) :]
        if words[: len(lead)] == lead and rest and rest[0].startswith(letter) and len(rest[0]) > 2:
            return j + len(lead) + 1
    return i


def _continues(tokens: Sequence[Token], i: int) -> bool:
    """A separator inside a spelled run: more spelling must follow at once."""
    if i + 1 >= len(tokens):
        return False
    following = tokens[i + 1]
    if following.low in _HOMOPHONES:
        return tokens[i].text == "," and i + 2 < len(tokens) and _spelled(tokens[i + 2]) and _amid(tokens, i + 1)
    if not _spelled(following):
        return False
    if tokens[i].low in _GLUE:
        return _stays_spelling(tokens, i + 1)
    single = len(following.low) == 1 and following.low not in "ai" and _stays_spelling(tokens, i + 1)
    if tokens[i].text == "." and tokens[i - 1].low[-1].isdigit() and following.low.isdigit() and len(following.low) > 2:
        return True  # "x449.027"
    return tokens[i].text == "." and (following.low in _TIMES or single)


def _starts_again(tokens: Sequence[Token], i: int, atoms: Sequence[_Atom]) -> bool:
    """The identifier is said once more: whole again, or from a letter on in a new sentence."""
    following = tokens[i + 1].low
    whole = following[0].isalpha() and bool(_MIXED.match(following)) and any(c.isdigit() for a in atoms for c in a.text)
    return whole or (tokens[i].text == "." and following.isalpha() and any(a.text.isdigit() for a in atoms))


def _stays_spelling(tokens: Sequence[Token], i: int) -> bool:
    """Not a count or an amount that follows a comma: "order K7721, 2 bedrooms"."""
    after = tokens[i + 1] if i + 1 < len(tokens) else None
    if (
        after is None
        or after.is_punctuation
        or after.glued
        or _spelled(after)
        or (len(tokens[i].low) == 1 and tokens[i].low.isalpha())
    ):
        return True
    return after.low in ("and", "please", "as", "for", "no", "double", "triple", "sorry", "then", "wait", "to", "in")


def _plausible(tokens: Sequence[Token], start: int, atoms: Sequence[_Atom]) -> bool:
    text = "".join(a.text for a in atoms)
    letters = any(c.isalpha() for c in text)
    if letters and any(c.isdigit() for c in text):
        return any(a.sure for a in atoms) or any(len(a.text) == 1 and a.text.isalpha() for a in atoms)
    if letters:
        return len(atoms) >= 3 and all(len(a.text) == 1 for a in atoms)
    if len(text) >= 5:
        return True
    return _cued(tokens, start) and (len(text) >= 3 or len(atoms) >= 2)


def _cued(tokens: Sequence[Token], start: int) -> bool:
    if start and tokens[start - 1].text in "$€£¥":
        return False
    for token in reversed(tokens[max(0, start - 4) : start]):
        if token.low in _CUES or token.text == "#":
            return True
        if token.low not in ("is", "it", "it's", "the", "number", "was", ",", ":", "new", "a", "no"):
            return False
    return False


def _corrected(tokens: Sequence[Token], before: Mention | None, after: Mention) -> Mention:
    """A shorter run right after a correction replaces the end of the one before: "P-5-0-2, sorry, 0-3"."""
    if before is None or len(after.value) >= len(before.value) or after.start - before.end > 8:
        return after
    gap = range(before.end, after.start)
    if not any(marker_at(tokens, i) for i in gap) or any(tokens[i].low in ("and", "also", "put") for i in gap):
        return after
    if after.value[0].isalpha() and before.value[0].isalpha() and len(before.value) - len(after.value) < 2:
        return after
    merged = before.value[: len(before.value) - len(after.value)] + after.value
    return Mention(kind="identifier", value=merged, start=after.start, end=after.end)
