"""`place`: cities, stations, addresses; the words of `text` plus the abbreviations of maps and common nicknames."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from pytest_voicebench.matchers.numerals import ORDINALS, TENS
from pytest_voicebench.matchers.regions import STATES, home, region
from pytest_voicebench.matchers.text import far_longer, words
from pytest_voicebench.matchers.verdict import (
    EQUAL,
    Context,
    Json,
    Kind,
    Match,
    accept,
    as_text,
    cannot_tell,
    quote,
    reject,
)

_SHORT_FORMS = """ave,av=avenue st,str=street st=saint rd=road blvd=boulevard ln=lane hwy=highway
    pkwy=parkway sq=square ct=court pl=place ter,terr=terrace cir=circle apt=apartment ste=suite fl=floor bldg=building
    ne=northeast nw=northwest se=southeast sw=southwest mt=mount mtn=mountain ft=fort
    univ=university intl=international ctr=center centre=center stn=station hts=heights jct=junction"""

_FORMS: dict[str, frozenset[str]] = {}
for _entry in _SHORT_FORMS.split():
    _shorts, _long = _entry.split("=")
    for _short in _shorts.split(","):
        _FORMS[_short] = _FORMS.get(_short, frozenset()) | {_long}

_NICKNAMES: dict[tuple[str, ...], tuple[str, ...]] = {
    tuple(short.split()): tuple(full.split())
    for short, full in {
        "vegas": "las vegas", "la": "los angeles", "l.a": "los angeles", "sf": "san francisco",
        "san fran": "san francisco", "nyc": "new york", "ny": "new york", "new york city": "new york",
        "philly": "philadelphia", "dc": "washington", "d.c": "washington", "washington dc": "washington",
        "washington d.c": "washington", "nola": "new orleans", "slc": "salt lake city", "atl": "atlanta",
    }.items()
}  # fmt: skip


_ORDINALS = {
    **ORDINALS,
    "fortieth": 40,
    "fiftieth": 50,
    "sixtieth": 60,
    "seventieth": 70,
    "eightieth": 80,
    "ninetieth": 90,
}
_DIRECTIONS = {"n": "north", "s": "south", "e": "east", "w": "west"}
_LETTERED = frozenset({"street", "st", "str", "avenue", "ave", "av"})  # `E Street` has the name E
_AFTER_DRIVE = frozenset(
    {*_DIRECTIONS, *_DIRECTIONS.values(), "ne", "nw", "se", "sw", "apt", "apartment", "unit", "suite"}
)
_COMMA = re.compile(r",(?=\s|$)")
_END = "|"  # stands for a comma while words are read by their place in a part of the name


def place(expected: Json, actual: Json, context: Context) -> Match:
    """The same place by name: `5th Ave` is `5th Avenue`, `Vegas` is `Las Vegas`, `Austin, TX` is `Austin`.

    A region added to or left off a name is right where it is that of the well-known city, wrong where it is another's
    (`Paris, Texas`), and cannot_tell for other names: that takes a map. List such forms as aliases.
    """
    wanted, given = as_text(expected), as_text(actual)
    if wanted is None or given is None:
        return reject(expected, actual, "not a place")
    if wanted == given:
        return EQUAL
    if far_longer(wanted, given):
        return reject(expected, actual, "another length by far")
    if not (words(wanted) and words(given)):
        return reject(expected, actual, "not a place")
    if _same(_name(wanted), _name(given)):
        return accept("the same place")
    return _compare_regions(wanted, given) or reject(expected, actual)


def _compare_regions(wanted: str, given: str) -> Match | None:
    """The verdict on two names that differ in their regions; None where they differ otherwise."""
    (base, regions), (other, others) = _split(wanted), _split(given)
    if not _same(base, other) or not (regions or others):
        return None
    if regions == others:
        return accept("the same place")
    own = home(" ".join(base))
    if own:
        fits = regions <= own and others <= own
        return accept("the same place") if fits else reject(wanted, given, "a place of that name elsewhere")
    if regions and others and regions | others <= STATES:
        return reject(wanted, given, "a place of that name elsewhere")
    return cannot_tell(
        f"{quote(given)} and {quote(wanted)} differ by a region; list it as an alias if it is right", "region"
    )


def _split(name: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """The words of a name and the regions it names behind commas, or behind a well-known city."""
    base, *rest = [part.strip() for part in name.split(",")]
    regions = [region(" ".join(words(part))) for part in rest if part]
    if rest and None not in regions:
        return _name(base), _narrowest(r for r in regions if r is not None)
    found = words(name)
    for size in (1, 2):
        last = region(" ".join(found[-size:])) if len(found) > size else None
        city = _NICKNAMES.get(found[:-size], found[:-size])
        if last is not None and home(" ".join(city)):
            return city, frozenset({last})
    return _name(name), frozenset()


def _narrowest(regions: Iterable[str]) -> frozenset[str]:
    """Without the country where its state is named: `Texas, USA` is Texas."""
    found = frozenset(regions)
    return found - {"united states"} if found & STATES else found


def _name(name: str) -> tuple[str, ...]:
    """The words of a name, with the abbreviations written out that mean one thing in their place."""
    found = _with_ordinals(words(_COMMA.sub(f" {_END} ", _without_accents(name))))
    found = tuple(_written_out(found, at) for at in range(len(found)) if found[at] != _END)
    return _NICKNAMES.get(found, found)


def _with_ordinals(found: tuple[str, ...]) -> tuple[str, ...]:
    """`fifth` as `5th` and `twenty third` as `23rd`, as the names of streets are written."""
    out: list[str] = []
    for word in found:
        number = _ORDINALS.get(word)
        if number is None:
            out.append(word)
        elif number < 10 and out and out[-1] in TENS:
            out[-1] = _ordinal(TENS[out[-1]] + number)
        else:
            out.append(_ordinal(number))
    return tuple(out)


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _without_accents(text: str) -> str:
    """Nobody hears whether S\u00e3o Paulo was written with its accents."""
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


def _written_out(found: tuple[str, ...], at: int) -> str:
    """`N` is north but for a street or avenue of that letter; `Dr` is Drive at the end of a name, else Doctor."""
    word, after = found[at], found[at + 1] if at + 1 < len(found) else _END
    if word in _DIRECTIONS:
        lettered = after in _LETTERED or (at == 1 and found[0] in _LETTERED)
        return word if lettered else _DIRECTIONS[word]
    if word == "dr":
        return "drive" if after == _END or after in _AFTER_DRIVE else "doctor"
    return word


def _same(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    return len(a) == len(b) and all(_same_word(x, y) for x, y in zip(a, b, strict=True))


def _same_word(a: str, b: str) -> bool:
    # "St" may be Saint or Street, but Saint is never Street: compare what each may stand for.
    return a == b or not _forms(a).isdisjoint(_forms(b))


def _forms(word: str) -> frozenset[str]:
    return _FORMS.get(word) or frozenset({word})


KIND = Kind(compare=place, words=True)
