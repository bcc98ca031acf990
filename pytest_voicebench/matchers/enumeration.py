"""`enum`: one of a parameter's allowed values, written with other case, spaces or underscores."""

from __future__ import annotations

import re

from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, accept, as_text, reject

_JOINTS = re.compile(r"[\s_\-]+")


def enum(expected: Json, actual: Json, context: Context) -> Match:
    """Equal after case, spaces, underscores and hyphens are folded.

    A value that is none of the allowed ones (option `enum`) even so is noted `enum_mismatch`: the agent did not mean
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
    if allowed and fold(given) not in {fold(a) for a in allowed}:
        return reject(expected, actual, "not one of the tool's values", "enum_mismatch")
    return reject(expected, actual)


def fold(text: str) -> str:
    """The value with case and joints folded."""
    return _JOINTS.sub(" ", text.strip()).casefold()


KIND = Kind(compare=enum, options=("enum",), words=True)
