"""Keys of providers: from the environment, else from `.env.local` or `.env`; never shown."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pytest_voicebench.conversation import shown_setting
from pytest_voicebench.hidden import HIDDEN, SECRET_NAME, without_key_shapes, without_secrets

FILES = (".env.local", ".env")
"""Files of the current directory that are read for what the environment lacks, the first one first."""

SHORTEST_SECRET = 8
"""Shorter values are no secrets, and are parts of other words."""

_SECRET_VARIABLE = re.compile(r"(?:^|_)(?:\w*KEY|\w*TOKEN|\w*SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)


class Secret:
    """A key, and the variable it came from. No way of printing, formatting or pickling it gives the value."""

    __slots__ = ("_value", "variable")

    def __init__(self, value: str, variable: str) -> None:
        self._value = value
        self.variable = variable

    def reveal(self) -> str:
        """The value, for the one place that sends it."""
        return self._value

    def scrub(self, text: str) -> str:
        """The text without the value: servers echo keys in their error messages."""
        return text.replace(self._value, HIDDEN) if self._value else text

    def __repr__(self) -> str:
        return f"Secret({self.variable})"

    def __reduce__(self) -> str:
        raise TypeError(f"the key of {self.variable} must not leave this process")


class Unrevealing:
    """What descriptions of agents are made from, with `repr=False`: they print, as reports do, without secrets."""

    def __repr__(self) -> str:
        shown = (f"{f.name}={_shown(f.name, getattr(self, f.name))!r}" for f in fields(self) if f.repr)  # type: ignore[arg-type]
        return f"{type(self).__qualname__}({', '.join(shown)})"


def _shown(name: str, value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _shown(str(key), inner) for key, inner in value.items()}
    return shown_setting(name, value)


def scrubbed(text: str, secrets: Iterable[Secret]) -> str:
    """The text without any of these values."""
    for secret in secrets:
        text = secret.scrub(text)
    return text


def secrets_in(value: Any, name: str = "") -> list[Secret]:
    """Texts under a name that says that they are secret (`tenant_key`), if long enough; also in objects and lists."""
    if isinstance(value, Mapping):
        return [secret for key, inner in value.items() for secret in secrets_in(inner, f"{name}.{key}".lstrip("."))]
    if isinstance(value, list):
        return [secret for inner in value for secret in secrets_in(inner, name)]
    is_secret = isinstance(value, str) and len(value) >= SHORTEST_SECRET and SECRET_NAME.search(name)
    return [Secret(value, name)] if is_secret else []


def secrets_of_environment(environment: Mapping[str, str]) -> list[Secret]:
    """The values of variables whose name says that they are secret (`DEEPGRAM_API_KEY`), if they are long enough."""
    return [
        Secret(value, name)
        for name, value in environment.items()
        if len(value) >= SHORTEST_SECRET and _SECRET_VARIABLE.search(name)
    ]


def known_secrets(folder: Path | None = None) -> list[Secret]:
    """Those of the environment, and of the files that are read for what it lacks; for what somebody's code may show."""
    places = [os.environ, *(_variables_of((folder or Path.cwd()) / name) for name in FILES)]
    return [secret for place in places for secret in secrets_of_environment(place)]


def secrets_pattern() -> re.Pattern[str] | None:
    """What finds every key that this process knows, `parts_of` each; None where it knows none."""
    found = "|".join(sorted({parts_of(secret) for secret in known_secrets()}))
    return re.compile(found) if found else None


def without_keys(text: str) -> str:
    """A message as it may be shown: without the keys that this process knows, what looks like one, and what lets
    somebody in by an address."""
    known = secrets_pattern()
    return without_key_shapes(without_secrets(known.sub(HIDDEN, text) if known is not None else text))


def parts_of(secret: Secret) -> str:
    """A pattern for the value as it stands, as JSON writes it, and cut short by `...`, as pytest cuts long locals."""
    value = secret.reveal()
    whole = {value, json.dumps(value)[1:-1], repr(value)[1:-1]}
    begin, end = re.escape(value[:SHORTEST_SECRET]), re.escape(value[-SHORTEST_SECRET:])
    most = len(value) - SHORTEST_SECRET
    cut = [rf"{begin}\S{{0,{most}}}?(?=\.\.\.)", rf"(?<=\.\.\.)\S{{0,{most}}}?{end}"]
    return "|".join([*map(re.escape, sorted(whole)), *cut])


def secrets_of(url: str) -> list[Secret]:
    """What an address holds that lets somebody in: the password, and values of its query under a secret's name.

    Servers repeat them in their messages, as they came or decoded.
    """
    parts = urlsplit(url)
    named = [("password", parts.password or ""), *_query(parts.query), *parse_qsl(parts.query)]
    found = {form: name for name, value in named if SECRET_NAME.search(name) for form in (value, unquote(value))}
    return [Secret(value, f"the url's {name}") for value, name in found.items() if len(value) >= SHORTEST_SECRET]


def _query(query: str) -> Iterator[tuple[str, str]]:
    """Names and values as they stand."""
    for part in query.split("&"):
        name, _, value = part.partition("=")
        yield name, value


def find_key(
    variables: Sequence[str], *, environment: Mapping[str, str] | None = None, folder: Path | None = None
) -> Secret | None:
    """The first of the variables that is set and not empty, or None.

    The environment comes first; `.env.local` and then `.env` of the folder (the current one) only fill in, and change
    no environment. A file that cannot be read counts as absent.
    """
    places = [os.environ if environment is None else environment]
    places += [_variables_of((folder or Path.cwd()) / name) for name in FILES]
    for place in places:
        for variable in variables:
            if value := place.get(variable, "").strip():
                return Secret(_header_safe(value, variable), variable)
    return None


def need_key(variables: Sequence[str], *, folder: Path | None = None) -> Secret:
    """The first of the variables that is set. Raises ValueError, which names them."""
    found = find_key(variables, folder=folder)
    if found is None:
        others = f" (or {', '.join(variables[1:])})" if variables[1:] else ""
        raise ValueError(f"{variables[0]}{others} is not set: export it, or put it into {' or '.join(FILES)}")
    return found


def _header_safe(value: str, variable: str) -> str:
    """Raises ValueError for a value that no HTTP header can hold; it was pasted wrongly, and is not repeated."""
    if not value.isascii() or not value.isprintable() or " " in value:
        raise ValueError(f"{variable} is not a key: it holds spaces, line ends or letters that are not ASCII")
    return value


def _variables_of(path: Path) -> dict[str, str]:
    """The assignments `NAME=value`, also with `export` and quotes; ` #` begins a comment after an unquoted value."""
    try:
        lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and name.strip().isidentifier():
            found[name.strip()] = _unquoted(value.strip())
    return found


def _unquoted(value: str) -> str:
    if value[:1] in ("'", '"'):
        inner, closed, _ = value[1:].partition(value[0])
        if closed:
            return inner
    return value.partition(" #")[0].strip()
