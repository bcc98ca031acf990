"""A suite and its scenarios as data: steps of the user, tools, expectations. Read from YAML by `load_suite`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_voicebench.tools import Toolset

if TYPE_CHECKING:  # numpy costs every collection 0.1 s, and a suite's own steps need none of it
    from pytest_voicebench.audio import Audio

Json = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomTone:
    """The noise of a speaker's room, generated when played. `level_dbfs` is its RMS."""

    seed: int
    level_dbfs: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """Who speaks: an id that joins the item's id, traits for tables and keywords, and the room."""

    id: str
    traits: Mapping[str, str | bool | float] = field(default_factory=dict)
    tone: RoomTone | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The timing file beside a recording: where its speech and words are, in seconds from the recording's start."""

    audio_sha256: str
    rate_hz: int
    speech: tuple[tuple[float, float], ...]
    words: tuple[tuple[str, float, float], ...]
    voice: str | None = None
    engine: str | None = None
    seed: int | None = None
    unsure: tuple[int, ...] = ()  # indexes of words whose times alignment is unsure of
    tone: RoomTone | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """When a step begins: at once after the one before, or relative to the agent's voice as heard.

    after_agent: the agent was heard after the user's latest turn and has been silent for `seconds`.
    into_agent: the agent has been speaking for `seconds` (a barge-in, or a backchannel).
    """

    kind: Literal["start", "after_agent", "into_agent"]
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the user.

    say: a turn. backchannel: "mm-hm" while the agent speaks, not a turn. insert: a sound that is not for the agent
    (`insert`). inject: text into the agent's context, silently. wait: `seconds` of nothing. end: the user hangs up.
    `audio` is a path inside the suite's folder or its `audio_root` (from a generator it may be sound); `timing` belongs
    to it, `timing_file` says where it lies if not beside. `channel` is that of a recording with two.
    """

    kind: Literal["say", "backchannel", "insert", "inject", "wait", "end"]
    trigger: Trigger = field(default_factory=lambda: Trigger(kind="start"))
    text: str = ""
    audio: Path | Audio | None = None
    timing: Timing | None = None
    seconds: float = 0.0
    insert: Literal["vocal_tic", "non_directed"] | None = None
    channel: Literal["left", "right", "mix"] | None = None
    timing_file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retraction:
    """Arguments that were said and then taken back; the correction is heard at the end of the phrase `until`."""

    tool: str
    args: Mapping[str, Json]
    until: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCall:
    """A call that the request asks for. Values may be references `$RESULT_<n>.<path>`."""

    tool: str
    args: Mapping[str, Json]
    allow_extra: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A diagnostic that this scenario makes part of Pass: a name, or a bound such as `first_response_s <= 2.5`."""

    name: Literal["mentions", "no_interruption", "order", "first_response_s"]
    operator: Literal["<=", "<"] | None = None
    bound: float | None = None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What a scenario expects. `ordered` demands the order written; references always demand theirs.

    `compare` overrides how arguments are compared: by `tool.argument`, the `kind` and the matcher's options. Values of
    `calls` may be forms such as `{"$one_of": [...]}` (`matchers.forms`).
    """

    calls: tuple[ExpectedCall, ...]
    mentions: tuple[str, ...] = ()
    pass_requires: tuple[Requirement, ...] = ()
    ordered: bool = False
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    compare: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteInfo:
    """What all scenarios of one file share."""

    path: Path
    name: str
    kind: str
    tools: Toolset
    instructions: str
    today: date
    stimulus: Literal["synthetic", "human"] = "human"
    window: Literal["settle", "fixed"] = "settle"
    settle_s: float = 10.0
    max_duration_s: float = 300.0
    documents: tuple[str, ...] = ()  # texts that the agent is given

    @property
    def folder(self) -> Path:
        """The folder that holds the suite's files; nothing outside it is read."""
        return self.path.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One item: a scenario spoken by one speaker.

    `id` is the scenario's, `item_id` adds the speaker where the scenario has several, and the trial where there are
    any: `trial` counts from 1, None without. All trials say the same. `steps` is empty when
    `generator` names a function `module:function` in the suite's folder that yields steps at run time.
    `sha256` covers everything that shapes the conversation (stimulus, tools, instructions), `expect_sha256` the rest.
    `state_rollback` (the request takes something back) and `latency_profile` are labels of the official release.
    """

    id: str
    item_id: str
    title: str
    suite: SuiteInfo
    line: int
    expect: Expectation
    steps: tuple[Step, ...]
    sha256: str
    generator: str | None = None
    expect_sha256: str = ""
    speaker: Speaker | None = None
    domain: str | None = None
    difficulty: str | None = None
    disfluency: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    retracted: tuple[Retraction, ...] = ()
    skip: str | None = None
    known_issue: str | None = None
    max_duration_s: float | None = None
    state_rollback: bool = False
    latency_profile: str | None = None
    trial: int | None = None

    @property
    def stimulus_text(self) -> str:
        """All that the user says, one step a line."""
        return "\n".join(s.text for s in self.steps if s.text)


def in_trials(scenario: Scenario, trials: int) -> tuple[Scenario, ...]:
    """The scenario once for each of so many trials, `travel_19-1`, `travel_19-2`; as it is for one."""
    if trials == 1:
        return (scenario,)
    numbers = range(1, trials + 1)
    return tuple(replace(scenario, item_id=f"{scenario.item_id}-{number}", trial=number) for number in numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A file of scenarios, in the order written, speakers expanded."""

    info: SuiteInfo
    scenarios: tuple[Scenario, ...]
