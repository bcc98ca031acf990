"""Where tools are offered: the address to listen at, and the one that an agent is told."""

from __future__ import annotations

import importlib.util
import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

LOOPBACK = "127.0.0.1:0"
"""The default: this machine only, any free port."""

_NEEDS = ("mcp_types", "uvicorn", "starlette")
"""What the extra installs; `mcp_types` comes with version 2 of mcp, and not before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A host (name, IPv4 or IPv6 without brackets) and a port; port 0 is any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """`HOST:PORT`, `[IPv6]:PORT` or `HOST`. Raises ValueError, one line."""
    try:
        parts = urlsplit(f"//{text}")
        port = parts.port or 0
    except ValueError:
        parts, port = urlsplit(""), 0
    if not parts.hostname or parts.netloc != text or parts.username is not None or not text.isprintable():
        raise ValueError(f"tools address {text!r}: write HOST:PORT, such as {LOOPBACK} (port 0: any free one)")
    return Address(host=parts.hostname, port=port)


def address_flaw(address: str = LOOPBACK, public_url: str | None = None) -> str | None:
    """What keeps tools from being offered there: an address that cannot be used, or a missing extra; or None.

    `public_url` is how an agent elsewhere reaches the address. Who listens on every interface must name it.
    """
    try:
        host = parse_address(address).host
    except ValueError as error:
        return str(error)
    if public_url is None and _is_any(host):
        return f"tools address {address}: say as tools_public_url how the agent reaches it (http://HOST:PORT)"
    if public_url is not None and not _is_http(public_url):
        return "the public address of the tools must be http://HOST:PORT or https://HOST, without user or query"
    if any(importlib.util.find_spec(name) is None for name in _NEEDS):
        return "tools over HTTP need the extra 'tools': pip install 'pytest-voicebench[tools]'"
    return None


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    extra = parts.query or parts.fragment or parts.username is not None
    return fine and not extra and url.isascii() and url.isprintable() and " " not in url
