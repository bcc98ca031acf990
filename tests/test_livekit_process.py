"""The agent's own process: its words are kept, and nothing of it outlives the conversation, or us."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_voicebench.agents.credentials import Secret
from pytest_voicebench.agents.livekit import process as module
from pytest_voicebench.agents.livekit.process import run_process
from pytest_voicebench.agents.protocol import AgentAbsent
from pytest_voicebench.agents.wire_log import WireLog
from tests.servers.console_agent import Console, console_environment

ROOT = Path(__file__).parents[1]

HOLDS = """
import fcntl, os, sys, time
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
"""
STAYS = HOLDS + "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"
LEAVES_A_CHILD = HOLDS + "os.fork() or time.sleep(1e6); os._exit(0)"


def run(*command, **more):
    """Run a command to its own end; how it ended, and the log."""

    async def held():
        log = WireLog(asyncio.get_running_loop().time)
        async with run_process(
            command, more.get("environment", {}), log=log, secrets=more.get("secrets", ())
        ) as process:
            told = await process.crashed()
        return told, "\n".join(log.lines(None))

    return asyncio.run(held())


def python(code, *args):
    return (sys.executable, "-c", code, *map(str, args))


def until_free(lock: Path) -> None:
    """Wait until nobody holds the lock: whoever held it is gone."""
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise ValueError('no such room')", "ended with status 1: ValueError: no such room"),
        ("import no_such_module", "ended with status 1: ModuleNotFoundError: No module named 'no_such_module'"),
        ("print('one'); print('two'); raise SystemExit(3)", "ended with status 3: two"),
        ("raise SystemExit('give it a key')", "ended with status 1: give it a key"),
        ("import os; os.kill(os.getpid(), 9)", "ended with status 137"),
        ("print('fine')", "ended with status 0: fine"),
        ("print('\\x1b[31mKeyError: 1\\x1b[0m'); print('and then'); raise SystemExit(1)", "status 1: KeyError: 1"),
        ("print('x' * 10**6); raise SystemExit(1)", "ended with status 1"),
        ("import sys; sys.stderr.buffer.write(b'\\xff\\xfe\\n'); sys.exit(2)", "ended with status 2: "),
    ],
)
def test_how_a_process_ended_is_one_line_with_the_one_that_says_most(code, told):
    said, log = run(*python(code))
    assert told in said
    assert "\n" not in said
    assert len(said) < 500
    assert "started " in log


def test_a_command_that_is_not_there_is_told():
    said, _ = run("/no/such/python", "-m", "livekit.agents")
    assert said == "the agent's process ended with status 127: /no/such/python: No such file or directory"


def test_the_key_is_in_no_message_and_in_no_event():
    secret = Secret("sk-planted-5521", "XAI_API_KEY")
    code = "import os; print(os.environ['KEY']); raise ValueError(os.environ['KEY'])"
    said, log = run(*python(code), environment={"KEY": secret.reveal()}, secrets=[secret])
    assert said == "the agent's process ended with status 1: ValueError: ***"
    assert "sk-planted" not in log
    assert "***" in log


def test_keys_of_our_own_environment_are_hidden_too(monkeypatch):
    monkeypatch.setenv("DEEPGRAM_API_KEY", "dg-planted-7734")
    said, log = run(*python("import os; raise ValueError(os.environ['DEEPGRAM_API_KEY'])"))
    assert said == "the agent's process ended with status 1: ValueError: ***"
    assert "dg-planted" not in log


def test_more_than_an_environment_holds_is_told():
    with pytest.raises(AgentAbsent, match="could not be started: Argument list too long"):
        run(*python("pass"), environment={"VOICEBENCH_INSTRUCTIONS": "x" * 10**7})


class Told(WireLog):
    """A log that says when the process has said that it holds its lock."""

    def __init__(self):
        super().__init__(asyncio.get_running_loop().time)
        self.held = asyncio.Event()

    def note(self, text):
        super().note(text)
        if text == "agent: held":
            self.held.set()


async def hold(code, lock, begun=None):
    """Run what holds a lock, until it holds it; then end it, or wait to be cancelled where somebody is told."""
    log = Told()
    async with run_process(python(code, lock), {}, log=log):
        await log.held.wait()
        if begun:
            begun.set()
            await asyncio.Event().wait()


@pytest.mark.parametrize("code", [STAYS, LEAVES_A_CHILD], ids=["stays", "leaves a child"])
def test_nothing_outlives_the_conversation(tmp_path, monkeypatch, code):
    monkeypatch.setattr(module, "LEAVE_TIMEOUT_S", 0.2)
    asyncio.run(hold(code, tmp_path / "lock"))
    until_free(tmp_path / "lock")


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_nothing_outlives_a_conversation_that_is_cancelled_while_it_ends(tmp_path, rounds):
    async def cancelled():
        begun = asyncio.Event()
        task = asyncio.create_task(hold(STAYS, tmp_path / "lock", begun))
        await begun.wait()
        task.cancel()
        for _ in range(rounds):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(cancelled())
    until_free(tmp_path / "lock")


PARENT = """
import sys
from pathlib import Path
sys.path[:0] = [{root!r}, {tests!r}]
import stage
from pytest_voicebench.agents.livekit import LiveKit
stage.hold(stage.scenario(Path({folder!r})), LiveKit(entry={entry!r}, tools="session"))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
def test_the_agents_process_dies_with_ours(tmp_path, number):
    lock = tmp_path / "lock"
    entry = Console(lock=str(lock), end="stays").write(tmp_path / "agent.json")
    code = PARENT.format(root=str(ROOT), tests=str(ROOT / "tests"), folder=str(tmp_path), entry=str(entry))
    environment = {**os.environ, "PYTHONPATH": console_environment()}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE) as parent:
        seen = tmp_path / "agent.seen.json"
        while not seen.exists():
            assert parent.poll() is None, parent.stderr.read()
            time.sleep(0.05)
        with lock.open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        parent.send_signal(number)
        parent.wait()
    until_free(lock)
