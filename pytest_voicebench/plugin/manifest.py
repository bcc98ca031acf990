"""manifest.json of a run that pytest makes: written when it begins, so that a killed run has one, and when it ends."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_voicebench.plugin.keeping import kept
from pytest_voicebench.plugin.options import REDACT
from pytest_voicebench.plugin.run_folder import run_folder

if TYPE_CHECKING:
    from pytest_voicebench.machine import Load
    from pytest_voicebench.manifest import Manifest
    from pytest_voicebench.plan import Plan
    from pytest_voicebench.result import Result

PACKAGES = ("pytest-xdist", "pluggy", "soundfile", "websockets", "openai", "pydantic", "jsonschema", "livekit-api")
MASKED = "***"

_before = pytest.StashKey["Load"]()


def begin_manifest(config: pytest.Config, plan: Plan) -> None:
    """Take note of the load, and write what is known before the first item. Raises OSError."""
    from pytest_voicebench.machine import Load, load_now
    from pytest_voicebench.manifest import write_manifest

    config.stash[_before] = Load(before=load_now())
    write_manifest(run_folder(config).path, _manifest(config, plan, (), config.stash[_before]))


def finish_manifest(config: pytest.Config, plan: Plan, results: Sequence[Result]) -> None:
    """Write it again with what the run showed: who the agents were, how late, the load. Raises OSError."""
    from pytest_voicebench.machine import load_now
    from pytest_voicebench.manifest import write_manifest

    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    load = replace(config.stash[_before], after=load_now())
    write_manifest(run_folder(config).path, _manifest(config, plan, results, load, now))


def _manifest(
    config: pytest.Config, plan: Plan, results: Sequence[Result], load: Load, ended_at: str | None = None
) -> Manifest:
    from pytest_voicebench.machine import git_commit, this_machine
    from pytest_voicebench.manifest import manifest_of
    from pytest_voicebench.plugin.planning import version_of

    return manifest_of(
        plan,
        results,
        command=[kept(config).text(word) for word in masked(config.invocation_params.args)],
        packages={name: version_of(name) for name in PACKAGES},
        commit=git_commit(config.rootpath),
        machine=this_machine(),
        load=load,
        ended_at=ended_at,
    )


_INI_WORD = re.compile(
    r"(?is)((?:-o|--override-ini=?)?\s*(?:voicebench_redact|[\w-]*(?:key|token|secret|passw|auth|credential)[\w-]*)\s*=).+"
)
_SECRET_WORD = re.compile(r"(?is)(--?[\w-]*(?:key|token|secret|passw|auth|credential)[\w-]*)(=.*)?")


def masked(words: Sequence[object]) -> list[str]:
    """A command line without values that are secret: patterns to redact, keys of agents, what a name calls a secret."""
    from pytest_voicebench.agents.naming import shown_text
    from pytest_voicebench.conversation import shown_setting

    found: list[str] = []
    hide_next = False
    for word in map(str, words):
        option, equals, _ = word.partition("=")
        secret = _SECRET_WORD.fullmatch(word)
        if hide_next:
            found.append(MASKED)
        elif (option == REDACT or secret) and equals:
            found.append(f"{option}={MASKED}")
        elif ini := _INI_WORD.fullmatch(word):
            found.append(f"{ini[1]}{MASKED}")
        else:
            found.append(str(shown_setting("word", shown_text(word))))
        hide_next = not equals and (option == REDACT or secret is not None)
    return found
