"""What no file, message or table may show: values under the name of a secret, and what is secret in an address."""

from __future__ import annotations

import re

HIDDEN = "***"

SECRET_NAME = re.compile(r"key|token|secret|passw|auth|credential", re.IGNORECASE)

_IN_ADDRESS = re.compile(r"""(?<=://)[^/@\s"'<>]+@|(?<=[?&])([^=&\s"'<>]*)=[^&\s"'<>\\]+""")
_IN_JSON = re.compile(
    r"""((\\*")(?:[^"\\]|\\+[^"\\])*?(?:key|token|secret|passw|auth|credential)(?:[^"\\]|\\+[^"\\])*\2\s*:\s*)"""
    r"""(?:"(?:[^"\\]|\\.)*"|(?<=[\s:])(?=\\)\2.*?(?<!\\)\2|[^\s,}\]]+)""",
    re.IGNORECASE | re.DOTALL,
)


def without_json_secrets(text: str) -> str:
    """The text without values under the name of a secret in JSON, also where that stands in JSON itself, escaped."""
    return _IN_JSON.sub(rf"\1\2{HIDDEN}\2", text) if '"' in text else text


def without_secrets(text: str) -> str:
    """The text without values under the name of a secret in JSON, users, passwords and values of addresses' queries.

    A query loses all of its values, whatever their names: which of them lets somebody in, only its server knows.
    """
    text = without_json_secrets(text)
    if "://" not in text:
        return text
    return _IN_ADDRESS.sub(lambda m: f"{HIDDEN}@" if m[1] is None else f"{m[1]}={HIDDEN}", text)
