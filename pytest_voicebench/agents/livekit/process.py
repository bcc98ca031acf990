"""The agent's own process: started with its words kept, ended with its whole group whatever happens."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from pytest_voicebench.agents.credentials import Secret, scrubbed, secrets_of_environment
from pytest_voicebench.agents.protocol import AgentAbsent
from pytest_voicebench.agents.wire_log import WireLog

LEAVE_TIMEOUT_S = 1.5
"""For a process that is asked to end, before it is killed."""

LAST_WORDS_TIMEOUT_S = 2.0
"""For the status of a process whose connection has ended."""

_KEPT_LINES = 200
_LONGEST_LINE = 300
_RAISED = re.compile(r"[\w.]*(Error|Exception|Exit|Interrupt)\b(: .*)?|.*: No module named .*|.*: error: .*")
_JOB_CRASHED = re.compile(r".*shutting down job task.*job crashed.*")
"""How livekit-agents says that the agent's own code failed at its start; its process would stay, and never listen."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_KEEPER = Path(__file__).with_name("keeper.py")


class AgentProcess:
    """A running process. What it wrote is in the log of the conversation, the last lines also here."""

    def __init__(self, process: asyncio.subprocess.Process, log: WireLog, secrets: Sequence[Secret]) -> None:
        self._process = process
        self._log = log
        self._secrets = secrets
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._crashed = asyncio.Event()
        self._dismissed = False
        self._reading = asyncio.create_task(self._read())
        self._ended = asyncio.create_task(self._wait())

    async def crashed(self) -> str:
        """Wait until it ends or its job crashes; says how, in one line."""
        crash = asyncio.ensure_future(self._crashed.wait())
        try:
            await asyncio.wait({crash, self._ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            crash.cancel()
        return self._ended.result() if self._ended.done() else f"the agent crashed: {self.word()}"

    async def last_words(self) -> str | None:
        """How it ended or crashed; None where it ended well, or runs on without a word about that for a moment."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_TIMEOUT_S):
                told = await self.crashed()
                return told if self._crashed.is_set() or self._process.returncode else None
        return None

    async def _wait(self) -> str:
        status = await self._process.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_TIMEOUT_S):  # what it left behind may hold the pipe open
                await asyncio.shield(self._reading)
        word = self.word()
        told = f"the agent's process ended with status {status}{f': {word}' if word else ''}"
        self._log.note("the agent's process was ended" if self._dismissed else told)
        return told

    async def _read(self) -> None:
        output = self._process.stdout
        assert output is not None
        while True:
            try:
                line = await output.readline()
            except ValueError:  # longer than the reader's limit
                continue
            if not line:
                return
            text = self.scrubbed(_COLOUR.sub("", line.decode(errors="replace")).rstrip().lstrip("\r"))
            if _JOB_CRASHED.fullmatch(text):
                self._crashed.set()
            elif text:
                self._lines.append(text)
                self._log.note(f"agent: {text[:2000]}")

    def word(self) -> str:
        """The line that says most of why it ended: the last exception's, else the last one; empty where none came."""
        said = [line for line in self._lines if _RAISED.fullmatch(line)] or list(self._lines)
        line = " ".join(said[-1].split()) if said else ""
        return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..."

    def scrubbed(self, text: str) -> str:
        """The text without any key, or anything else that is secret in its environment."""
        return scrubbed(text, self._secrets)

    async def end(self) -> None:
        """Ask it to end, and kill it and all that it started when it does not."""
        self._dismissed = True
        try:
            if self._process.returncode is None:
                _signal_group(self._process.pid, signal.SIGTERM)
                await asyncio.wait([self._ended], timeout=LEAVE_TIMEOUT_S)
        finally:
            _signal_group(self._process.pid, signal.SIGKILL)
            try:
                await asyncio.wait([self._ended, self._reading], timeout=LEAVE_TIMEOUT_S)
            finally:
                self._reading.cancel()
                self._process._transport.close()  # type: ignore[attr-defined]  # its pipes; asyncio has no other way


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


@asynccontextmanager
async def run_process(
    command: Sequence[str], environment: Mapping[str, str], *, log: WireLog, secrets: Sequence[Secret] = ()
) -> AsyncIterator[AgentProcess]:
    """Start a command in a process group of its own, which ends with the block, or with us. Raises AgentAbsent.

    Its environment is ours and what is given here. Nothing that it says is kept with one of these secrets in it, nor
    with one that our environment holds.
    """
    hidden = [*secrets, *secrets_of_environment(os.environ)]
    for secret in hidden:
        log.hide(secret)
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", str(_KEEPER), *command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise AgentAbsent(f"the agent's process could not be started: {told}") from None
    log.note(f"started {' '.join(command)}")
    running = AgentProcess(process, log, hidden)
    try:
        yield running
    finally:
        await running.end()
