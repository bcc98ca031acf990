"""`place`: cities, stations, addresses; the words of `text` plus the abbreviations of maps and common nicknames."""

from __future__ import annotations

from pytest_voicebench.matchers.text import words
from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Match, accept, as_text, cannot_tell, reject

_SHORT_FORMS = """ave,av=avenue st,str=street st=saint rd=road blvd=boulevard dr=drive dr=doctor ln=lane hwy=highway
    pkwy=parkway sq=square ct=court pl=place ter,terr=terrace cir=circle apt=apartment ste=suite fl=floor bldg=building
    n=north s=south e=east w=west ne=northeast nw=northwest se=southeast sw=southwest mt=mount mtn=mountain ft=fort
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

_REGION_NAMES = """
    al ak az ar ca co ct de fl ga hi id il in ia ks ky la me md ma mi mn ms mo mt ne nv nh nj nm ny nc nd oh ok
    or pa ri sc sd tn tx ut vt va wa wv wi wy dc usa us uk alabama alaska arizona arkansas california colorado
    connecticut delaware florida georgia hawaii idaho illinois indiana iowa kansas kentucky louisiana maine
    maryland massachusetts michigan minnesota mississippi missouri montana nebraska nevada ohio oklahoma oregon
    pennsylvania tennessee texas utah vermont virginia washington wisconsin wyoming france italy spain germany
    japan china india mexico canada australia brazil portugal greece ireland netherlands austria switzerland
    england scotland
"""
_REGIONS = frozenset(_REGION_NAMES.split()) | {
    "united states",
    "united kingdom",
    "new york",
    "new jersey",
    "new mexico",
    "north carolina",
    "south carolina",
}


def place(expected: Json, actual: Json, context: Context) -> Match:
    """The same place by name: `5th Ave` is `5th Avenue`, `Vegas` is `Las Vegas`.

    A region added to or left off a name (`Portland, Maine` for `Portland`) is cannot_tell: it takes a map. List such
    forms as aliases.
    """
    wanted, given = as_text(expected), as_text(actual)
    if wanted is None or given is None:
        return reject(expected, actual, "not a place")
    if wanted == given:
        return EQUAL
    a, b = _name(wanted), _name(given)
    if _same(a, b):
        return accept("the same place")
    if _differ_by_region(wanted, given) or _differ_by_region(given, wanted):
        return cannot_tell(f"{given!r} and {wanted!r} differ by a region; list it as an alias if it is right", "region")
    return reject(expected, actual)


def _name(name: str) -> tuple[str, ...]:
    found = words(name)
    return _NICKNAMES.get(found, found)


def _same(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    return len(a) == len(b) and all(_same_word(x, y) for x, y in zip(a, b, strict=True))


def _same_word(a: str, b: str) -> bool:
    # "St" may be Saint or Street, but Saint is never Street: compare what each may stand for.
    return a == b or not _forms(a).isdisjoint(_forms(b))


def _forms(word: str) -> frozenset[str]:
    return _FORMS.get(word) or frozenset({word})


def _differ_by_region(short: str, long: str) -> bool:
    base, *regions = [part.strip() for part in long.split(",")]
    named = [" ".join(words(region)).replace(".", "") for region in regions if region]
    return bool(named) and all(r in _REGIONS for r in named) and _same(_name(short), _name(base))
