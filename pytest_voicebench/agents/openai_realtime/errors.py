"""What an `error` event means for a measurement."""

from __future__ import annotations

from typing import Any, Literal

from pytest_voicebench.agents.protocol import Fault

Json = Any

FATAL = frozenset(
    {
        "insufficient_quota",
        "invalid_api_key",
        "account_deactivated",
        "billing_hard_limit_reached",
        "rate_limit_exceeded",
        "session_expired",
        "server_error",
    }
)
"""Codes or types after which what follows says nothing about the agent."""

REFUSALS = frozenset({"content", "content_filter", "content_policy_violation", "moderation_blocked"})
"""Codes, types and reasons by which the model declines to say something: that is the agent's behaviour."""

HARMLESS = frozenset({"response_cancel_not_active"})
"""Codes that answer a request of ours which came too late."""


def fault_of(error: dict[str, Json]) -> Fault | None:
    """A fault of the infrastructure, a remark on the agent (the session goes on), or nothing."""
    code, kind = (c if isinstance(c, str) else None for c in (error.get("code"), error.get("type")))
    if code in HARMLESS:
        return None
    message = " ".join(str(error.get("message") or "no message").split())[:300]
    told = f"the server reports {code or kind or 'an error'}: {message}"
    fatal = code in FATAL or kind in FATAL
    return Fault(kind="infrastructure" if fatal else "agent", message=told)


def kind_of_failure(error: dict[str, Json]) -> Literal["infrastructure", "agent"]:
    """Whose doing it is that a response failed: the provider's, unless it names the content as the reason."""
    named = {c for c in (error.get("code"), error.get("type"), error.get("reason")) if isinstance(c, str)}
    return "agent" if named & REFUSALS else "infrastructure"
