"""HTML and SVG built from elements: text is escaped by construction, because only `el` and `raw` make `Html`."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TypeAlias

from pytest_voicebench.codec import dump_json
from pytest_voicebench.writers.plain_text import one_line


class Html(str):
    """Markup. Any other text is data."""

    __slots__ = ()


Child: TypeAlias = "str | int | Iterable[Child] | None"

_VOID = frozenset({"meta", "br", "hr", "input", "col"})


def el(name: str, /, *children: Child, **attributes: str | float | bool | None) -> Html:
    """An element. Children that are not Html are escaped, with control and bidi characters made visible.

    Attributes: `class_` is written `class`, `aria_label` `aria-label`; None and False leave one out, True writes its
    name alone.
    """
    start = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    return Html(start if name in _VOID else f"{start}{join(children)}</{name}>")


def join(children: Iterable[Child]) -> Html:
    """Children one after the other, those that are not Html escaped."""
    return Html("".join(map(_written, children)))


def raw(text: str) -> Html:
    """Text of this package as markup. Never what somebody else wrote."""
    return Html(text)


def json_text(value: object) -> Html:
    """One line of JSON that cannot end the script element around it. Raises CodecError."""
    data = dump_json(value).decode("utf-8")
    for character in "<>&":
        data = data.replace(character, f"\\u{ord(character):04x}")
    return Html(data)


def _written(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, str | int):
        return html.escape(one_line(str(child)))
    return join(child)


def _attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(one_line(str(value)))}"'
