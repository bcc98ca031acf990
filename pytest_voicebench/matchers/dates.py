"""`date`: days of the calendar in written or spoken form; what could be read in two ways is said to be so."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from functools import lru_cache

from pytest_voicebench.matchers.duration import read as read_duration
from pytest_voicebench.matchers.numerals import ORDINALS, TENS, UNITS, read_number
from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, accept, cannot_tell, quote, reject

_ISO = re.compile(
    r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[t ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:z|[+-]\d{2}:?\d{2})?)?"
)
_NUMERIC = re.compile(r"(\d{1,2})([-/.])(\d{1,2})(?:\2(\d{4}|\d{2}))?")
_NUMBERED = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_MONTH_NAMES = "january february march april may june july august september october november december"
MONTHS = {name: n for n, name in enumerate(_MONTH_NAMES.split(), start=1)}
MONTHS |= {name[:3]: n for name, n in MONTHS.items()} | {"sept": 9}
_WEEKDAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
_WEEKDAYS = {form: n for n, name in enumerate(_WEEKDAY_NAMES.split()) for form in (name, name[:3])} | {
    "tues": 1,
    "wednes": 2,
    "thur": 3,
    "thurs": 3,
}
_RELATIVE = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}
_RELATIVE |= {"day after tomorrow": 2, "day before yesterday": -2}
_DISTANCES = ((re.compile(r"in (.+)"), 1), (re.compile(r"(.+) from (?:today|now)"), 1), (re.compile(r"(.+) ago"), -1))
_CENTURIES = (18, 19, 20)
_FILL = frozenset({"the", "of", "on", "day"})
_LONGEST = 80  # characters
_MOST_DAYS = 3660  # of `in ... days`
_DAYS_IN_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a date. `year` is None where the text gives none; `weekday` 0 is Monday."""

    month: int
    day: int
    year: int | None = None
    weekday: int | None = None


def date(expected: Json, actual: Json, context: Context) -> Match:
    """The same day, or one within `approx` (`2 days`).

    An expected date without a year leaves the year free. With one it counts, and an actual date without a year is the
    next such day on or after `today`. `10/07` has two readings: wrong only if both are, otherwise cannot_tell.
    """
    if not isinstance(expected, str) or not isinstance(actual, str):
        return EQUAL if expected == actual else reject(expected, actual, "not a date")
    if _plain(expected) == _plain(actual):
        return EQUAL
    wanted, given = read(expected, context.today), read(actual, context.today)
    if not wanted:
        return cannot_tell(f"the expected value {quote(expected)} is not a date that can be read")
    if not given:
        return _unread(expected, actual)
    leeway = _leeway(context)
    verdicts = {_same_day(w, g, context.today, leeway) for w in wanted for g in given}
    if verdicts == {True}:
        return _weekday_fits(given[0], actual, context.today) or accept("the same day")
    if verdicts == {False}:
        return reject(expected, actual, "another day")
    if None in verdicts:
        return cannot_tell(f"the year of {quote(actual)} is unknown without today's date", "unknown_year")
    return cannot_tell(
        f"{quote(actual)} may or may not be {quote(expected)}: day and month can be swapped", "ambiguous_date"
    )


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _unread(expected: str, actual: str) -> Match:
    if len(actual) <= _LONGEST and any(_is_relative(word) for word in _words(actual)):
        return cannot_tell(f"which day {quote(actual)} is depends on how it is meant", "relative_date")
    return reject(expected, actual, "not a date that can be read")


def is_tolerance(text: str) -> bool:
    """Whether a text can be an `approx` of dates: whole days."""
    found = read_duration(text)
    return found is not None and not found.months and not found.seconds % 86_400


def _leeway(context: Context) -> dt.timedelta:
    approx = context.options.get("approx")
    found = read_duration(approx) if isinstance(approx, str) else None
    return dt.timedelta(days=min(int(found.seconds // 86_400), _MOST_DAYS)) if found else dt.timedelta(0)


def _is_relative(word: str) -> bool:
    """A word that points at a day without naming it: a weekday, `next`, `the fifteenth` of no month."""
    ordinal = word in ORDINALS or re.fullmatch(r"\d{1,2}(?:st|nd|rd|th)", word)
    return word in _WEEKDAYS or word in ("next", "week", "weekend", "weeks", "days") or bool(ordinal)


def _same_day(wanted: Reading, given: Reading, today: dt.date | None, leeway: dt.timedelta) -> bool | None:
    if leeway:
        a, b = _day(wanted, today), _day(given, today)
        return None if a is None or b is None else abs(a - b) <= leeway
    if (wanted.month, wanted.day) != (given.month, given.day):
        return False
    if wanted.year is None or wanted.year == given.year:
        return True
    if given.year is not None:
        return False
    return None if today is None else next_such_day(given.month, given.day, today).year == wanted.year


def _weekday_fits(given: Reading, actual: str, today: dt.date | None) -> Match | None:
    """None where a weekday in the text agrees, or none is given; the doubt otherwise."""
    day = None if given.weekday is None else _day(given, today)
    if day is None or day.weekday() == given.weekday:
        return None
    return cannot_tell(f"{quote(actual)} names a weekday that this day is not", "weekday_mismatch")


def _day(reading: Reading, today: dt.date | None) -> dt.date | None:
    """The day of the calendar; None where the year is open and today is not known."""
    if reading.year is not None:
        return dt.date(reading.year, reading.month, reading.day)
    return None if today is None else next_such_day(reading.month, reading.day, today)


def next_such_day(month: int, day: int, today: dt.date) -> dt.date:
    """The first day with this month and day on or after `today` (29 February: in the next leap year)."""
    for year in range(today.year, today.year + 9):
        if month == 2 and day == 29 and (year % 4 or (year % 100 == 0 and year % 400)):
            continue
        found = dt.date(year, month, day)
        if found >= today:
            return found
    raise ValueError(f"no {day}.{month}. after {today}")  # pragma: no cover - a leap year comes within eight years


@lru_cache(maxsize=4096)
def read(text: str, today: dt.date | None) -> tuple[Reading, ...]:
    """All readings of a date: none where it is no date, two where day and month can be swapped."""
    if len(text) > _LONGEST:
        return ()
    plain = _plain(text).rstrip(".")
    iso = _ISO.fullmatch(plain)
    if iso:
        return _valid(Reading(int(iso[2]), int(iso[3]), int(iso[1])))
    if len(plain) == 8 and plain.isascii() and plain.isdigit():
        return _valid(Reading(int(plain[4:6]), int(plain[6:]), int(plain[:4])))
    days = _days_from_today(plain.removeprefix("the "))
    if days is not None and today is not None:
        day = today + dt.timedelta(days=days)
        return (Reading(day.month, day.day, day.year),)
    coming = None if today is None else _coming_weekday(_words(plain), today)
    if coming is not None:
        return (Reading(coming.month, coming.day, coming.year),)
    weekday, words = _without_weekday(_words(plain))
    if len(words) == 1:
        return _read_numeric(words[0], weekday)
    return _read_words(words, weekday)


def _days_from_today(plain: str) -> int | None:
    """The days until `tomorrow`, `in three days`, `a week from today`, or since `two days ago`."""
    if plain in _RELATIVE:
        return _RELATIVE[plain]
    for form, sign in _DISTANCES:
        found = form.fullmatch(plain)
        if found and is_tolerance(found[1]):
            length = read_duration(found[1])
            days = int(length.seconds // 86_400) if length else 0
            return sign * days if days <= _MOST_DAYS else None
    return None


def _coming_weekday(words: list[str], today: dt.date) -> dt.date | None:
    """The day of `Friday`, `this Friday`, `the coming Friday`.

    None where it can be two days: today is a Friday, or `this` Friday may be the one of this week that has gone.
    """
    if not words or words[-1] not in _WEEKDAYS or words[:-1] not in ([], ["this"], ["coming"], ["this", "coming"]):
        return None
    weekday = _WEEKDAYS[words[-1]]
    days = (weekday - today.weekday()) % 7
    gone = words[:-1] == ["this"] and weekday < today.weekday()
    return (
        None if days == 0 or gone or today.toordinal() + days > dt.date.max.toordinal() else today + dt.timedelta(days)
    )


def _words(text: str) -> list[str]:
    spaced = re.sub(r"[,;]|(?<=[a-z])[.\-]|[.\-](?=[a-z])", " ", _plain(text))
    return [w for w in spaced.split() if w not in _FILL]


def _without_weekday(words: list[str]) -> tuple[int | None, list[str]]:
    for at in (0, -1):
        if len(words) > 1 and words[at] in _WEEKDAYS:
            weekday = _WEEKDAYS[words[at]]
            return weekday, words[1:] if at == 0 else words[:-1]
    return None, words


def _read_numeric(word: str, weekday: int | None) -> tuple[Reading, ...]:
    found = _NUMERIC.fullmatch(word)
    if not found or (found[2] == "." and not found[4]):
        return ()  # 10.07 is a number
    year = _year(found[4])
    first, second = int(found[1]), int(found[3])
    readings = [Reading(first, second, year, weekday), Reading(second, first, year, weekday)]
    return tuple(dict.fromkeys(r for one in readings for r in _valid(one)))


def _read_words(words: list[str], weekday: int | None) -> tuple[Reading, ...]:
    """`<month> <day> [<year>]`, `<day> <month> [<year>]` or `<year> <month> <day>`, each in figures or words."""
    places = [n for n, w in enumerate(words) if w in MONTHS]
    if len(places) != 1:
        return ()
    at = places[0]
    month, before, after = MONTHS[words[at]], words[:at], words[at + 1 :]
    if len(before) == 1 and len(before[0]) == 4 and before[0].isdigit():
        splits = [(after, before)]
    elif before:
        splits = [(before, after)]
    else:
        splits = [(after[:n], after[n:]) for n in range(len(after), 0, -1)]
    for day_words, year_words in splits:
        day, year = _read_day(day_words), _read_year(year_words)
        if day is not None and (year is not None or not year_words):
            return _valid(Reading(month, day, year, weekday))
    return ()


def _read_year(words: list[str]) -> int | None:
    """`2026`, `'26`, `twenty twenty six`, `two thousand and five`, `twenty oh five`; None for anything else."""
    if len(words) == 1:
        figures = words[0].lstrip("'\u2019")
        return _year(figures) if len(figures) in (2, 4) and figures.isascii() and figures.isdigit() else None
    if "thousand" in words:
        number = read_number(" ".join(words))
        return int(number) if number is not None and 1000 <= number < 3000 else None
    century = _read_day(words[:1])
    rest = words[2:] if words[1:2] in (["oh"], ["o"]) else words[1:]
    years = UNITS.get(rest[0]) if len(rest) == 1 and rest[0] in UNITS else read_number(" ".join(rest))
    if century not in _CENTURIES or years is None or not (10 <= years < 100 or (rest != words[1:] and years < 10)):
        return None
    return century * 100 + int(years)


def _read_day(words: list[str]) -> int | None:
    if len(words) == 1:
        found = _NUMBERED.fullmatch(words[0])
        return int(found[1]) if found else ORDINALS.get(words[0], UNITS.get(words[0], TENS.get(words[0])))
    if len(words) == 2 and words[0] in ("twenty", "thirty"):
        unit = ORDINALS.get(words[1], UNITS.get(words[1], 99))
        return TENS[words[0]] + unit if unit < 10 else None
    return None


def _year(text: str | None) -> int | None:
    return None if text is None else int(text) + (2000 if len(text) == 2 else 0)


def _valid(reading: Reading) -> tuple[Reading, ...]:
    if not (1 <= reading.month <= 12 and 1 <= reading.day <= _DAYS_IN_MONTH[reading.month - 1]):
        return ()
    if reading.year is not None:
        try:
            dt.date(reading.year, reading.month, reading.day)
        except ValueError:
            return ()
    return (reading,)


KIND = Kind(
    compare=date,
    reads=lambda value, context: isinstance(value, str) and bool(read(value, context.today)),
    what="a day of the calendar",
    tolerance=is_tolerance,
)
