"""What an agent says of itself, asked so that its author's mistake is one line and not our traceback."""

from __future__ import annotations

from typing import Any

from pytest_voicebench.agents.credentials import known_secrets, scrubbed
from pytest_voicebench.conversation import AgentInfo


class NoInformation(Exception):  # noqa: N818 - says what is the case, for a person
    """The agent's `info` cannot be read or is no AgentInfo; one line."""


def read_info(agent: Any) -> AgentInfo:
    """The agent's `info`, which may be a property and run code. Raises NoInformation."""
    try:
        info = agent.info
    except (Exception, SystemExit) as error:
        told = f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
        told = scrubbed(told, known_secrets())
        raise NoInformation(f"the info of {type(agent).__name__} raises {told}") from error
    if not isinstance(info, AgentInfo):
        raise NoInformation(f"the info of {type(agent).__name__} is a {type(info).__name__}, not an AgentInfo")
    return info
