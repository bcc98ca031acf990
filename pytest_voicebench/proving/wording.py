"""Small changes to a text, each of which gives another text for certain: a digit, a letter, a word, two swapped."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CYCLES = tuple(
    tuple(line.split())
    for line in """
    january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep oct nov dec
    monday tuesday wednesday thursday friday saturday sunday
    today tomorrow
    noon midnight
    one two three four five six seven eight nine
    ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
    twenty thirty forty fifty sixty seventy eighty ninety
    hundred thousand million
    first second third fourth fifth sixth seventh eighth ninth
    tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth
    minute hour day week
    minutes hours days weeks
    yes no
    true false
    on off
    y n
    """.splitlines()
    if line.strip()
)
_NEXT = {word: cycle[(n + 1) % len(cycle)] for cycle in _CYCLES for n, word in enumerate(cycle)}
_OPPOSITES = frozenset({"yes", "no", "true", "false", "on", "off", "y", "n"})
_STRANGERS = ("umbrella", "violin", "lantern")
_WORD = re.compile(r"[^\W\d_]+")


def changed_digit(text: str) -> str | None:
    """The text with its last digit one higher (9 becomes 0); None without an ASCII digit."""
    at = max((n for n, c in enumerate(text) if "0" <= c <= "9"), default=None)
    return None if at is None else text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :]


def changed_letter(text: str) -> str | None:
    """The text with its first ASCII letter replaced by the next one of the alphabet; None without a letter."""
    for at, letter in enumerate(text):
        if letter.isascii() and letter.isalpha():
            other = {"z": "a", "Z": "A"}.get(letter) or chr(ord(letter) + 1)
            return text[:at] + other + text[at + 1 :]
    return None


def swapped_digits(text: str) -> str | None:
    """The text with the first two neighbouring digits that differ in each other's place; None where none do."""
    for at in range(len(text) - 1):
        a, b = text[at], text[at + 1]
        if a != b and a.isascii() and b.isascii() and a.isdigit() and b.isdigit():
            return text[:at] + b + a + text[at + 2 :]
    return None


def next_word(text: str) -> str | None:
    """The text with its first word of a series (months, weekdays, numbers, ...) replaced by the next of the series."""
    for found in _WORD.finditer(text):
        following = _NEXT.get(found[0].casefold())
        if following is not None and (found[0].casefold() not in _OPPOSITES or found[0] == text.strip()):
            return text[: found.start()] + _cased(following, found[0]) + text[found.end() :]
    return None


def opposite(text: str) -> str | None:
    """`no` for `yes`, and so on, where the text is nothing else; None for other texts."""
    plain = text.strip().casefold()
    return _cased(_NEXT[plain], text.strip()) if plain in _OPPOSITES else None


def last_word_replaced(text: str, strangers: Iterable[str] = _STRANGERS) -> str:
    """The text with its last word replaced by one that does not occur in it; that one alone where it has no word."""
    known = set(folded_words(text))
    stranger = next(s for s in (*strangers, *_STRANGERS) if s.casefold() not in known)
    head = text.split()[:-1]
    return " ".join([*head, stranger])


def folded_words(text: str) -> tuple[str, ...]:
    """The words and figures of a text, case folded."""
    return tuple(re.findall(r"[^\W_]+", text.casefold()))


def have_nothing_in_common(a: str, b: str) -> bool:
    """Whether two names are of different things for certain, as far as their letters tell.

    No word of one begins like a word of the other (three letters), and neither is the other's initials: `New York` and
    `NYC`, `Philly` and `Philadelphia` have something in common.
    """
    words, others = folded_words(a), folded_words(b)
    if not words or not others:
        return False
    heads, other_heads = {w[:3] for w in words}, {w[:3] for w in others}
    return heads.isdisjoint(other_heads) and not (_are_initials(words, others) or _are_initials(others, words))


def _are_initials(short: tuple[str, ...], full: tuple[str, ...]) -> bool:
    return len(full) > 1 and "".join(short).startswith("".join(w[0] for w in full))


def _cased(word: str, like: str) -> str:
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word.capitalize() if like[0].isupper() else word
