"""Agents by name: `NAME[,key=value...]` as given on the command line, to an agent."""

from __future__ import annotations

import difflib
import importlib
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from pytest_voicebench.agents.credentials import known_secrets, scrubbed
from pytest_voicebench.conversation import shown_setting
from pytest_voicebench.hidden import HIDDEN, without_json_secrets, without_secrets

if TYPE_CHECKING:
    from pytest_voicebench.agents.protocol import Agent
    from pytest_voicebench.scenario import Scenario

GROUP = "pytest_voicebench.agents"
"""The entry-point group in which other distributions offer agents."""

DEFAULT_AGENT = "local"

SHIPPED: Mapping[str, str] = {
    "audio_chat": "pytest_voicebench.agents.audio_chat:AudioChat",
    "cascaded": "pytest_voicebench.agents.cascaded:Cascaded",
    "gemini-live-2.5": "pytest_voicebench.agents.gemini_live:Gemini25",
    "gemini-live-3.1": "pytest_voicebench.agents.gemini_live:Gemini31",
    "gemini-live-3.8": "pytest_voicebench.agents.gemini_live:Gemini38",
    "gpt-live": "pytest_voicebench.agents.openai_live:GptLive",
    "gpt-realtime": "pytest_voicebench.agents.openai_realtime:GptRealtime",
    "grok": "pytest_voicebench.agents.openai_realtime:Grok",
    "livekit": "pytest_voicebench.agents.livekit:LiveKit",
    "livekit-room": "pytest_voicebench.agents.livekit_room:LiveKitRoom",
    "local": "pytest_voicebench.agents.local:LocalAgent",
    "minicpm-o": "pytest_voicebench.agents.omni:MiniCpmO",
    "moshi": "pytest_voicebench.agents.moshi:Moshi",
    "nemotron-voicechat": "pytest_voicebench.agents.omni:NemotronVoiceChat",
    "personaplex": "pytest_voicebench.agents.moshi:PersonaPlex",
    "simulated": "pytest_voicebench.agents.simulated:build",
    "twilio": "pytest_voicebench.agents.twilio:build",
    "ultravox": "pytest_voicebench.agents.ultravox:Ultravox",
}
"""Shipped agents: what takes the settings and gives the agent."""

NEEDS_SCENARIO = frozenset({"simulated"})
"""Shipped agents that are told, before the settings, the scenario: what the user will say and expect."""

HOSTED = frozenset(SHIPPED) - {"local", "simulated"}
"""Shipped agents that need a key, an address or a program: it is looked for before anything is collected."""

_VIA_LIVEKIT = "pytest_voicebench.agents.livekit"
VIAS: Mapping[str, Mapping[str, str]] = {
    "livekit": {
        "cascaded": f"{_VIA_LIVEKIT}:CascadedViaLiveKit",
        "gemini-live-2.5": f"{_VIA_LIVEKIT}:Gemini25ViaLiveKit",
        "gemini-live-3.1": f"{_VIA_LIVEKIT}:Gemini31ViaLiveKit",
        "gemini-live-3.8": f"{_VIA_LIVEKIT}:Gemini38ViaLiveKit",
        "gpt-realtime": f"{_VIA_LIVEKIT}:GptRealtimeViaLiveKit",
        "grok": f"{_VIA_LIVEKIT}:GrokViaLiveKit",
        "ultravox": f"{_VIA_LIVEKIT}:UltravoxViaLiveKit",
    },
}
"""For the setting `via` of shipped agents: what takes the other settings and gives the same system, deployed so."""

ALIASES: Mapping[str, str] = {
    "gemini2_5": "gemini-live-2.5",
    "gemini3_1": "gemini-live-3.1",
    "gemini3_8": "gemini-live-3.8",
    "gpt_realtime": "gpt-realtime",
}
"""Other names of agents, each for a text `NAME[,key=value...]`; settings that are given are added to it."""

Scalar = str | int | float | bool

_PART = re.compile(r"""(?:[^,"'\\]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\\.|["'])+""")
_SECRET = re.compile(
    r"""((?:^|,)\s*\w*(?:key|token|secret|passw|auth|credential)\w*\s*=)("[^"]*"|'[^']*'|[^,]*)""", re.IGNORECASE
)
LONGEST_NUMBER = 18
"""In characters: a whole number that is longer is text, and so is a fraction that no float can hold."""

_WHOLE = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?")


_NUMBERS: Mapping[object, tuple[str, tuple[type, ...]]] = {
    float: ("a number", (int, float)),
    int: ("a whole number", (int,)),
    "float": ("a number", (int, float)),
    "int": ("a whole number", (int,)),
}
"""For the annotation of a setting, as it is or as text: what it wants in words, and the types that will do."""


class AgentNameError(ValueError):
    """The text names no agent, or gives it settings it does not have; one line for the person who typed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpec:
    """One agent asked for. `label` tells it from the others of the run, in letters that suit an item's id."""

    text: str
    name: str
    label: str
    settings: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def needs_scenario(self) -> bool:
        """Whether each item has an agent of its own, made for its scenario."""
        return self.name in NEEDS_SCENARIO

    @property
    def via(self) -> str | None:
        """How a shipped agent is deployed, where that is not by its own adapter."""
        via = self.settings.get("via") if self.name in SHIPPED else None
        return None if via is None else str(via)

    @property
    def own_settings(self) -> dict[str, Scalar]:
        """The settings that the agent takes: all but `via`, where that chose it."""
        return {key: value for key, value in self.settings.items() if key != "via" or self.via is None}


def shown_text(text: str) -> str:
    """What was asked for, as messages and reports may show it: no value under a secret's name, none in an address."""
    shown = without_json_secrets(_SECRET.sub(rf"\1{HIDDEN}", text))
    return _PART.sub(lambda part: without_secrets(part[0]), shown)


def _about(spec: AgentSpec) -> str:
    return f"agent {shown_text(spec.text)!r}"


def parse_agents(texts: Sequence[str]) -> tuple[AgentSpec, ...]:
    """The agents asked for, with distinct labels. Raises AgentNameError, also where one is asked for twice."""
    specs = [parse_agent(text) for text in texts]
    for i, spec in enumerate(specs):
        if any((s.name, s.settings) == (spec.name, spec.settings) for s in specs[:i]):
            raise AgentNameError(f"{_about(spec)} is given twice")
    return _labelled(specs)


def _labelled(specs: Sequence[AgentSpec]) -> tuple[AgentSpec, ...]:
    """Agents of one name are told apart by their settings as reports show them, and by a number where those do not."""
    from pytest_voicebench.conversation import shown_setting

    labels: list[str] = []
    for spec in specs:
        alone = sum(s.label == spec.label for s in specs) == 1
        words = (
            [spec.label]
            if alone
            else [spec.label, *(w for s in spec.settings.items() if (w := str(shown_setting(*s))) != HIDDEN)]
        )
        label = _letters("_".join(words))
        labels.append(label if label not in labels else f"{label}_{len(labels) + 1}")
    return tuple(replace(spec, label=label) for spec, label in zip(specs, labels, strict=True))


def _letters(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_") or "agent"


def parse_agent(text: str) -> AgentSpec:
    """One agent from `NAME[,key=value...]`; values in quotes may hold commas and stay text. Raises AgentNameError."""
    name, *rest = [part.strip() for part in _PART.findall(text)] or [""]
    if not name or "=" in name:
        raise AgentNameError(f"agent {shown_text(text)!r}: begin with a name; known: {', '.join(agent_names())}")
    settings: dict[str, Scalar] = {}
    for part in rest:
        key, equals, value = part.partition("=")
        if not equals or not key.strip().isidentifier():
            raise AgentNameError(
                f"agent {shown_text(text)!r}: {shown_text(part)!r} is not key=value "
                '(a value with commas needs quotes: k="a,b")'
            )
        settings[key.strip()] = _value(value.strip())
    if name in ALIASES:
        base = parse_agent(ALIASES[name])
        name, settings = base.name, {**base.settings, **settings}
    return AgentSpec(text=text, name=name, label=_letters(name.rpartition(":")[2]), settings=settings)


def _value(text: str) -> Scalar:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if text in ("true", "false"):
        return text == "true"
    if _WHOLE.fullmatch(text) and len(text) <= LONGEST_NUMBER:
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) and math.isfinite(float(text)) else text


def agent_names() -> list[str]:
    """All names that need no module: shipped agents, aliases, entry points of installed distributions."""
    return sorted({*SHIPPED, *ALIASES, *(e.name for e in entry_points(group=GROUP))})


def find_agent(spec: AgentSpec) -> Any:
    """What the name stands for: an agent, or a callable that takes settings and gives one. Raises AgentNameError."""
    if spec.name in SHIPPED:
        return _load(SHIPPED[spec.name] if spec.via is None else _deployed(spec), spec)
    for entry in entry_points(group=GROUP):
        if entry.name == spec.name:
            return _load(entry.value, spec)
    if ":" in spec.name:
        return _load(spec.name, spec)
    close = difflib.get_close_matches(spec.name, agent_names(), n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise AgentNameError(
        f"unknown agent {spec.name!r}: {hint}known: {', '.join(agent_names())}, or module:attribute for your own"
    )


def _deployed(spec: AgentSpec) -> str:
    """What the agent is where `via` says how it is deployed. Raises AgentNameError."""
    ways = [way for way, names in VIAS.items() if spec.name in names]
    if spec.via not in ways:
        known = f"known: via={' or via='.join(ways)}" if ways else f"{spec.name} has none"
        raise AgentNameError(f"{_about(spec)}: no way via={spec.via}: {known}")
    return VIAS[spec.via][spec.name]


def _load(reference: str, spec: AgentSpec) -> Any:
    module_name, _, attribute = reference.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except AttributeError as error:
        raise AgentNameError(f"{_about(spec)}: {_told(error)}") from error
    except (Exception, SystemExit) as error:  # the module's own code ran
        raise AgentNameError(f"{_about(spec)}: cannot import {module_name!r}: {_told(error)}") from error
    return found


def check_hosted(spec: AgentSpec) -> None:
    """Make a hosted agent once, so that a missing key or a wrong setting is told at once. Raises AgentNameError."""
    if spec.name in HOSTED:
        _made(find_agent(spec), (), spec)


def _told(error: BaseException) -> str:
    """What went wrong, on one line; with its type where the text alone would not say that somebody's code is broken."""
    text = scrubbed(" ".join(str(error).split()), known_secrets())
    if isinstance(error, ImportError | AttributeError) or (type(error) in (ValueError, TypeError) and text):
        return text
    return f"{type(error).__name__}: {text}".removesuffix(": ")


def build_agent(spec: AgentSpec, scenario: Scenario) -> Agent:
    """The agent that the text asks for. Raises AgentNameError where it takes no such settings or is no agent.

    `scenario` reaches only the shipped agents that need it; all others are blind.
    """
    found = find_agent(spec)
    if _is_agent(found) and not inspect.isclass(found):
        if spec.settings:
            raise AgentNameError(f"{_about(spec)}: {spec.name} is a finished agent and takes no settings")
        return found  # type: ignore[no-any-return]
    if not callable(found):
        raise AgentNameError(f"{_about(spec)}: {type(found).__name__} is no agent: it has no info and connect()")
    agent = _made(found, (scenario,) if spec.needs_scenario else (), spec)
    if not _is_agent(agent):
        raise AgentNameError(
            f"{_about(spec)}: {spec.name} gave a {type(agent).__name__}, which has no info and connect()"
        )
    return agent  # type: ignore[no-any-return]


def _made(builder: Callable[..., Any], first: tuple[Any, ...], spec: AgentSpec) -> Any:
    _check_settings(builder, first, spec)
    try:
        return builder(*first, **spec.own_settings)
    except (Exception, SystemExit) as error:  # the agent's own code ran
        raise AgentNameError(f"{_about(spec)}: {_told(error)}") from error


def _is_agent(thing: object) -> bool:
    """Whether it has `info` and `connect`; an `info` that raises is there, and `read_info` says what it raises."""
    try:
        told = hasattr(thing, "info")
    except (Exception, SystemExit):  # noqa: BLE001 - the agent's own code ran
        told = True
    return (told or inspect.getattr_static(thing, "info", None) is not None) and hasattr(thing, "connect")


def _check_settings(builder: Callable[..., Any], first: tuple[Any, ...], spec: AgentSpec) -> None:
    try:
        signature = inspect.signature(builder)
    except (TypeError, ValueError):  # a builtin; it will say for itself
        return
    try:
        signature.bind(*first, **spec.own_settings)
    except TypeError as error:
        takes = [p for p in list(signature.parameters)[len(first) :] if p != "self"]
        unknown = [k for k in spec.own_settings if k not in takes]
        close = difflib.get_close_matches(unknown[0], takes, n=1) if unknown else []
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        known = f"; its settings: {', '.join(takes)}" if takes else "; it has no settings"
        reason = f"no setting {unknown[0]!r}{hint}" if unknown else str(error)
        raise AgentNameError(f"{_about(spec)}: {reason}{known}") from error
    for key, value in spec.own_settings.items():
        parameter = signature.parameters.get(key)
        wanted = _NUMBERS.get(parameter.annotation) if parameter else None
        if wanted and (isinstance(value, bool) or not isinstance(value, wanted[1])):
            raise AgentNameError(f"{_about(spec)}: {key} must be {wanted[0]}, not {shown_setting(key, value)!r}")
