"""`person`: names of people; case, accents, titles and order are forgiven, letters are not."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, accept, cannot_tell, quote, reject

_TITLES = frozenset(["mr", "mrs", "ms", "miss", "mx", "dr", "doctor", "prof", "professor", "sir", "madam", "mister"])
_SUFFIXES = {"jr": "jr", "junior": "jr", "sr": "sr", "senior": "sr", "ii": "2", "iii": "3", "iv": "4"}
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "æ": "ae"})
_PLAIN = str.maketrans({"ø": "o", "å": "a", "æ": "ae", "ł": "l", "đ": "d", "ı": "i"})
_SHORT_NAMES = """
    alexander=alex,sandy alexandra=alex,sandra andrew=andy,drew anthony=tony benjamin=ben catherine=cathy,kate,katie
    charles=charlie,chuck christopher=chris christine=chris,tina daniel=dan,danny david=dave edward=ed,eddie,ted
    elizabeth=liz,beth,betty,eliza gregory=greg james=jim,jimmy jennifer=jen,jenny jessica=jess john=jack,johnny
    jonathan=jon joseph=joe,joey joshua=josh katherine=kathy,kate,katie,kat kenneth=ken margaret=maggie,meg,peggy
    matthew=matt michael=mike,mickey nathaniel=nate nicholas=nick patricia=pat,patty,trish patrick=pat,paddy
    peter=pete philip=phil rebecca=becky,becca richard=rick,dick,rich robert=bob,bobby,rob,robbie ronald=ron
    samantha=sam samuel=sam,sammy stephen=steve steven=steve susan=sue,susie theodore=ted,theo thomas=tom,tommy
    timothy=tim victoria=vicky,tori vincent=vince,vinny william=bill,billy,will,liam zachary=zach
"""
_FULL: dict[str, frozenset[str]] = {}
for _entry in _SHORT_NAMES.split():
    _name, _shorts = _entry.split("=")
    for _short in _shorts.split(","):
        _FULL[_short] = _FULL.get(_short, frozenset()) | {_name}
_PARTICLES = re.compile(r"\b(mc|mac) (?=\w)")
_LETTERS = re.compile(r"\b\w(?:[-.]+\w\b){2,}|\b\w(?:\s+\w\b){2,}")
_SUFFIX_PART = re.compile(r"[\s.]*(jr|sr|junior|senior|ii|iii|iv)[\s.]*", re.IGNORECASE)
_LONGEST = 120  # characters


@dataclass(frozen=True, slots=True)
class Name:
    """A name's words in order, accents off; the same with ä as ae; its suffix (`jr`)."""

    words: tuple[str, ...]
    german: tuple[str, ...]
    suffix: str


def person(expected: Json, actual: Json, context: Context) -> Match:
    """The same names in the same order (`Lovelace, Ada` is `Ada Lovelace`).

    An initial for a name, a middle name left out, a short form (`Bob`) and a `Jr.` on one side are cannot_tell: list
    them as aliases where they are right. Half a name is wrong, and so is one other letter.
    """
    if not isinstance(expected, str) or not isinstance(actual, str):
        return reject(expected, actual, "not a name")
    if expected == actual:
        return EQUAL
    wanted, given = read(expected), read(actual)
    if not wanted.words or not given.words:
        return reject(expected, actual, "not a name")
    if not _same(wanted, given):
        return _compare_parts(wanted, given, actual, expected) or reject(expected, actual)
    if wanted.suffix == given.suffix:
        return accept("the same name")
    if wanted.suffix and given.suffix:
        return reject(expected, actual, "another generation")
    return cannot_tell(f"{quote(actual)} and {quote(expected)} differ by a generation", "partial_name")


def _same(a: Name, b: Name) -> bool:
    if a.words == b.words or a.german == b.german or a.german == b.words or a.words == b.german:
        return True
    shared = a.words[0] == b.words[0] or a.words[-1] == b.words[-1]  # `Ann Alee` is not `Anna Lee`
    return shared and "".join(a.words) == "".join(b.words)


def _compare_parts(wanted: Name, given: Name, actual: str, expected: str) -> Match | None:
    """The doubt where only initials, short forms or middle names differ; None where the names do."""
    a, b = wanted.words, given.words
    if len(a) == len(b) and all(_may_be(x, y) for x, y in zip(a, b, strict=True)) and a[-1] == b[-1] and len(a) > 1:
        return cannot_tell(
            f"{quote(actual)} may be short for {quote(expected)}, or the other way round", "partial_name"
        )
    longer, shorter = (a, b) if len(a) > len(b) else (b, a)
    if len(longer) > len(shorter) == 2 and _may_be(longer[0], shorter[0]) and longer[-1] == shorter[-1]:
        return cannot_tell(f"{quote(actual)} and {quote(expected)} differ by a middle name", "partial_name")
    return None


def _may_be(a: str, b: str) -> bool:
    if a == b or (1 in (len(a), len(b)) and a[0] == b[0]):
        return True
    return b in _FULL.get(a, ()) or a in _FULL.get(b, ()) or not _FULL.get(a, _NONE).isdisjoint(_FULL.get(b, _NONE))


_NONE: frozenset[str] = frozenset()


@lru_cache(maxsize=4096)
def read(text: str) -> Name:
    """The words of a name; none where the text is no name."""
    if len(text) > _LONGEST or any(c.isdigit() or c in "@$€£%/_" for c in text):
        return Name((), (), "")
    folded = unicodedata.normalize("NFC", text).casefold()
    return Name(_words(folded), _words(folded.translate(_UMLAUTS)), _suffix(folded))


def _words(text: str) -> tuple[str, ...]:
    head, *rest = text.split(",")
    rest = [part for part in rest if not _SUFFIX_PART.fullmatch(part)]
    if len(rest) == 1 and rest[0].strip():
        head = f"{rest[0]} {head}"
    elif rest:
        head = " ".join([head, *rest])
    plain = re.sub(r"['\u2019\u02bc`]", "", _without_accents(head))
    plain = " ".join(re.sub(r"[.\-\u2010-\u2015]", " ", _spelled_out(plain)).split())
    found = _PARTICLES.sub(r"\1", plain).split()
    found = found[1:] if len(found) > 1 and found[0] in _TITLES else found
    found = found[:-1] if len(found) > 1 and found[-1] in _SUFFIXES else found
    return tuple(re.sub(r"[^\w]", "", word) for word in found if any(c.isalnum() for c in word))


def _suffix(text: str) -> str:
    last = re.split(r"[\s,.]+", text.strip(" .,"))
    return _SUFFIXES.get(last[-1], "") if len(last) > 1 else ""


def _spelled_out(text: str) -> str:
    """Letters said one by one, three or more, as the word they spell."""
    return _LETTERS.sub(lambda found: "".join(c for c in found[0] if c.isalnum()), text)


def _without_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text.translate(_PLAIN)) if not unicodedata.combining(c))


KIND = Kind(compare=person, words=True)
