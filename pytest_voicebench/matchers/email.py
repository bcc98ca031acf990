"""`email`: addresses, written or spoken (`ada dot lovelace at example dot com`)."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from pytest_voicebench.matchers.numerals import TENS, UNITS
from pytest_voicebench.matchers.spelled import spell
from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, accept, cannot_tell, quote, reject

_SIGNS = {
    "dot": ".", "period": ".", "point": ".", "underscore": "_", "dash": "-", "hyphen": "-", "minus": "-",
    "plus": "+", "at": "@",
}  # fmt: skip
_COUNTED = frozenset({*UNITS, *TENS, "oh", "double", "triple"})
_ADDRESS = re.compile(r"[^\s@.,;:<>()\"]+(?:\.[^\s@.,;:<>()\"]+)*@[\w-]+(?:\.[\w-]+)+")
_LONGEST = 320  # characters: 64 before the @ and 255 behind it, RFC 3696


def email(expected: Json, actual: Json, context: Context) -> Match:
    """The same address, case folded. Spoken numbers may be figures or words: then only the other address is wrong."""
    if not isinstance(expected, str) or not isinstance(actual, str):
        return reject(expected, actual, "not an e-mail address")
    wanted, given = read(expected), read(actual)
    if _plain(expected) == _plain(actual):
        return EQUAL
    if not wanted:
        return cannot_tell(f"the expected value {quote(expected)} is not an e-mail address")
    if not given:
        return reject(expected, actual, "not an e-mail address")
    if not set(wanted) & set(given):
        return reject(expected, actual)
    if len(wanted) == len(given) == 1:
        return accept("the same address")
    return cannot_tell(f"{quote(actual)} may or may not spell {quote(expected)}", "spelling")


@lru_cache(maxsize=4096)
def read(text: str) -> tuple[str, ...]:
    """The addresses that a text may be: none, one, or two where it says numbers in words."""
    if len(text) > _LONGEST:
        return ()
    plain = _plain(text)
    if _ADDRESS.fullmatch(plain):
        return (plain,)
    words = re.sub(r"\s*([@_+-]|\.(?=\S))\s*", r" \1 ", plain).replace(",", " ").split()
    if words.count("at") + words.count("@") > 1 and "@" not in words:  # `meet at work at example dot com`
        return ()
    literal = "".join(_SIGNS.get(word, word) for word in words)
    readings = [literal]
    if any(word in _COUNTED for word in words):
        readings.append(_counted(words))
    return tuple(dict.fromkeys(one for one in readings if _ADDRESS.fullmatch(one)))


def _counted(words: list[str]) -> str:
    """The address with numbers in words as figures."""
    out, run = "", ""
    for word in [*words, "dot"]:
        if word in _SIGNS or word in _SIGNS.values():
            out += (spell(run).readings or ("",))[0] + _SIGNS.get(word, word)
            run = ""
        else:
            run += f" {word}"
    return out[:-1]


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFC", " ".join(text.split())).casefold()
    return folded.removeprefix("mailto:").strip(" <>").rstrip(".")


KIND = Kind(
    compare=email, reads=lambda value, _: isinstance(value, str) and bool(read(value)), what="an e-mail address"
)
