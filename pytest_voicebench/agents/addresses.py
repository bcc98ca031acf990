"""Addresses of servers: whether one is usable, who can read what is sent there, and how it may be shown."""

from __future__ import annotations

from urllib.parse import urlsplit

_PRIVATE = ("https", "wss")
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def is_address(url: object, schemes: tuple[str, ...]) -> bool:
    """Whether it is an address with one of these schemes and a host, as it may be sent over the wire."""
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in schemes and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def websocket_flaw(url: str) -> str | None:
    """What is wrong with the address of a WebSocket, or None."""
    if not is_address(url, ("ws", "wss")):
        return "url must be the address of a WebSocket: wss://HOST/PATH or ws://HOST:PORT/PATH"
    return "url must not hold a user or password" if _has_user(url) else None


def endpoint_flaw(url: object, example: str) -> str | None:
    """What is wrong with the address of an endpoint, to be said after the setting's name; None if nothing is."""
    if not isinstance(url, str) or not is_address(url, ("http", "https")):
        return f"must be the address of {example}"
    return "must not hold a user, password or query" if _has_user(url) or urlsplit(url).query else None


def _has_user(url: str) -> bool:
    parts = urlsplit(url)
    return bool(parts.username or parts.password)


def is_private(url: str) -> bool:
    """Whether nobody on the way can read what is sent there: encrypted, or this machine."""
    parts = urlsplit(url)
    return parts.scheme in _PRIVATE or parts.hostname in _THIS_MACHINE


def shown_url(url: str) -> str:
    """The address as logs and reports may show it: no user, password or query."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname or ""
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"
