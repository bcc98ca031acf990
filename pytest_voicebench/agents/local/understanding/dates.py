"""Dates in a transcript: "May 12th", "the third of July", "tomorrow", "next Friday"; the year is the next that fits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta

from pytest_voicebench.agents.local.understanding.lexicon import WEEKDAYS
from pytest_voicebench.agents.local.understanding.mentions import Mention
from pytest_voicebench.agents.local.understanding.numbers import number_at, ordinal_at
from pytest_voicebench.agents.local.understanding.wording import words_of
from pytest_voicebench.agents.local.understanding.words import Token

_MONTH_NAMES = words_of("""
    january february march april may june july august september october november december
    """)
MONTHS = {name: n for n, name in enumerate(_MONTH_NAMES, 1)}
MONTHS |= {name[:3]: n for name, n in list(MONTHS.items())} | {"sept": 9}
_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})$")
_Day = tuple[int, int]  # day and the token after it


def find_dates(tokens: Sequence[Token], today: date) -> list[Mention]:
    """All dates, in order, as ISO text. A day alone takes the month of the nearest full date."""
    found: list[Mention] = []
    lone: list[Mention] = []
    i = 0
    while i < len(tokens):
        mention = _date_at(tokens, i, today)
        if mention is None and (day := _lone_day(tokens, i)) is not None:
            lone.append(day)
            i = day.end
            continue
        if mention is not None:
            found.append(mention)
        i = mention.end if mention else i + 1
    return sorted([*found, *_completed(lone, found, today)], key=lambda m: m.start)


def _date_at(tokens: Sequence[Token], i: int, today: date) -> Mention | None:
    low = tokens[i].low
    if iso := _ISO.match(low):
        return _mention(int(iso.group(1)), int(iso.group(2)), int(iso.group(3)), i, i + 1)
    if low in MONTHS and (day := _day_at(tokens, _skip(tokens, i + 1, ("the", ".") if len(low) < 5 else ("the",)))):
        return _with_year(tokens, MONTHS[low], day[0], i, day[1], today)
    if (
        low == "my"
        and (ordinal := ordinal_at(tokens, i + 1) if i + 1 < len(tokens) else None)
        and _ends_there(tokens, ordinal.end)
    ):
        return _with_year(tokens, MONTHS["may"], int(ordinal.value), i, ordinal.end, today)  # as a recogniser hears May
    if (day := _day_at(tokens, i)) is not None:
        of = _skip(tokens, day[1], (".", "?", ","))
        month = _skip(tokens, of if of < len(tokens) and tokens[of].low == "of" else day[1], ("of", "day"))
        if month < len(tokens) and tokens[month].low in MONTHS and (month > day[1] or tokens[month].capital):
            return _with_year(tokens, MONTHS[tokens[month].low], day[0], i, month + 1, today)
    return _relative(tokens, i, today)


def _ends_there(tokens: Sequence[Token], i: int) -> bool:
    return i >= len(tokens) or tokens[i].is_punctuation


def _relative(tokens: Sequence[Token], i: int, today: date) -> Mention | None:
    low = tokens[i].low
    if low == "day" and [t.low for t in tokens[i : i + 3]] == ["day", "after", "tomorrow"]:
        return _on(today + timedelta(days=2), i, i + 3)
    if low in ("today", "tonight", "tomorrow"):
        return _on(today + timedelta(days=1 if low == "tomorrow" else 0), i, i + 1)
    if low == "in" and i + 2 < len(tokens) and (count := number_at(tokens, i + 1)) and count.end < len(tokens):
        days = {"day": 1, "days": 1, "week": 7, "weeks": 7}.get(tokens[count.end].low)
        return _on(today + timedelta(days=days * int(count.value)), i, count.end + 1) if days else None
    if low in WEEKDAYS and not _day_follows(tokens, i + 1):
        ahead = (WEEKDAYS.index(low) - today.weekday() - 1) % 7 + 1
        week = 7 if i and tokens[i - 1].low == "next" and ahead < 7 - today.weekday() else 0
        return _on(today + timedelta(days=ahead + week), i, i + 1)
    return None


def _day_follows(tokens: Sequence[Token], i: int) -> bool:
    i = _skip(tokens, i, (",", "the"))
    return i < len(tokens) and (tokens[i].low in MONTHS or ordinal_at(tokens, i) is not None)


def _day_at(tokens: Sequence[Token], i: int) -> _Day | None:
    if i >= len(tokens):
        return None
    number = ordinal_at(tokens, i) or number_at(tokens, i)
    if number is None or number.value != int(number.value) or not 1 <= number.value <= 31:
        return None
    return int(number.value), number.end


def _lone_day(tokens: Sequence[Token], i: int) -> Mention | None:
    """A day without a month; only ordinals over "the", so that "the first one" and "2 bedrooms" are none."""
    day = ordinal_at(tokens, i)
    if day is None or not 1 <= day.value <= 31:
        return None
    follower = tokens[day.end].low if day.end < len(tokens) else "."
    closed = day.end == len(tokens) or tokens[day.end].is_punctuation or follower in ("and", "or", "no", "actually")
    if not closed or (
        tokens[i].low in ("first", "second") and not (i > 1 and tokens[i - 2].low in ("on", "for", "no"))
    ):
        return None
    return Mention(kind="day", value=int(day.value), start=i, end=day.end)


def _completed(lone: list[Mention], found: list[Mention], today: date) -> list[Mention]:
    dates: list[Mention] = []
    for day in lone:
        if not found:
            month = today.month if day.value >= today.day else today.month % 12 + 1
            year = today.year + (month < today.month)
        else:
            nearest = min(found, key=lambda m: abs(m.start - day.start))
            year, month = int(nearest.value[:4]), int(nearest.value[5:7])
        if full := _mention(year, month, day.value, day.start, day.end):
            dates.append(full)
    return dates


def _with_year(tokens: Sequence[Token], month: int, day: int, start: int, end: int, today: date) -> Mention | None:
    after = _skip(tokens, end, (",",))
    if after < len(tokens) and tokens[after].low.isdigit() and 2000 <= int(tokens[after].low) < 2100:
        return _mention(int(tokens[after].low), month, day, start, after + 1)
    year = today.year + ((month, day) < (today.month, today.day))
    return _mention(year, month, day, start, end)


def _mention(year: int, month: int, day: int, start: int, end: int) -> Mention | None:
    try:
        return _on(date(year, month, day), start, end)
    except ValueError:
        return None


def _on(day: date, start: int, end: int) -> Mention:
    return Mention(kind="date", value=day.isoformat(), start=start, end=end)


def _skip(tokens: Sequence[Token], i: int, words: tuple[str, ...]) -> int:
    while i < len(tokens) and tokens[i].low in words:
        i += 1
    return i
