"""`currency`: ISO 4217 codes and the names people use for them, from a fixed table."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, accept, cannot_tell, quote, reject

_ALL_CODES = """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF
    CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL
    HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD
    MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG
    QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD
    TWD TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW
"""
CODES = frozenset(_ALL_CODES.split())

_DOLLAR_CODES = "AUD BBD BMD BND BSD BZD CAD FJD GYD HKD JMD KYD LRD NAD NZD SGD SRD TTD TWD USD XCD"
_DOLLARS = frozenset(_DOLLAR_CODES.split())
_PESO_CODES = "ARS CLP COP CUP DOP MXN PHP UYU"
_PESOS = frozenset(_PESO_CODES.split())
_FRANC_CODES = "BIF CDF CHF DJF GNF KMF RWF XAF XOF XPF"
_FRANCS = frozenset(_FRANC_CODES.split())
_DINAR_CODES = "BHD DZD IQD JOD KWD LYD RSD TND"
_DINARS = frozenset(_DINAR_CODES.split())

AMBIGUOUS: dict[str, frozenset[str]] = {
    "dollar": _DOLLARS,
    "$": _DOLLARS,
    "buck": _DOLLARS,
    "pound": frozenset({"GBP", "EGP", "FKP", "GIP", "LBP", "SDG", "SHP", "SSP", "SYP"}),
    "peso": _PESOS,
    "franc": _FRANCS,
    "dinar": _DINARS,
    "rupee": frozenset({"INR", "LKR", "MUR", "NPR", "PKR", "SCR"}),
    "krone": frozenset({"DKK", "NOK"}),
    "kroner": frozenset({"DKK", "NOK"}),
    "krona": frozenset({"ISK", "SEK"}),
    "kronor": frozenset({"SEK"}),
    "crown": frozenset({"CZK", "DKK", "ISK", "NOK", "SEK"}),
    "shilling": frozenset({"KES", "SOS", "TZS", "UGX"}),
    "riyal": frozenset({"QAR", "SAR", "OMR", "YER"}),
    "real": frozenset({"BRL"}),
    "¥": frozenset({"CNY", "JPY"}),
    "lira": frozenset({"TRY"}),
    "won": frozenset({"KRW"}),
}
"""Names that several currencies share (or that one currency owns); singular, folded."""

_USUAL = {"$": "USD", "pound": "GBP", "rupee": "INR", "franc": "CHF", "¥": "JPY", "krona": "SEK"}
_USUALLY = {AMBIGUOUS[name]: frozenset({code}) for name, code in _USUAL.items()}

_UNITS: dict[str, dict[str, str]] = {
    "dollar": {
        "us": "USD", "u.s.": "USD", "usa": "USD", "american": "USD", "united states": "USD", "canadian": "CAD",
        "canada": "CAD", "australian": "AUD", "aussie": "AUD", "new zealand": "NZD", "singapore": "SGD",
        "hong kong": "HKD", "taiwan": "TWD", "jamaican": "JMD",
    },
    "pound": {"british": "GBP", "uk": "GBP", "english": "GBP", "sterling": "GBP", "egyptian": "EGP"},
    "peso": {
        "mexican": "MXN", "philippine": "PHP", "filipino": "PHP", "argentine": "ARS", "chilean": "CLP",
        "colombian": "COP",
    },
    "franc": {"swiss": "CHF"},
    "rupee": {"indian": "INR", "pakistani": "PKR", "sri lankan": "LKR", "nepalese": "NPR"},
    "krone": {"danish": "DKK", "norwegian": "NOK"},
    "kroner": {"danish": "DKK", "norwegian": "NOK"},
    "krona": {"swedish": "SEK", "icelandic": "ISK"},
    "kronor": {"swedish": "SEK"},
    "crown": {"czech": "CZK", "danish": "DKK", "norwegian": "NOK", "swedish": "SEK", "icelandic": "ISK"},
    "yen": {"japanese": "JPY"},
    "yuan": {"chinese": "CNY"},
    "won": {"korean": "KRW", "south korean": "KRW"},
    "real": {"brazilian": "BRL"},
    "rand": {"south african": "ZAR"},
    "naira": {"nigerian": "NGN"},
    "lira": {"turkish": "TRY"},
    "ruble": {"russian": "RUB"},
    "zloty": {"polish": "PLN"},
    "shekel": {"israeli": "ILS"},
    "dirham": {"emirati": "AED", "uae": "AED", "moroccan": "MAD"},
    "riyal": {"saudi": "SAR", "qatari": "QAR"},
    "shilling": {"kenyan": "KES", "ugandan": "UGX", "tanzanian": "TZS"},
}  # fmt: skip

_NAMES: dict[str, str] = {f"{nation} {unit}": code for unit, by in _UNITS.items() for nation, code in by.items()} | {
    "euro": "EUR", "€": "EUR", "yen": "JPY", "yuan": "CNY", "renminbi": "CNY", "rmb": "CNY", "rand": "ZAR",
    "naira": "NGN", "₦": "NGN", "ruble": "RUB", "rouble": "RUB", "zloty": "PLN", "shekel": "ILS", "baht": "THB",
    "thai baht": "THB", "dong": "VND", "forint": "HUF", "hungarian forint": "HUF", "₹": "INR", "₩": "KRW",
    "£": "GBP", "sterling": "GBP", "pound sterling": "GBP",
    "british pound sterling": "GBP", "great british pound": "GBP", "quid": "GBP", "greenback": "USD", "us$": "USD",
    "ca$": "CAD", "c$": "CAD", "cad$": "CAD", "usd$": "USD", "a$": "AUD", "au$": "AUD", "nz$": "NZD", "s$": "SGD",
    "hk$": "HKD", "mx$": "MXN", "r$": "BRL", "cn¥": "CNY", "jp¥": "JPY", "loonie": "CAD",
}  # fmt: skip

_LONGEST_NAME = 60  # characters
_PLURALS = {"reais": "real", "zlotys": "zloty", "pounds sterling": "pound sterling"}


def candidates(name: str) -> frozenset[str] | None:
    """The ISO codes that a name may mean: one where it is clear, several where it is not, None where it is unknown."""
    if len(name) > _LONGEST_NAME:
        return None
    folded = " ".join(name.casefold().replace("-", " ").split()).removeprefix("the ")
    if folded.upper() in CODES:
        return frozenset({folded.upper()})
    for form in (folded, _PLURALS.get(folded, folded), folded.removesuffix("s"), folded.removesuffix("es")):
        if form in _NAMES:
            return frozenset({_NAMES[form]})
        if form in AMBIGUOUS:
            return AMBIGUOUS[form]
    return None


def usual(codes: frozenset[str]) -> frozenset[str]:
    """The currency that a name shared by these codes means where nothing else is said; the codes where none does."""
    return _USUALLY.get(codes, codes)


def currency(expected: Json, actual: Json, context: Context) -> Match:
    """The same currency. A name that several share (`dollars`) matches only what the option `names` says it means.

    `names` maps such a name to a code or a list of codes: `{dollars: USD}`.
    """
    if not isinstance(expected, str) or not isinstance(actual, str):
        return reject(expected, actual, "not a currency")
    wanted, given = _meant(expected, context), _meant(actual, context)
    if expected.casefold().strip() == actual.casefold().strip():
        return EQUAL
    if wanted is None:
        return cannot_tell(f"the expected value {quote(expected)} is not a known currency")
    if given is None:
        return reject(expected, actual, "not a known currency")
    if not wanted & given:
        return reject(expected, actual)
    if len(wanted) == len(given) == 1:
        return accept("the same currency")
    return cannot_tell(f"{quote(actual)} may or may not mean {quote(expected)}", "ambiguous_currency")


def _meant(name: str, context: Context) -> frozenset[str] | None:
    named = context.options.get("names")
    for key, codes in named.items() if isinstance(named, Mapping) else ():
        if str(key).casefold() == name.casefold().strip():
            return frozenset([codes] if isinstance(codes, str) else codes)
    return candidates(name)


def _is_readable(value: Json, context: Context) -> bool:
    return isinstance(value, str) and _meant(value, context) is not None


KIND = Kind(compare=currency, reads=_is_readable, what="a currency", options=("names",))
