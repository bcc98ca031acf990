"""`check-agent NAME[,key=value...]`: five short conversations, and a table of what works."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing

from pytest_voicebench.agents.information import NoInformation, read_info
from pytest_voicebench.agents.naming import AgentNameError, AgentSpec, build_agent, check_hosted, parse_agent
from pytest_voicebench.agents.protocol import Agent
from pytest_voicebench.blocking import Blocked
from pytest_voicebench.checking.findings import WIDTH, Finding, Held, Verdict, faults, findings_of
from pytest_voicebench.checking.run import hold_scenes
from pytest_voicebench.checking.scenes import SceneName, scenes
from pytest_voicebench.clock import VirtualTimeError
from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.counted import counted
from pytest_voicebench.scenario import Scenario
from pytest_voicebench.writers.plain_text import encodable, one_line

DESCRIPTION = """
Connect to an agent, as --agent of pytest names it, and hold five short conversations: a request, one with two calls,
one in which the user cuts in, one after a long silence, one with a text for its context between two turns. Each line
is printed as soon as it is known. Exit status 0: nothing fails; 1: something fails or could not be
seen; 2: there is no such agent.
"""

_COUNTED: Mapping[Verdict, tuple[str, str]] = {
    "works": ("works", "work"),
    "fails": ("fails", "fail"),
    "lacks": ("is done without", "are done without"),
    "unknown": ("was not seen", "were not seen"),
}
_WORDS: Mapping[Verdict, str] = {"works": "works", "fails": "FAILS", "lacks": "does without", "unknown": "not seen"}


def run(argv: list[str]) -> int:
    """Print the table line by line; exit status as `DESCRIPTION` says."""
    parser = argparse.ArgumentParser(prog="python -m pytest_voicebench check-agent", description=DESCRIPTION)
    parser.add_argument("agent", metavar="NAME[,key=value...]", help="a shipped agent, or module:attribute of your own")
    text: str = parser.parse_args(argv).agent
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # for `module:attribute`, as in pytest
    try:
        spec = parse_agent(text)
        check_hosted(spec)
        table = _shown_table(spec)
    except (AgentNameError, NoInformation, VirtualTimeError, Blocked, LookupError) as error:
        print(one_line(f"check-agent: {error}"), file=sys.stderr)
        return 2
    counts = Counter(finding.verdict for finding in table)
    _say(", ".join(counted(counts[verdict], *words) for verdict, words in _COUNTED.items() if counts[verdict]))
    return 1 if any(finding.verdict in ("fails", "unknown") for finding in table) else 0


def _shown_table(spec: AgentSpec) -> list[Finding]:
    """The whole table, each line of which was printed as soon as it was known."""
    held: dict[SceneName, Held] = {}
    table: list[Finding] = []
    all_scenes = scenes()
    with closing(hold_scenes(all_scenes, lambda scenario: _agent(spec, scenario), _tell)) as coming:
        for name, of_scene in coming:
            if not held and of_scene.conversation is not None:
                _say(_heading(of_scene.conversation.agent))
            held[name] = of_scene
            table += _shown(findings_of(name, of_scene))
    for scene in all_scenes:
        if scene.name not in held:
            table += _shown(findings_of(scene.name, None))
    return [*table, *_shown([faults(held)])]


def _shown(lines: Iterable[Finding]) -> list[Finding]:
    found = list(lines)
    for finding in found:
        _say(f"{finding.name:<{WIDTH}}  {_WORDS[finding.verdict]:<12}  {finding.told}")
    return found


def _say(line: str) -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    print(encodable(one_line(line), sys.stdout.encoding), flush=True)


def _agent(spec: AgentSpec, scenario: Scenario) -> Agent:
    agent = build_agent(spec, scenario)
    read_info(agent)  # its author's mistake is one line, before a thread stumbles over it
    return agent


def _tell(name: SceneName, at_s: float) -> None:
    """Show how far a conversation is, where somebody watches."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{name.replace('_', ' ')}, {at_s:.0f} s\r", end="", file=sys.stderr, flush=True)


def _heading(info: AgentInfo) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in info.settings.items() if value is not None)
    return " ".join(part for part in (info.name, info.model, f"({settings})" if settings else "") if part)
