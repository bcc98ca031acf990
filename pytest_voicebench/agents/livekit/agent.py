"""The agent `livekit` as a description: somebody's own LiveKit agent in a process of its own, no server between."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pytest_voicebench.agents.briefing import briefing, function_tools
from pytest_voicebench.agents.credentials import Secret, Unrevealing
from pytest_voicebench.agents.livekit.calls import ReportedCalls, Source
from pytest_voicebench.agents.livekit.console import Console, open_console
from pytest_voicebench.agents.livekit.line import ConsoleLine
from pytest_voicebench.agents.livekit.messages import WIRE_HZ, ConsoleBroken
from pytest_voicebench.agents.livekit.process import AgentProcess, run_process
from pytest_voicebench.agents.livekit.state import ConsoleState
from pytest_voicebench.agents.present import Present
from pytest_voicebench.agents.protocol import AgentAbsent, Line, Setup
from pytest_voicebench.agents.tool_host import ToolHost, address_flaw, tool_host
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.conversation import AgentInfo

LEAVE_S = 10.0
"""What the engine allows above the start's own timeout, so that the reason is told and the process ended."""

SOURCES = ("both", "host", "session")


@dataclass(frozen=True, kw_only=True, repr=False)
class LiveKit(Unrevealing):
    """A LiveKit agent (Python, livekit-agents 1.7 or later) as `lk console` runs it; its fields are the settings.

    `entry`: the file that defines its AgentServer. `python`: the interpreter it runs in, this one by default. `args`:
    further arguments of `python -m livekit.agents console`. `tools`: whose calls are recorded: `host` those that come
    to the suite's tools over HTTP, `session` those that the agent's session reports, `both` each call once.
    `start_timeout_s`: from the start of the process until the agent listens; nothing of it is measured.

    Raises ValueError, one line, for a wrong setting.
    """

    entry: str
    python: str = ""
    args: str = ""
    tools: str = "both"
    start_timeout_s: float = 60.0

    def __post_init__(self) -> None:
        """Check the settings."""
        if not isinstance(self.entry, str) or not Path(self.entry).is_file():
            raise ValueError(f"entry must be the file that defines the agent's AgentServer: no file {self.entry!r}")
        if flaw := python_flaw(self.python) or _args_flaw(self.args) or start_timeout_flaw(self.start_timeout_s):
            raise ValueError(flaw)
        if self.tools not in SOURCES:
            raise ValueError(f"tools must be {' or '.join(SOURCES)}, not {self.tools!r}")
        if self.tools != "session" and (flaw := address_flaw()):
            raise ValueError(f"{flaw} (or tools=session, where the agent's own tools answer)")

    @property
    def connect_timeout_s(self) -> float:
        """What the engine is to allow for connecting."""
        return self.start_timeout_s + LEAVE_S

    @property
    def info(self) -> AgentInfo:
        """What the report says: which file was run, by whom, and where its calls are taken from."""
        return AgentInfo(
            name="livekit",
            transport="livekit console",
            clock="wall",
            input_hz=WIRE_HZ,
            settings={
                "entry": self.entry,
                "entry_sha256": hashlib.sha256(Path(self.entry).read_bytes()).hexdigest()[:16],
                "python": self.python or None,
                "args": self.args or None,
                "tools": self.tools,
                "turn_detection": "the agent's own",
            },
        )

    def connect(self, setup: Setup) -> AbstractAsyncContextManager[Line]:
        """Start the process and wait until the agent listens. Raises AgentAbsent."""
        source: Source = self.tools  # type: ignore[assignment]
        command = (self.python or sys.executable, "-m", "livekit.agents", "console", self.entry)
        start = Start(
            command=(*command, *shlex.split(self.args)),
            source=source,
            timeout_s=self.start_timeout_s,
        )
        return open_agent(start, setup)


def start_timeout_flaw(seconds: float) -> str | None:
    """What is wrong with how long a start may take, or None."""
    return None if 1 <= seconds <= 600 else f"start_timeout_s must be from 1 to 600, not {seconds}"


def python_flaw(python: object) -> str | None:
    """What is wrong with the interpreter of an agent's process, or None."""
    if not isinstance(python, str) or (python and shutil.which(python) is None):
        return f"python must be an interpreter that has livekit-agents: there is no {python!r}"
    return None


def _args_flaw(args: object) -> str | None:
    try:
        shlex.split(args if isinstance(args, str) else "'")
    except ValueError:
        return f"args must be arguments as a shell takes them, not {args!r}"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How an agent's process is started. `secret` is in `environment`, and in no message."""

    command: tuple[str, ...]
    source: Source
    timeout_s: float = 60.0
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    secret: Secret | None = None


@asynccontextmanager
async def open_agent(start: Start, setup: Setup) -> AsyncIterator[Line]:
    """A line to the agent that the command runs, for one conversation. Raises AgentAbsent, one line.

    The command gets `--connect-addr`, and what it needs to know in its environment: VOICEBENCH_INSTRUCTIONS,
    VOICEBENCH_TOOLS (declarations as JSON), VOICEBENCH_TOOLS_URL (where calls are answered; not where the agent's own
    tools count alone).
    """
    loop = asyncio.get_running_loop()
    log = setup.log or WireLog(loop.time)
    told = {"VOICEBENCH_INSTRUCTIONS": briefing(setup), "VOICEBENCH_TOOLS": json.dumps(function_tools(setup))}
    async with AsyncExitStack() as stack:
        host: ToolHost | None = None
        if start.source != "session":
            host = await stack.enter_async_context(tool_host(setup))
            told["VOICEBENCH_TOOLS_URL"] = host.url
        console, address = await stack.enter_async_context(open_console(log))
        command, environment = (*start.command, "--connect-addr", address), {**start.environment, **told}
        secrets = [secret for secret in (start.secret, host.secret if host else None) if secret is not None]
        running = run_process(command, environment, log=log, secrets=secrets)
        process = await stack.enter_async_context(running)
        present = Present(loop.time)
        state = ConsoleState(now_s=present.now_s, calls=ReportedCalls(source=start.source, now_s=present.now_s))
        line = ConsoleLine(console, state, present, process, host)
        stack.callback(line.stop)
        await _until_it_listens(console, line, process, start.timeout_s)
        yield line


async def _until_it_listens(console: Console, line: ConsoleLine, process: AgentProcess, timeout_s: float) -> None:
    """Raises AgentAbsent, with the last of what the process said where it ended or said anything."""

    async def listens() -> bool:
        await console.dialled()
        return await line.until_listening()

    waiting, ending = asyncio.ensure_future(listens()), asyncio.ensure_future(process.crashed())
    try:
        await asyncio.wait({waiting, ending}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if waiting.done() and waiting.exception() is None and waiting.result():
            return
        if not waiting.done() and not ending.done():
            raise AgentAbsent(_late(process, timeout_s))
        raise AgentAbsent(await _why_absent(waiting, ending, process))
    finally:
        waiting.cancel()
        ending.cancel()


def _late(process: AgentProcess, timeout_s: float) -> str:
    word = process.word()
    told = f"the agent did not listen within {timeout_s:g} s of the start of its process"
    return f"{told}{f' (its last line: {word})' if word else ''}"


async def _why_absent(waiting: asyncio.Future[bool], ending: asyncio.Future[str], process: AgentProcess) -> str:
    error = waiting.exception() if waiting.done() else None
    told = ending.result() if ending.done() else await process.last_words() or ""
    if told:
        missing = "No module named livekit" in told or "No module named 'livekit" in told
        return f"{told} (python= must name an interpreter that has livekit-agents)" if missing else told
    if isinstance(error, ConsoleBroken):
        return str(error)
    return f"before the agent listened: {error}" if error else "the agent hung up before it listened"
