"""SHA-256 over what shapes a conversation, and over what it is judged by: equal content has equal hashes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from pytest_voicebench.scenario import Expectation, Retraction, RoomTone, Speaker, Step, SuiteInfo

Json = Any


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Json) -> str:
    """SHA-256 of canonical JSON: keys sorted, no spaces, UTF-8."""
    return hashlib.sha256(_CANONICAL.encode(value).encode("utf-8", "surrogatepass")).hexdigest()


def suite_digest(info: SuiteInfo, code: dict[str, str]) -> str:
    """What every conversation of a suite shares. `code` maps each Python file that answers or speaks to its text."""
    tools = _tools(info)
    rules = [info.kind, info.today.isoformat(), info.window, info.settle_s, info.max_duration_s]
    return digest([rules, info.instructions, list(info.documents), tools, code])


def tools_digest(info: SuiteInfo) -> str:
    """What an agent is told of the suite's tools, and what they answer."""
    return digest(_tools(info))


def _tools(info: SuiteInfo) -> Json:
    return [
        [t.name, t.description, t.json_schema(), t.writes, t.returns, t.answer, t.latency_s]
        for t in info.tools.values()
    ]


def matching_digest(info: SuiteInfo) -> str:
    """How the suite's arguments are compared."""
    return digest(
        [[t.name, p.name, p.match, dict(p.options)] for t in info.tools.values() for p in t.parameters.values()]
    )


def stimulus_digest(
    suite: str,
    steps: Sequence[tuple[Step, str | None]],
    generator: str | None,
    speaker: Speaker | None,
    max_duration_s: float | None,
) -> str:
    """One item's conversation: the suite's digest, the steps, the room. With each step goes its timing file's SHA-256.

    That file holds the SHA-256 of the recording, and all that is known of it.
    """
    tone = _tone(speaker.tone) if speaker else None
    return digest([suite, [_step(step, sound) for step, sound in steps], generator, tone, max_duration_s])


def expectation_digest(matching: str, expect: Expectation, retracted: Sequence[Retraction]) -> str:
    """What the item is judged by."""
    calls = [[c.tool, dict(c.args), list(c.allow_extra)] for c in expect.calls]
    requirements = [[r.name, r.operator, r.bound] for r in expect.pass_requires]
    aliases = {name: list(words) for name, words in expect.aliases.items()}
    taken_back = [[r.tool, dict(r.args), r.until] for r in retracted]
    judged = [matching, calls, list(expect.mentions), requirements, expect.ordered, aliases, taken_back]
    return digest(
        [*judged, {name: dict(rules) for name, rules in expect.compare.items()}] if expect.compare else judged
    )


def _step(step: Step, sound: str | None) -> Json:
    channel = [] if step.channel is None else [step.channel]  # suites without one keep their fingerprints
    return [step.kind, step.trigger.kind, step.trigger.seconds, step.text, step.seconds, step.insert, sound, *channel]


def _tone(tone: RoomTone | None) -> Json:
    return tone and [tone.seed, tone.level_dbfs]
