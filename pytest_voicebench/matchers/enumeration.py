"""`enum`: one of a parameter's allowed values, written with other case, spaces or underscores."""

from __future__ import annotations

import re

from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, accept, as_text, reject

_JOINTS = re.compile(r"[\s_\-]+")


def enum(expected: Json, actual: Json, context: Context) -> Match:
    """Equal after case, spaces, underscores and hyphens are folded, and what a noun carries.

    `driver's license` is driver_license, and for a parameter `source_account` a `savings account` is savings, unless
    that is another of the allowed values (option `enum`). Other synonyms are aliases.
    A value that is none of the allowed ones even so is noted `enum_mismatch`: the agent did not mean
    another value, it used a word the tool does not know.
    """
    wanted, given = as_text(expected), as_text(actual)
    if wanted is None or given is None:
        return reject(expected, actual)
    if wanted == given:
        return EQUAL
    if fold(wanted) == fold(given):
        return accept("the same value, written differently")
    allowed = [text for text in map(as_text, context.options.get("enum") or ()) if text is not None]
    known = fold(given) in {fold(a) for a in allowed}
    if not known and _core(wanted, context.name) == _core(given, context.name):
        return accept("the same value, written differently")
    if allowed and not known:
        return reject(expected, actual, "not one of the tool's values", "enum_mismatch")
    return reject(expected, actual)


def _core(text: str, parameter: str) -> list[str]:
    """The words without a plural's or owner's s before a noun, and without a last word that the parameter has too."""
    words = fold(text.replace("'", "").replace("\u2019", "")).split()
    words = words[:-1] if len(words) > 1 and words[-1] in fold(parameter).split() else words
    return [word.removesuffix("s") if len(word) > 3 else word for word in words[:-1]] + words[-1:]


def fold(text: str) -> str:
    """The value with case and joints folded."""
    return _JOINTS.sub(" ", text.strip()).casefold()


KIND = Kind(compare=enum, options=("enum",), words=True)
