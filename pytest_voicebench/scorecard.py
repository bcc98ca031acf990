"""The judgement of one conversation as data: what was paired with what, what passed, which times were measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Json = Any

ScoreSet = Literal["voicebench", "official"]
Verdict = Literal["match", "mismatch", "cannot_tell"]
WrongCause = Literal["stale", "misheard", "invented", "other"]
RollbackVerdict = Literal["held", "repaired", "stale", "no_call"]
LatencyCause = Literal[
    "interrupted", "no_reply", "censored", "late_blocks", "late_answers", "no_speech_detection", "no_user_end"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentScore:
    """One expected argument against what the paired call gave.

    `expected` is after references are resolved. `strict` is False where the lenient verdict already failed.
    `notes` holds remarks such as `type_mismatch`. `cause` is given only where the verdict is not `match`.
    """

    name: str
    expected: Json
    actual: Json
    verdict: Verdict
    strict: bool
    reason: str
    notes: tuple[str, ...] = ()
    cause: WrongCause | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """An expected call (by index) and the call that was counted for it (index into counted_calls), or None."""

    expected: int
    actual: int | None
    tool: str
    arguments: tuple[ArgumentScore, ...] = ()
    extra: tuple[str, ...] = ()
    matches: bool = False
    strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnScore:
    """One turn of the user and what the agent did with it. Times in seconds on the conversation's timeline.

    `step` is the scenario's step. `reply_start_s` is given also where the turn was interrupted; `latency_s` is not.
    `interruptions_in_pause`: those of the interruptions that began while the user paused. `censored`: no reply, but the
    conversation ended before one could be demanded.
    """

    step: int
    start_s: float
    end_s: float
    interruptions: int = 0
    interruptions_in_pause: int = 0
    backchannels: int = 0
    interruption_depth_s: float | None = None
    reply_start_s: float | None = None
    latency_s: float | None = None
    censored: bool = False

    @property
    def taken(self) -> bool:
        """Whether the agent spoke up in this turn: an interruption or a reply."""
        return self.interruptions > 0 or self.reply_start_s is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """What was measured in time, in seconds; None = unmeasured, with `cause` saying why latencies are None.

    Of a conversation with several turns: `first_response_latency_s` is the mean over its clean turns, `user_end_s` and
    `reply_start_s` are the last turn's, the other two latencies count from the turn in which their moment lies. `cause`
    is given where `first_response_latency_s` is None.
    """

    first_response_latency_s: float | None = None
    tool_call_latency_s: float | None = None
    task_completion_latency_s: float | None = None
    user_end_s: float | None = None
    reply_start_s: float | None = None
    interruption_depth_s: float | None = None
    cause: LatencyCause | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How the agent behaved in conversation; counts over all turns, flags None where not applicable."""

    turn_taken: bool
    interrupted: bool
    interruptions: int = 0
    greetings: int = 0
    backchannels: int = 0
    clean_turn: bool = False
    filler: bool | None = None  # None unless a clean turn with calls
    preemptive: bool | None = None  # None without calls
    spoke_before_first_call: bool | None = None
    no_response_turns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A counted call (index into counted_calls) made with values that the user took back: a premature commit.

    `after_correction`: made when the correction had been heard, to the tick; None where nobody knows when that was.
    """

    call: int
    at_s: float
    executed: bool
    after_correction: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback:
    """One retraction of the scenario (by index) and what the agent made of it. Times in seconds on the timeline.

    `verdict`: held = no premature commit, and a call holds the values in place of the retracted ones (or nothing is
    left to call); repaired = the corrected call came after the last premature commit; stale = it did not; no_call =
    neither the old nor the new values were called with. A corrected call that repairs was executed and matches the
    expected call in every argument.

    `heard_s`: the end of the phrase `until` in the user's words; None where it has no place there, and then nothing
    that depends on it is known. `latency_s`: of a repaired one, from the moment when it could be repaired (the
    correction was heard and the first premature commit made, whichever came last) to the corrected call; negative where
    the agent corrected itself before the phrase was over. `final` holds the values in place of the retracted ones; None
    where the whole call was taken back. `side_effect_left`: a tool that writes was executed with the retracted value,
    and nothing shows that it was undone; None where nobody knows whether the tool writes. `said_*`: whether the agent
    was heard to say these values; None where its words, or words for the value, are missing.
    """

    retraction: int
    tool: str
    retracted: Mapping[str, Json]
    final: Mapping[str, Json] | None
    verdict: RollbackVerdict
    heard_s: float | None = None
    commits: tuple[Commit, ...] = ()
    corrected: int | None = None
    corrected_s: float | None = None
    latency_s: float | None = None
    side_effect_left: bool | None = False
    said_retracted: bool | None = None
    said_final: bool | None = None

    @property
    def repaired(self) -> bool | None:
        """Whether the corrected call followed; None without a premature commit, or where no call could repair it."""
        return None if not self.commits or self.final is None else self.verdict == "repaired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorecard:
    """All scores of one item. `passed` = tools_ok and args_ok and spoke, and every requirement that gates."""

    score_set: ScoreSet
    version: int
    passed: bool
    tools_ok: bool
    args_ok: bool
    spoke: bool
    requirements: Mapping[str, bool | None] = field(
        default_factory=dict
    )  # those of pass_requires; None = not checkable
    diagnostics: Mapping[str, bool | None] = field(default_factory=dict)  # mentions, order, ...: shown, not gating
    f1_names: float
    f1_match: float
    f1_strict: float
    precision: float
    recall: float
    argument_accuracy: float | None
    argument_accuracy_strict: float | None
    pairs: tuple[Pair, ...] = ()
    surplus: tuple[int, ...] = ()  # counted calls (indexes) that no expected call was paired with
    surplus_tools: tuple[str, ...] = ()  # the tools of those calls, in the same order
    premature_commits: tuple[int, ...] = ()  # counted calls that match a retracted entry
    rollback: tuple[Rollback, ...] = ()  # one for each retraction of the scenario, in its order
    times: Times = field(default_factory=Times)
    manners: Manners
    turns: tuple[TurnScore, ...] = ()
    wrong_causes: Mapping[WrongCause, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def rollback_latencies_s(self) -> list[float]:
        """One rollback latency for each corrected call that repaired something.

        A call that answers several corrections cannot come before the last of them, and counts from there.
        """
        found: dict[int, float] = {}
        for entry in self.rollback:
            if entry.latency_s is not None and entry.corrected is not None:
                found[entry.corrected] = min(entry.latency_s, found.get(entry.corrected, entry.latency_s))
        return list(found.values())
