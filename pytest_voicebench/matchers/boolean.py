"""`boolean`: yes and no in the forms that models write them."""

from __future__ import annotations

from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, cannot_tell, quote, reject

_WORDS = {
    "true": True, "yes": True, "on": True, "y": True, "1": True, "yeah": True, "yep": True,
    "false": False, "no": False, "off": False, "n": False, "0": False, "nope": False,
}  # fmt: skip


def boolean(expected: Json, actual: Json, context: Context) -> Match:
    """The same truth value: true, yes, on, y, 1 against false, no, off, n, 0; nothing else is a boolean."""
    wanted, given = read(expected), read(actual)
    if wanted is None:
        return EQUAL if expected == actual else cannot_tell(f"the expected value {quote(expected)} is not a boolean")
    if given is None:
        return reject(expected, actual, "not a boolean")
    return EQUAL if wanted is given else reject(expected, actual)


def read(value: Json) -> bool | None:
    """The truth value that a JSON value is or spells, or None."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    return _WORDS.get(value.strip().rstrip(".!").casefold()) if isinstance(value, str) else None


KIND = Kind(compare=boolean, reads=lambda value, _: read(value) is not None, what="a yes or no")
