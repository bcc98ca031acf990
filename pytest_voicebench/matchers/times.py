"""`time`: times of day, written or spoken: `3:30 pm`, `15:30`, `half past three`, `noon`."""

from __future__ import annotations

import re
from functools import lru_cache

from pytest_voicebench.matchers.duration import is_tolerance
from pytest_voicebench.matchers.duration import read as read_duration
from pytest_voicebench.matchers.numerals import TENS, UNITS
from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, accept, cannot_tell, quote, reject

_DAY = 24 * 60  # minutes
_HALF = 12 * 60
_NAMED = {"noon": _HALF, "midday": _HALF, "midnight": 0}
_ISO = re.compile(r"(?:\d{4}-\d\d-\d\d[t ])?t?(\d\d):(\d\d)(?::\d\d(?:\.\d+)?)?(?:z|[+-]\d\d:?\d\d)?")
_CLOCK = re.compile(r"(\d{1,2})[:.h](\d\d)(?::00)?")
_MILITARY = re.compile(r"([01]\d|2[0-4])([0-5]\d)")
_HUNDRED = re.compile(r"(.+) hundred(?: hours)?")
_ZONE = re.compile(r"\s+(e[sd]?t|c[sd]?t|m[sd]t|p[sd]?t|utc|gmt|cet|cest|bst|[a-z]+ time)$")
_MORNING, _EVENING = "am", "pm"
_HALVES = {
    "am": _MORNING, "a.m": _MORNING, "in the morning": _MORNING, "this morning": _MORNING, "o'clock am": _MORNING,
    "pm": _EVENING, "p.m": _EVENING, "in the afternoon": _EVENING, "in the evening": _EVENING,
    "this afternoon": _EVENING, "this evening": _EVENING, "tonight": _EVENING, "o'clock pm": _EVENING,
}  # fmt: skip
_VAGUE_WORDS = "now later soon morning afternoon evening night lunchtime half around about"
_VAGUE = frozenset(_VAGUE_WORDS.split())
_SHARES = {"half": 30, "quarter": 15}
_LONGEST = 60  # characters

Reading = tuple[int, bool]  # minutes since midnight, and whether the half of the day is known


def time(expected: Json, actual: Json, context: Context) -> Match:
    """The same time of day, to the minute unless `approx` (`15 minutes`).

    An expected `3:30` that leaves the half of the day open takes both; an actual one that does is cannot_tell. Time
    zones count: one on one side only, or two different ones, are cannot_tell.
    """
    if not isinstance(expected, str) or not isinstance(actual, str):
        return EQUAL if expected == actual else reject(expected, actual, "not a time")
    (wanted, zone), (given, other) = read(expected), read(actual)
    if _plain(expected) == _plain(actual):
        return EQUAL
    if wanted is None:
        return cannot_tell(f"the expected value {quote(expected)} is not a time that can be read")
    if given is None:
        if _VAGUE & set(_plain(actual).split()):
            return cannot_tell(f"which time {quote(actual)} is depends on how it is meant", "relative_time")
        return reject(expected, actual, "not a time")
    return _compare(wanted, given, context, expected, actual, zones=zone == other)


def _compare(wanted: Reading, given: Reading, context: Context, expected: str, actual: str, *, zones: bool) -> Match:
    verdicts = {_same(w, g, context) for w in _both(wanted) for g in _both(given)}
    if verdicts == {False}:
        return reject(expected, actual, "another time")
    if not zones:
        return cannot_tell(f"{quote(actual)} and {quote(expected)} name different time zones", "time_zone")
    if verdicts == {True} or not wanted[1]:  # the expectation leaves the half of the day open
        return accept("the same time")
    return cannot_tell(f"{quote(actual)} may be in the morning or the afternoon", "ambiguous_time")


def _both(reading: Reading) -> tuple[int, ...]:
    minutes, known = reading
    return (minutes,) if known else (minutes, (minutes + _HALF) % _DAY)


def _same(a: int, b: int, context: Context) -> bool:
    approx = context.options.get("approx")
    leeway = read_duration(approx) if isinstance(approx, str) else None
    apart = min((a - b) % _DAY, (b - a) % _DAY)
    return apart * 60 <= (leeway.seconds if leeway else 0)


@lru_cache(maxsize=4096)
def read(text: str) -> tuple[Reading | None, str]:
    """The time that a text says, None where it says none, and its time zone as written (`` where it names none)."""
    plain = _plain(text)
    if len(plain) > _LONGEST:
        return None, ""
    iso = _ISO.fullmatch(plain)
    if iso:
        zone = re.search(r"(z|[+-]\d\d:?\d\d)$", plain[plain.index(":") :])
        return _minutes(int(iso[1]), int(iso[2]), None, known=True), zone[0] if zone else ""
    found = _ZONE.search(plain)
    zone_name = found[1] if found else ""
    plain = plain[: found.start()] if found else plain
    half, plain = _without_half(plain)
    return _read_plain(plain, half), zone_name


def _read_plain(plain: str, half: str | None) -> Reading | None:
    if plain in _NAMED or plain.removeprefix("12 ") in _NAMED or plain.removeprefix("twelve ") in _NAMED:
        return (_NAMED[plain.split()[-1]], True) if half is None else None
    clock = _CLOCK.fullmatch(plain)
    if clock:
        known = half is None and (len(clock[1]) == 2 and clock[1][0] == "0")
        return _minutes(int(clock[1]), int(clock[2]), half, known=known)
    hundred = _HUNDRED.fullmatch(plain)
    if hundred and half is None:
        hour = _number(hundred[1].replace("-", " ").removeprefix("oh ").removeprefix("zero ").split())
        return None if hour is None else _minutes(hour, 0, None, known=True)
    military = _MILITARY.fullmatch(plain.removesuffix(" hours"))
    if military and half is None:
        return _minutes(int(military[1]), int(military[2]), None, known=True)
    return _read_words(plain.replace("-", " ").split(), half)


def _without_half(plain: str) -> tuple[str | None, str]:
    """The half of the day that a text ends with, and the rest."""
    plain = re.sub(r"(?<=\d)(?=[ap]\.?m\b)", " ", plain)
    if plain.endswith((" at night",)):
        rest = plain.removesuffix(" at night")
        reading = _read_plain(rest, None)
        return (_MORNING if reading and reading[0] % _HALF < 5 * 60 else _EVENING), rest
    for words, half in _HALVES.items():
        if plain.endswith(f" {words}"):
            return half, plain.removesuffix(f" {words}").rstrip(" ,")
    return None, plain


def _read_words(words: list[str], half: str | None) -> Reading | None:
    """`three`, `three thirty`, `three oh five`, `half past three`, `quarter to five`, `ten past two o'clock`."""
    words = [w for w in words if w not in ("o'clock", "oclock", "sharp", "exactly", "a", "minutes", "minute", "at")]
    for joint, sign in (("past", 1), ("after", 1), ("to", -1), ("till", -1), ("before", -1), ("of", -1)):
        if joint in words:
            at = words.index(joint)
            minutes = _SHARES.get(" ".join(words[:at])) or _number(words[:at])
            hour = _hour(words[at + 1 :], half)
            if minutes is None or hour is None or not 0 < minutes < 60:
                return None
            return ((hour[0] + sign * minutes) % _DAY, hour[1])
    if len(words) < 2:
        return _hour(words, half)
    return _spoken_clock(_number(words[:1]), words[1:], half)


def _spoken_clock(hour: int | None, tail: list[str], half: str | None) -> Reading | None:
    """`three thirty`, `three oh five`; `three five` is no time."""
    if tail[0] in ("oh", "o") and len(tail) == 2:
        unit = _number(tail[1:])
        return None if hour is None or unit is None or unit > 9 else _minutes(hour, unit, half, known=False)
    minutes = _number(tail)
    return None if hour is None or minutes is None or minutes < 10 else _minutes(hour, minutes, half, known=False)


def _hour(words: list[str], half: str | None) -> Reading | None:
    if len(words) == 1 and words[0] in _NAMED and half is None:
        return _NAMED[words[0]], True
    hour = _number(words)
    bare = half is None and hour is not None and hour > 12 and not words[0].isdigit()
    return None if hour is None or bare else _minutes(hour, 0, half, known=False)


def _minutes(hour: int, minute: int, half: str | None, *, known: bool) -> Reading | None:
    """Minutes since midnight. 13 to 24 o'clock tell their half of the day themselves; 24:00 is 0:00."""
    if minute > 59 or hour > 24 or (hour == 24 and minute) or (half and not 1 <= hour <= 12):
        return None if not (half == _EVENING and 13 <= hour < 24 and minute <= 59) else (hour * 60 + minute, True)
    if half:
        return hour % 12 * 60 + minute + (_HALF if half == _EVENING else 0), True
    sure = known or hour > 12 or hour == 0
    return ((hour % 24) * 60 + minute if sure else hour % 12 * 60 + minute), sure


def _number(words: list[str]) -> int | None:
    if len(words) == 1:
        word = words[0]
        figures = word.isascii() and word.isdigit() and len(word) <= 2
        return int(word) if figures else UNITS.get(word, TENS.get(word))
    if len(words) == 2 and words[0] in TENS and 0 < UNITS.get(words[1], 0) < 10:
        return TENS[words[0]] + UNITS[words[1]]
    return None


def _plain(text: str) -> str:
    folded = " ".join(text.casefold().replace("\u2019", "'").split())
    return re.sub(r"([ap])\.\s?m\.?", r"\1m", folded).rstrip(".").removeprefix("at ").removesuffix(" sharp")


KIND = Kind(
    compare=time,
    reads=lambda value, _: isinstance(value, str) and read(value)[0] is not None,
    what="a time of day",
    tolerance=is_tolerance,
)
