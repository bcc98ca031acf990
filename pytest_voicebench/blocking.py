"""Code of an agent that does not give its thread back: noticed by a loop that stands still, told by where it stands."""

from __future__ import annotations

import site
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from pytest_voicebench.agents.protocol import Agent

BLOCKED_S = 120.0
"""So long code may compute without awaiting; an agent that needs more has a number `blocks_at_most_s` of its own."""

LOOKS = 20
"""A loop is looked at so many times before it counts as blocked: a process that was stopped meanwhile is not."""

_PACKAGE = Path(__file__).parent
_OTHERS = tuple(map(Path, {sysconfig.get_path("stdlib"), *site.getsitepackages(), site.getusersitepackages()}))
_DEBUGGERS = ("bdb", "pdb", "pydevd")


class Blocked(RuntimeError):  # noqa: N818 - says what is the case, for a person
    """An agent's code keeps the thread of its conversation; one line that names the agent and the place."""


def limit_s(agent: Agent) -> float:
    """How long the agent's code may keep its thread, in seconds."""
    return float(getattr(agent, "blocks_at_most_s", BLOCKED_S))


@contextmanager
def watched(
    rounds: Callable[[], int], limit_s: Callable[[], float], blocked: Callable[[str], object]
) -> Iterator[None]:
    """While this thread's loop runs: call `blocked` with the place, once and in another thread, where it stands still.

    `rounds` counts how often the loop went round; `limit_s` says how many seconds it may stand.
    """
    over, thread_id = threading.Event(), threading.get_ident()

    def watch() -> None:
        before, still = rounds(), 0
        while not over.wait(limit_s() / LOOKS):
            now = rounds()
            still = still + 1 if now == before and not _is_debugged(thread_id) else 0
            before = now
            if still >= LOOKS:
                blocked(_place(thread_id))
                return

    threading.Thread(target=watch, name="voicebench-watch", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def blocked_by(name: str, limit_s: float, place: str) -> Blocked:
    """What is said of an agent of that name."""
    return Blocked(
        f"the agent {name!r} blocks its thread: nothing else ran for {limit_s:g} s, and its code stands at {place}; "
        "await there, or say how many seconds it may compute: blocks_at_most_s, a number of the agent"
    )


def _frames(thread_id: int) -> list[FrameType]:
    """What the thread is in, the innermost first."""
    frame, found = sys._current_frames().get(thread_id), []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


def _is_debugged(thread_id: int) -> bool:
    return any(str(f.f_globals.get("__name__")).split(".")[0] in _DEBUGGERS for f in _frames(thread_id))


def _place(thread_id: int) -> str:
    """`agent.py:12 in receive()`: the innermost place in the agent's own code, else in a library's, else in ours."""
    frames = _frames(thread_id)
    theirs = [f for f in frames if not _file(f).is_relative_to(_PACKAGE)]
    own = [f for f in theirs if not any(_file(f).is_relative_to(other) for other in _OTHERS)]
    frame = next(iter([*own, *theirs[:1], *frames]), None)
    return "an unknown place" if frame is None else f"{_file(frame).name}:{frame.f_lineno} in {frame.f_code.co_name}()"


def _file(frame: FrameType) -> Path:
    return Path(frame.f_code.co_filename)
