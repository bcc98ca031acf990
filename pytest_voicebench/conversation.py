"""What happened in one conversation: both voices, calls and words on one timeline; saved and loaded as format 1.

Times in memory are *ticks*: whole samples at 24 kHz since the first block of user audio, in fields that end in
`_ticks`. In the saved file the same fields end in `_s` and hold seconds, divided once when written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pytest_voicebench.hidden import HIDDEN, SECRET_NAME, without_secrets
from pytest_voicebench.timeline import RATE_HZ

if TYPE_CHECKING:
    from pytest_voicebench.audio import Samples

FORMAT = 1

Json = Any  # a value that json.dumps accepts


def to_ticks(seconds: float) -> int:
    """Nearest whole number of ticks."""
    return round(seconds * RATE_HZ)


def to_seconds(ticks: int) -> float:
    """Seconds, divided once."""
    return ticks / RATE_HZ


def shown_setting(name: str, value: Any) -> str | int | float | bool | None:
    """A setting as reports may show it: no value under a secret's name, in JSON neither, nor of a URL's query."""
    if not isinstance(name, str) or not isinstance(value, str | int | float | bool | None):
        raise ValueError(f"AgentInfo: setting {name!r} must be text, a number or a flag, not {value!r}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"AgentInfo: setting {name!r} must be a finite number, not {value!r}")
    if value is None or isinstance(value, bool):
        return value
    if SECRET_NAME.search(name) and not (isinstance(value, int) and name.startswith("max_")):
        return HIDDEN
    if not isinstance(value, str):
        return int(value) if isinstance(value, int) else float(value)  # plain ones, not those of an enum or numpy
    return without_secrets(str(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInfo:
    """What a report says about an agent. Secrets in `settings` are masked.

    `clock` is `virtual` for agents that live in our process and compute inline, `wall` for all others.
    `input_hz` is the rate at which the agent wants the user's audio (24000, 16000, 8000, ...).
    """

    name: str
    model: str | None = None
    transport: str = "process"
    clock: Literal["virtual", "wall"] = "wall"
    input_hz: int = RATE_HZ
    settings: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse with ValueError what no conversation could be held or reported with."""
        if self.clock not in ("virtual", "wall"):
            raise ValueError(f"AgentInfo: clock must be 'virtual' or 'wall', not {self.clock!r}")
        hz = self.input_hz
        if not isinstance(hz, int) or not 8_000 <= hz <= 48_000 or hz % 50:
            raise ValueError(f"AgentInfo: input_hz must be 8000 to 48000 in steps of 50, not {hz!r}")
        for name in (self.name, self.model or "-", self.transport):
            if not isinstance(name, str) or not name.isprintable() or not name:
                raise ValueError(f"AgentInfo: name, model and transport must be printable text, not {name!r}")
        object.__setattr__(
            self, "settings", {name: shown_setting(name, value) for name, value in self.settings.items()}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of time, end exclusive."""

    start_ticks: int
    end_ticks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word with its place on the timeline."""

    text: str
    start_ticks: int
    end_ticks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """One thing the user said. Only `turn` utterances expect an answer.

    `start_ticks` and `end_ticks` bound the speech (first to last word, pauses inside), not the recording.
    `step` is the index of the scenario's step that said it. `speech` and `words` come from the timing file.
    """

    step: int
    kind: Literal["turn", "backchannel", "vocal_tic", "non_directed"]
    text: str
    start_ticks: int
    end_ticks: int
    speech: tuple[Span, ...] = ()
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One piece of agent audio: when it arrived, when it was to play, and how much of it was heard before a clear."""

    item_id: str
    received_ticks: int
    start_ticks: int
    length_ticks: int
    heard_ticks: int


TranscriptSource = Literal["provider", "recognised"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcribed:
    """Text an agent gave for a voice. `heard_text` is the part of an agent's reply that was played.

    `estimated` says that `heard_text` was cut in proportion to the audio heard, not by word times. `source` tells the
    agent's own text from what a recogniser made of its voice. `words` are those that were heard; `aligned` says
    that their times were found by laying the text on the sound, `unsure` holds indexes of those that are doubtful.
    """

    speaker: Literal["user", "agent"]
    text: str
    at_ticks: int
    item_id: str | None = None
    words: tuple[Word, ...] = ()
    heard_text: str | None = None
    estimated: bool = False
    source: TranscriptSource = "provider"
    aligned: bool = False
    unsure: tuple[int, ...] = ()


CallStatus = Literal["executed", "failed", "rejected", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call. All but `cancelled` count.

    `finished_ticks`: the tool had answered. `answered_ticks`: its result was given to the agent's adapter, which had
    taken it at `acknowledged_ticks`.

    executed: answered with a result. failed: broke the tool's schema, or the tool answered with an error.
    rejected: unknown tool, or arguments that are not a JSON object (`arguments` is then {} and the raw text is kept in
    `arguments_text`). cancelled: taken back before it ran.

    `self_reported`: the other side says so. Not `timed`: it does not say when, and `at_ticks` is no measurement.
    """

    call_id: str
    name: str
    arguments: Mapping[str, Json]
    status: CallStatus
    at_ticks: int
    finished_ticks: int | None = None
    answered_ticks: int | None = None
    acknowledged_ticks: int | None = None
    result: Json = None
    reason: str | None = None
    arguments_text: str | None = None
    response_id: str | None = None
    self_reported: bool = False
    timed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Whether the user's audio reached the agent on time, and what it said reached us. Lateness is None on the virtual
    clock, unless the agent itself waits inside send().

    `read_late_p99_s`: how long what the agent sent had lain here before it was read, at the 99th percentile.
    `answer_late_max_s`: the longest such wait of what we answered with a tool's result or a played position, by which
    that answer left late. Both are None where the line does not say when its messages arrived, and where none came.
    """

    planned_blocks: int
    sent_blocks: int
    late_p50_s: float | None = None
    late_p99_s: float | None = None
    late_max_s: float | None = None
    read_late_p99_s: float | None = None
    answer_late_max_s: float | None = None


NOT_WRITTEN_DOWN = "the server could not write down what the user said"
"""How the message of a Problem begins where the agent's transcript of the user lacks something for that reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that went wrong in the conversation; `kind` is one of design section 4's error kinds."""

    kind: Literal["agent_absent", "infrastructure", "invalid_measurement", "suite", "agent"]
    message: str
    at_ticks: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What a result file of the official scripts says of its own conversation, as written there.

    Times are seconds from the start of its stream, of any sign, and belong to the official scores only: 0 can mean
    unknown, and a number can stand for silence. `words` and `user_words` are (text, start, end); `user_transcript` is
    what its recogniser made of the user, None where the file does not say. `call_starts_s` are
    the starts of the logged calls, finer than a tick, in the log's order; empty where the calls' own times will do.
    """

    provider: str
    status: str
    user_end_s: float | None = None
    agent_start_s: float | None = None
    transcript: str = ""
    words: tuple[tuple[str, float | None, float | None], ...] = ()
    user_words: tuple[tuple[str, float | None, float | None], ...] = ()
    user_transcript: str | None = None
    call_starts_s: tuple[float | None, ...] = ()


Withheld = Literal["sound", "text"]
"""What a run was told not to keep: --voicebench-no-audio, --voicebench-redact."""

EndReason = Literal["settled", "window", "line_closed", "max_duration", "no_response", "user_ended", "problem"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Both voices as heard, from tick 0, at 24 kHz. Equal lengths."""

    user: Samples
    agent: Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The evidence of one item: cassette, unit of exchange, and the only thing scores are made from.

    `agent_speech` is None until speech was detected. `recording` is saved as audio.flac (user left, agent right),
    `wire_events` (one JSON object a line) as events.jsonl, everything else as conversation.json. `warnings` are remarks
    on the user's recordings, and on sound of the agent's that was not kept, one line each. `session_s`: seconds from
    the connection until it was closed, which some providers charge; None on the virtual clock, and where there was no
    connection. `reported` is given where the conversation was held by somebody else's scripts and imported.
    `words_dropped` counts the words that a recogniser put where no speech is; None where none listened. `withheld`: no
    recording was saved, or text that scores may rest on was replaced.
    """

    item_id: str
    scenario_sha256: str
    agent: AgentInfo
    duration_ticks: int
    ended: EndReason
    truncated: bool = False
    utterances: tuple[Utterance, ...] = ()
    agent_speech: tuple[Span, ...] | None = None
    calls: tuple[Call, ...] = ()
    transcripts: tuple[Transcribed, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    clears_ticks: tuple[int, ...] = ()
    delivery: Delivery = field(default_factory=lambda: Delivery(planned_blocks=0, sent_blocks=0))
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    usage: Mapping[str, float] = field(default_factory=dict)
    state: Json = None
    state_sha256_before: str | None = None
    state_sha256_after: str | None = None
    reported: Reported | None = None
    words_dropped: int | None = None
    session_s: float | None = None
    withheld: tuple[Withheld, ...] = ()
    format: int = FORMAT
    wire_events: tuple[str, ...] = field(default=(), repr=False, compare=False)
    recording: Recording | None = field(default=None, repr=False, compare=False)

    @property
    def turns(self) -> tuple[Utterance, ...]:
        """The user's utterances that expect an answer, in time order."""
        return tuple(u for u in self.utterances if u.kind == "turn")

    @property
    def counted_calls(self) -> tuple[Call, ...]:
        """All calls but the cancelled ones, in order of time."""
        return tuple(sorted((c for c in self.calls if c.status != "cancelled"), key=lambda c: c.at_ticks))

    @property
    def transcript_source(self) -> TranscriptSource | None:
        """Whose words stand for the agent's voice: `recognised` if any of them are; None without words."""
        sources = {t.source for t in self.transcripts if t.speaker == "agent" and t.text.strip()}
        if "recognised" in sources:
            return "recognised"
        return "provider" if sources else None
