"""Counts, amounts of money and currencies in a transcript, with the words that bound or name them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from pytest_voicebench.agents.local.understanding.lexicon import STOPS
from pytest_voicebench.agents.local.understanding.mentions import Mention
from pytest_voicebench.agents.local.understanding.numbers import SCALES, number_at, whole
from pytest_voicebench.agents.local.understanding.sounds import sound_of
from pytest_voicebench.agents.local.understanding.wording import word_set, words_of
from pytest_voicebench.agents.local.understanding.words import Token

_CURRENCY_WORDS = {
    "USD": "dollar dollars buck bucks usd",
    "EUR": "euro euros eur",
    "GBP": "pound pounds quid sterling gbp",
    "JPY": "yen jpy",
    "CHF": "franc francs chf",
    "INR": "rupee rupees inr",
    "CNY": "yuan renminbi cny rmb",
    "KRW": "won krw",
    "MXN": "peso pesos mxn",
    "BRL": "real reais brl",
    "SEK": "krona kronas kronor sek",
    "DKK": "kroner krone dkk",
    "NOK": "nok",
    "ZAR": "rand zar",
    "THB": "baht thb",
    "PLN": "zloty zlotys pln",
    "CZK": "koruna korunas crown crowns czk",
    "HUF": "forint forints huf",
    "TRY": "lira liras",
    "AED": "dirham dirhams aed",
    "SAR": "riyal riyals sar",
    "ILS": "shekel shekels ils",
    "RUB": "ruble rubles rouble roubles rub",
    "CAD": "cad loonies",
    "AUD": "aud",
    "NZD": "nzd",
    "SGD": "sgd",
    "HKD": "hkd",
    "VND": "dong vnd",
    "PHP": "php",
    "IDR": "rupiah rupiahs idr",
    "MYR": "ringgit ringgits myr",
    "NGN": "naira ngn",
    "KES": "shilling shillings kes",
    "KWD": "dinar dinars kwd",
    "RON": "leu lei ron",
    "UAH": "hryvnia uah",
    "EGP": "egp",
}
_CODE_OF = {word: code for code, words in _CURRENCY_WORDS.items() for word in words.split()}
_NATION = {
    "canadian": {"USD": "CAD"},
    "australian": {"USD": "AUD"},
    "singapore": {"USD": "SGD"},
    "zealand": {"USD": "NZD"},
    "kong": {"USD": "HKD"},
    "us": {"USD": "USD"},
    "american": {"USD": "USD"},
    "british": {"GBP": "GBP"},
    "egyptian": {"GBP": "EGP"},
    "norwegian": {"DKK": "NOK", "SEK": "NOK"},
    "swedish": {"DKK": "SEK", "SEK": "SEK"},
    "danish": {"DKK": "DKK", "SEK": "DKK"},
    "philippine": {"MXN": "PHP"},
    "filipino": {"MXN": "PHP"},
    "kenyan": {"KES": "KES"},
    "czech": {"CZK": "CZK"},
    "check": {"CZK": "CZK"},
}
_OF_NATION = {
    nation: code
    for code, nations in {
        "SEK": "swedish", "DKK": "danish", "NOK": "norwegian", "CHF": "swiss", "JPY": "japanese", "MXN": "mexican",
        "INR": "indian", "CNY": "chinese", "KRW": "korean", "TRY": "turkish", "THB": "thai", "PLN": "polish",
        "CZK": "czech", "HUF": "hungarian", "BRL": "brazilian", "GBP": "british", "CAD": "canadian",
        "AUD": "australian", "ZAR": "african", "AED": "emirati", "ILS": "israeli", "RUB": "russian",
    }.items()
    for nation in nations.split()
}  # fmt: skip
_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}
_AMBIGUOUS = frozenset(("won", "real", "try", "crown", "crowns", "rub", "dong", "pound"))
_DIVIDERS = word_set("to in into from and for how")
_UPPER = word_set("""
    under below max maximum most budget tops limit cap capped ceiling within less cheaper exceed above beyond afford
    spend over more
    """)
_PASSERS = word_set("""
    a an the is are be of to at for about around or than my our no not more like say it's i'd as was price rent i
    did what said let's , ... it goes by amount $
    """)


def find_currencies(tokens: Sequence[Token]) -> list[Mention]:
    """All currencies as ISO codes; a sign in front of a number counts."""
    found: list[Mention] = []
    for i, token in enumerate(tokens):
        code = _SIGNS.get(token.text) or _CODE_OF.get(token.low) or _misheard(tokens, i)
        if code is None or (token.low in _AMBIGUOUS and not _after_nation_or_number(tokens, i)):
            continue
        start = i
        nation = tokens[i - 1].low if i else ""
        if nation in _NATION or (i and tokens[i - 1].capital and tokens[i - 1].is_word and token.low in _CODE_OF):
            code = _NATION.get(nation, {}).get(code, code)
            start = i - 2 if nation in ("kong", "zealand") and i > 1 else i - 1
        if (
            start
            and token.text not in _SIGNS
            and _NATION.get(nation) is None
            and start == i - 1
            and found
            and found[-1].end > start
        ):
            start = i
        found.append(
            Mention(
                kind="currency",
                value=code,
                start=start,
                end=i + 1,
                cue=_cue(tokens, start),
                bound=_priced(tokens, start, i + 1),
            )
        )
    return _most_precise(tokens, found)


def _most_precise(tokens: Sequence[Token], found: Sequence[Mention]) -> list[Mention]:
    """Without "dollars" where "I mean Canadian dollars" follows at once."""
    kept: list[Mention] = []
    for mention in found:
        before = kept[-1] if kept else None
        if before is not None and mention.end - mention.start > 1 and before.end - before.start == 1:
            between = {t.low for t in tokens[before.end : mention.start]}
            base = _CODE_OF.get(tokens[mention.end - 1].low)
            if base == before.value != mention.value and len(between) <= 5 and not between & _DIVIDERS:
                kept.pop()
                mention = replace(mention, cue=before.cue, bound=before.bound)
        kept.append(mention)
    return kept


def find_numbers(tokens: Sequence[Token], taken: set[int], currencies: Sequence[Mention]) -> list[Mention]:
    """All other numbers: `unit` is a currency code or the stem-less word after it, `bound` says "at most"."""
    found: list[Mention] = []
    i = 0
    while i < len(tokens):
        number = None if i in taken else number_at(tokens, i)
        if number is None or _pronoun(tokens, number.start, number.end):
            i += 1
            continue
        unit = _unit(tokens, number.start, number.end, currencies)
        mention = Mention(
            kind="number",
            value=whole(number.value),
            start=number.start,
            end=number.end,
            cue=_cue(tokens, number.start),
            unit=unit,
            bound=_bounded(tokens, number.start, number.end, currencies),
        )
        found.append(mention)
        i = number.end
    return found


def _misheard(tokens: Sequence[Token], i: int) -> str | None:
    """A nation's money by the nation alone, where the word after it was not understood: "840 Swedish corner"."""
    nation = tokens[i - 1].low if i else ""
    if not tokens[i].is_word:
        return None
    asked = [t.low for t in tokens[max(0, i - 2) : i]] == ["how", "many"]
    alike = _sounding_like(tokens[i].low) if asked or nation in _OF_NATION else None
    if alike is not None:
        return alike
    if nation not in _OF_NATION:
        return None
    before = next((t.low for t in reversed(tokens[max(0, i - 3) : i - 1]) if t.low not in ("south", "the")), "")
    amount = i > 1 and number_at(tokens, i - 2) is not None
    return _OF_NATION[nation] if amount or before in ("in", "to", "into", "from", "many") else None


@functools.cache
def _sounding_like(low: str) -> str | None:
    """The currency whose name has just the sounds of a longer word: "crooner" is kronor."""
    sound = sound_of(low)
    if len(sound) < 4 or low in STOPS or not low.endswith(("a", "e", "r", "n", "s")):
        return None
    return next((code for word, code in _CODE_OF.items() if sound_of(word) == sound), None)


def _priced(tokens: Sequence[Token], start: int, end: int) -> bool:
    """Whether a number stands beside a currency, so that it is the unit of an amount."""
    if tokens[start].text in _SIGNS:
        return True
    before = start - 1 - (start > 0 and tokens[start - 1].low == "of")
    return before >= 0 and (tokens[before].low in SCALES or number_at(tokens, before) is not None)


def _after_nation_or_number(tokens: Sequence[Token], i: int) -> bool:
    scaled = bool(i) and tokens[i - 1].low in SCALES
    led = bool(i) and tokens[i].low.endswith("s") and tokens[i - 1].low in ("in", "into", "to")
    return bool(i) and (
        scaled
        or led
        or tokens[i - 1].low in _NATION
        or number_at(tokens, i - 1) is not None
        or (tokens[i - 1].capital and i > 1)
    )


def _pronoun(tokens: Sequence[Token], start: int, end: int) -> bool:
    """The "one" of "the first one", "that one", "one of"."""
    if tokens[start].low != "one" or end - start > 1:
        return False
    before = tokens[start - 1].low if start else ""
    after = tokens[end].low if end < len(tokens) else ""
    named = after.isalpha() and after not in STOPS
    if before == "the" and named:
        return False
    return before in words_of("""
    first second third last next that this the cheapest which another new right wrong best only other cheaper
    """) or after in ("of", "for", "that")


def _cue(tokens: Sequence[Token], start: int) -> str:
    i = start - 1
    while i >= 0 and tokens[i].low in ("the", "a", "about", "around", "my", "some", "of", "your"):
        i -= 1
    return tokens[i].low if i >= 0 else ""


def _unit(tokens: Sequence[Token], start: int, end: int, currencies: Sequence[Mention]) -> str:
    for currency in currencies:
        if currency.start == end or currency.end == start or (currency.start == end + 1 and tokens[end].low == "of"):
            return str(currency.value)
    after = end
    while after < len(tokens) and tokens[after].low in ("of", "more", "or", "full", "separate", "decent"):
        after += 1
    return tokens[after].low if after < len(tokens) and tokens[after].is_word else ""


def _bounded(tokens: Sequence[Token], start: int, end: int, currencies: Sequence[Mention]) -> bool:
    i = start - 1
    while i >= 0 and start - i < 9 and (tokens[i].low in _PASSERS or tokens[i].text == "$"):
        if tokens[i].low in ("to",) and i and tokens[i - 1].low == "up":
            return True
        if tokens[i].low in ("more",):
            return True
        i -= 1
    if i >= 0 and tokens[i].low in _UPPER:
        return True
    after = end + any(c.start == end for c in currencies)
    for token in tokens[after : after + 5]:
        if token.low in ("tops", "max", "maximum", "most", "less", "limit", "cheaper"):
            return True
        if token.low not in ("at", "the", "or", "a", "per", "month", "as", "my", "is"):
            return False
    return False
