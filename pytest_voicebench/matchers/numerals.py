"""Numbers written in figures or English words, read strictly: what is not one number is None."""

from __future__ import annotations

import re
from decimal import Decimal

_FIGURES = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|[+-]?\.\d+")
_DIGIT_NAMES = "zero one two three four five six seven eight nine"
_DIGITS = {w: n for n, w in enumerate(_DIGIT_NAMES.split())}
_TEEN_NAMES = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
UNITS = _DIGITS | {
    w: n
    for n, w in enumerate(
        _TEEN_NAMES.split(),
        start=10,
    )
}
_TEN_NAMES = "twenty thirty forty fifty sixty seventy eighty ninety"
TENS = {w: n * 10 for n, w in enumerate(_TEN_NAMES.split(), start=2)}
TENS["fourty"] = 40
_ORDINAL_NAMES = """
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
"""
ORDINALS = {w: n for n, w in enumerate(_ORDINAL_NAMES.split(), start=1)} | {"thirtieth": 30}
SCALES = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_LONGEST = 200  # characters; no number that people say is longer
_SIGN = re.compile(r"([-+\u2212]|(?:minus|negative|plus)\b)\s*(.*)", re.IGNORECASE | re.DOTALL)
_JOINT = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")  # twenty-five


def read_figures(text: str) -> Decimal | None:
    """`1800`, `1,800`, `-3.50`, `.5`; None for anything else (`1e5`, `1.8.0`, `18,00`)."""
    return Decimal(text.replace(",", "")) if _FIGURES.fullmatch(text) else None


def read_number(text: str) -> Decimal | None:
    """The one number that a text is, in figures or in words (`five thousand`, `twenty-one`, `one point five`), or None.

    Two numbers side by side (`one two`, `twelve fifty`, `nineteen ninety nine`) are not one number.
    """
    if len(text) > _LONGEST:
        return None
    sign, text = split_sign(text)
    figures = read_figures(text)
    value = _read_words(_JOINT.sub(" ", text.casefold()).split()) if figures is None else figures
    if value is None or split_sign(text)[0]:  # --5 is no number
        return None
    return value * (sign or 1)


def split_sign(text: str) -> tuple[int | None, str]:
    """The one leading sign (`-`, `minus`, `negative` are -1; `+`, `plus` are 1; else None) and the rest."""
    text = text.strip()
    found = _SIGN.fullmatch(text)
    if found is None:
        return None, text
    return (1 if found[1].casefold() in ("+", "plus") else -1), found[2]


def _read_words(words: list[str]) -> Decimal | None:
    if "point" not in words:
        return _read_whole(words)
    at = words.index("point")
    digits = [_DIGITS.get(w, w if w.isascii() and w.isdigit() else None) for w in words[at + 1 :]]
    whole = _read_whole(words[:at]) if at else Decimal(0)
    if whole is None or not digits or None in digits:
        return None
    return whole + Decimal("0." + "".join(str(d) for d in digits))


def _read_whole(words: list[str]) -> Decimal | None:
    """Add the groups `<below a thousand> <scale>` from the largest scale down."""
    total, group, below, joined = Decimal(0), _Group(), Decimal(10**12), False
    for place, word in enumerate(words):
        if word == "and":
            joined = (group.hundreds or (group.empty and total > 0)) and place + 1 < len(words)
            if not joined:
                return None
        elif word in SCALES:
            scale = SCALES[word]
            if group.empty or scale >= below:
                return None
            total, group, below = total + group.value * scale, _Group(), Decimal(scale)
        elif not group.take(word):
            return None
    if group.empty:
        return total if total > 0 else None
    return total + group.value if group.value < below else None


class _Group:
    """A number below a thousand (or written in figures), word by word."""

    def __init__(self) -> None:
        self.value = Decimal(0)
        self.empty = True
        self.hundreds = False
        self._room = 1000  # the next word must be smaller than this

    def take(self, word: str) -> bool:
        """Add a word; False where it cannot follow."""
        if word == "hundred":
            fits = not self.empty and not self.hundreds and 0 < self.value < 100 and self.value == int(self.value)
            self.value, self.hundreds, self._room = self.value * 100, True, 100
            return fits
        value, room = self._read(word)
        if value is None or value >= self._room or (value == 0 and not self.empty):
            return False
        self.value, self.empty, self._room = self.value + value, False, room
        return True

    def _read(self, word: str) -> tuple[Decimal | None, int]:
        if word in UNITS:
            return Decimal(UNITS[word]), 0
        if word in TENS:
            return Decimal(TENS[word]), 10
        if self.empty and word in ("a", "an"):
            return Decimal(1), 0
        figures = read_figures(word) if self.empty and word[0] not in "+-" else None
        self._room = 10**9 if figures is not None else self._room
        return figures, 0
