"""What no file, message or table may show: values under the name of a secret, and what is secret in an address."""

from __future__ import annotations

import re

HIDDEN = "***"

SECRET_NAME = re.compile(r"key|token|secret|passw|auth|credential", re.IGNORECASE)

_KEY_SHAPED = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|pk|rk|xai|gsk|hf|gh[oprsu]|glpat|github_pat)[-_](?=[\w-]*(?:\d|[A-Za-z]{16}))[\w-]{8,}|AIza[\w-]{20,}"
    r"|AKIA[A-Z0-9]{12,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]+)?)"
)
"""What providers' keys look like: a short name of whose it is, then letters with digits or in one long run; and signed
tokens."""

_IN_ADDRESS = re.compile(r"""(?<=://)[^/@\s"'<>]+@|(?<=[?&])([^=&\s"'<>]*)=[^&\s"'<>\\]+""")
_IN_JSON = re.compile(
    r"""((\\*")(?:[^"\\]|\\+[^"\\])*?(?:key|token|secret|passw|auth|credential)(?:[^"\\]|\\+[^"\\])*\2\s*:\s*)"""
    r"""(?:"(?:[^"\\]|\\.)*"|(?<=[\s:])(?=\\)\2.*?(?<!\\)\2|[^\s,}\]]+)""",
    re.IGNORECASE | re.DOTALL,
)


def without_key_shapes(text: str) -> str:
    """The text without what looks like a key, whoever's it is: it was typed in the wrong place."""
    return _KEY_SHAPED.sub(HIDDEN, text)


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
