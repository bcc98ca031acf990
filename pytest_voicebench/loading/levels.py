"""Which keys stand where in a suite and in its tools: a key at the wrong place is told where it belongs."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pytest_voicebench.loading import expectations, scenarios, steps, suite_file, tool_file

Levels = Mapping[str, Collection[str]]

SUITE: Levels = {
    "under `expect`": expectations.KEYS,
    "on the scenario": scenarios.KEYS,
    "at the top of the file": suite_file.KEYS,
    "to a step under `user`": frozenset(name for names in steps.KEYS.values() for name in names),
    "to an entry of `retracted`": expectations.RETRACTION_KEYS,
}
TOOLS: Levels = {"to the tool": tool_file.TOOL_KEYS, "to a parameter": tool_file.PARAMETER_KEYS}


def elsewhere(name: str, known: Collection[str]) -> str:
    """`; it belongs under `expect`` for a key that is one of another level of the same file, else nothing.

    `known` are the keys of the level at which it was found; of a mapping that is no level nothing is said.
    """
    own = set(known)
    for levels in (SUITE, TOOLS):
        if any(own <= set(keys) for keys in levels.values()):
            place = next((place for place, keys in levels.items() if name in keys and not own <= set(keys)), None)
            if place is not None:
                return f"; it belongs {place}"
    return ""
