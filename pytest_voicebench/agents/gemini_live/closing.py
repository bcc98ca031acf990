"""What a closing code means: this API has no other errors."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_voicebench.agents.wire import WireBroken

MEANINGS: Mapping[int, str] = {
    1007: "a message it does not take, or the context is full",
    1008: "the model or the API version is wrong, or the account may not use it",
    1011: "its own error, or the session's time is up",
}


def told_end(broken: WireBroken | None, *, announced: bool) -> str | None:
    """The end of a line in one line, with the meaning of its code; None where the server simply hung up.

    `announced`: it had said that it goes away, and the session could not move.
    """
    if broken is None and not announced:
        return None
    meaning = MEANINGS.get(broken.code) if broken is not None and broken.code is not None else None
    told = str(broken or "the server closed the connection (1000)") + (f": {meaning}" if meaning else "")
    return f"{told}; it had announced that it goes away, and given nothing to resume from" if announced else told
