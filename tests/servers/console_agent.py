"""A double of a LiveKit agent's process: dials the console and speaks its protocol, as a script says; and its faults.

`python -m livekit.agents console SCRIPT.json --connect-addr HOST:PORT` runs it where `console_path` is in PYTHONPATH
(see `console_environment`). A script says what the agent does after each of the user's turns; CONSOLE_AGENT_SCRIPT
names one in place of the command line. What the agent was told and what it received is written beside the script as
it comes, to SCRIPT.seen.json.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import json
import math
import os
import signal
import socket
import struct
import sys
import threading
import urllib.request
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from livekit.protocol.agent_pb import agent_session as pb

from pytest_voicebench.audio import Audio, resample

Json = Any
RATE_HZ = 48_000
TOLD = ("VOICEBENCH_INSTRUCTIONS", "VOICEBENCH_TOOLS", "VOICEBENCH_TOOLS_URL", "VOICEBENCH_AGENT")
LOUD = 500
"""Level above which a block is speech."""

TURN_ENDS_AFTER_BLOCKS = 45
"""Silent blocks of 20 ms after speech: 0.9 s."""


@dataclass(frozen=True, kw_only=True)
class Console:
    """One way of behaving. As it stands, the agent listens, and does nothing."""

    start: str = "listens"
    """`listens`, `speaks_first`, `crashes`, `crashes_job`, `never_dials`, `hangs_up`, `never_listens`, `garbage`."""
    turns: list[list[Json]] = field(default_factory=list)
    """What it does after each of the user's turns: steps of one key each, see `Agent`."""
    end: str = "leaves"
    """When it is asked to end: `leaves`, or `stays`."""
    lock: str = ""
    """A file that is locked as long as the process lives."""

    def write(self, path: Path) -> Path:
        """The script as a file."""
        path.write_text(json.dumps(asdict(self)))
        return path


def console_environment() -> str:
    """PYTHONPATH under which `python -m livekit.agents` is this double."""
    here = Path(__file__).parent
    return os.pathsep.join([str(here / "console_path"), str(here.parents[1]), str(here.parents[0])])


def seen(script: Path) -> Json:
    """What the agent of a script has received."""
    return json.loads(script.with_suffix(".seen.json").read_text())


class Agent:
    """One session. A step's key is the name of a method, its value the argument."""

    def __init__(self, script: Console, file: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.script = script
        self.file = file
        self.reader = reader
        self.writer = writer
        told = {name: os.environ[name] for name in TOLD if name in os.environ}
        self.seen: dict[str, Json] = {"environment": told, "argv": sys.argv[1:], "finished": 0, "answers": []}
        self.heard_blocks = 0
        self.calls = 0
        self.finished = asyncio.Event()
        self.block = asyncio.Event()
        self.speaks = asyncio.Event()
        self.turn: asyncio.Queue[int] = asyncio.Queue()
        self.silent = 0

    def note(self, **more: Json) -> None:
        """Write down what has been seen so far; whole, or not at all."""
        self.seen.update(more)
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(self.seen))
        new.replace(self.file.with_suffix(".seen.json"))

    async def run(self) -> None:
        """Listen, answer turns, and note what came until the other side hangs up."""
        self.note()
        hearing = asyncio.create_task(self.hear())
        if self.script.start != "never_listens":
            await self.begin()
        acting = asyncio.create_task(self.act())
        await hearing
        acting.cancel()

    async def begin(self) -> None:
        if self.script.start == "speaks_first":
            await self.state(pb.AS_SPEAKING)
            await self.say(0.2)
            await self.flush(None)
        await self.state(pb.AS_LISTENING)

    async def act(self) -> None:
        for steps in self.script.turns:
            await self.turn.get()
            for step in steps:
                (name, value), *_ = step.items()
                await getattr(self, name)(value)

    async def hear(self) -> None:
        while True:
            try:
                (length,) = struct.unpack(">I", await self.reader.readexactly(4))
                message = pb.AgentSessionMessage.FromString(await self.reader.readexactly(length))
            except (asyncio.IncompleteReadError, OSError):
                return
            if message.WhichOneof("message") == "audio_playback_finished":
                self.note(finished=self.seen["finished"] + 1)
                self.finished.set()
            elif message.WhichOneof("message") == "audio_input":
                self.take_sound(message.audio_input)

    def take_sound(self, frame) -> None:
        samples = np.frombuffer(frame.data, "<i2").astype(np.float64)
        loud = math.sqrt(float(samples @ samples) / max(1, len(samples))) > LOUD
        self.heard_blocks += 1
        self.block.set()
        self.silent = 0 if loud else self.silent + 1
        if loud:
            self.speaks.set()
        if self.speaks.is_set() and self.silent == TURN_ENDS_AFTER_BLOCKS:
            self.speaks.clear()
            self.note(blocks=self.heard_blocks, frame=[len(frame.data), frame.sample_rate, frame.samples_per_channel])
            self.turn.put_nowait(1)

    async def send(self, message) -> None:
        data = message.SerializeToString()
        self.writer.write(struct.pack(">I", len(data)) + data)
        await self.writer.drain()

    async def event(self, **fields) -> None:
        await self.send(pb.AgentSessionMessage(event=pb.AgentSessionEvent(**fields)))

    async def state(self, new) -> None:
        change = pb.AgentSessionEvent.AgentStateChanged(old_state=pb.AS_INITIALIZING, new_state=new)
        await self.event(agent_state_changed=change)

    async def say(self, seconds: float) -> None:
        """Sound in frames of 60 ms, faster than real time."""
        sound = tone(seconds)
        for start in range(0, len(sound), 2880):
            await self.frame(sound[start : start + 2880].tobytes())

    async def voice(self, kind: str) -> None:
        """One of the package's short recordings."""
        sound = resample(Audio(samples=stage_voice(kind), rate_hz=24_000), RATE_HZ).samples
        for start in range(0, len(sound), 2880):
            await self.frame(sound[start : start + 2880].astype("<i2").tobytes())

    async def frame(self, data: bytes, channels: int = 1) -> None:
        frame = pb.AgentSessionMessage.ConsoleIO.AudioFrame(
            data=data, sample_rate=RATE_HZ, num_channels=channels, samples_per_channel=len(data) // 2 // channels
        )
        await self.send(pb.AgentSessionMessage(audio_output=frame))

    async def odd(self, seconds: float) -> None:
        """Sound whose frames end in the middle of a sample."""
        data = tone(seconds).tobytes()
        for start in range(0, len(data), 5761):
            await self.frame(data[start : start + 5761])

    async def flush(self, _) -> None:
        self.finished.clear()
        await self.send(
            pb.AgentSessionMessage(audio_playback_flush=pb.AgentSessionMessage.ConsoleIO.AudioPlaybackFlush())
        )

    async def clear(self, _) -> None:
        await self.send(
            pb.AgentSessionMessage(audio_playback_clear=pb.AgentSessionMessage.ConsoleIO.AudioPlaybackClear())
        )

    async def played(self, _) -> None:
        """Wait until the other side says that all was heard."""
        await self.finished.wait()

    async def user_speaks(self, _) -> None:
        """Wait until the user speaks again."""
        await self.speaks.wait()

    async def silence(self, blocks: int) -> None:
        """Wait for so many blocks of the user's sound."""
        for _ in range(blocks):
            self.block.clear()
            await self.block.wait()

    async def heard(self, text: str) -> None:
        """The user's words, first a part of them."""
        for said, final in ((text.split()[0], False), (text, True)):
            told = pb.AgentSessionEvent.UserInputTranscribed(transcript=said, is_final=final)
            await self.event(user_input_transcribed=told)

    async def text(self, text: str, interrupted: bool = False) -> None:
        """The agent's words, when they have been heard."""
        content = [pb.ChatMessage.ChatContent(text=text)]
        message = pb.ChatMessage(id="item", role=pb.ASSISTANT, content=content, interrupted=interrupted)
        added = pb.AgentSessionEvent.ConversationItemAdded(item=pb.ChatContext.ChatItem(message=message))
        await self.event(conversation_item_added=added)

    async def cut_text(self, text: str) -> None:
        await self.text(text, interrupted=True)

    async def used(self, tokens: int) -> None:
        """Totals so far."""
        model = pb.LLMModelUsage(provider="double", model="m", input_tokens=tokens, output_tokens=1)
        usage = pb.AgentSessionUsage(model_usage=[pb.ModelUsage(llm=model)])
        await self.event(session_usage_updated=pb.AgentSessionEvent.SessionUsageUpdated(usage=usage))

    async def error(self, message: str) -> None:
        await self.event(error=pb.AgentSessionEvent.Error(message=message))

    async def own_call(self, call: Json) -> None:
        """A tool of the agent's own: told when it begins, and when it has ended."""
        self.calls += 1
        made = pb.FunctionCall(
            call_id=call.get("id", f"call_{self.calls}"),
            name=call["name"],
            arguments=call["arguments"],
        )
        updated = pb.AgentSessionEvent.ToolExecutionUpdated
        await self.event(tool_execution_updated=updated(started=updated.Started(function_call=made)))
        await self.ran(made, call.get("output", "ok"), call.get("is_error", False))

    async def ran(self, made, output: str, is_error: bool = False) -> None:
        told = pb.FunctionCallOutput(call_id=made.call_id, name=made.name, output=output, is_error=is_error)
        executed = pb.AgentSessionEvent.FunctionToolsExecuted(function_calls=[made], function_call_outputs=[told])
        await self.event(function_tools_executed=executed)

    async def host_call(self, call: Json) -> None:
        """A tool that asks the suite's over HTTP; the session reports it, too."""
        self.calls += 1
        made = pb.FunctionCall(call_id=f"call_{self.calls}", name=call["name"], arguments=call["arguments"])
        output = await asyncio.to_thread(post, call["name"], call["arguments"])
        self.note(answers=[*self.seen["answers"], output])
        await self.ran(made, output)

    async def raw(self, text: str) -> None:
        self.writer.write(text.encode("latin-1"))
        await self.writer.drain()

    async def tells_key(self, _) -> None:
        """What no agent should do: its key in an error and on its standard error."""
        key = os.environ["VOICEBENCH_AGENT_KEY"]
        print(f"401 for {key}", file=sys.stderr, flush=True)
        await self.error(f"no quota for {key}, recoverable=False")

    async def tells_address(self, _) -> None:
        """The address of the tools, as an HTTP client's exceptions have it: in an error, and in the last line."""
        url = os.environ["VOICEBENCH_TOOLS_URL"]
        await self.error(f"ClientError: {url}/tools/search_flights recoverable=True")
        print(f"ClientError: cannot connect to {url}/tools/search_flights", file=sys.stderr, flush=True)
        os._exit(3)

    async def dies(self, status: int) -> None:
        print("ValueError: planted", file=sys.stderr, flush=True)
        os._exit(status)

    async def crashes(self, _) -> None:
        """The agent's own code raises: its session ends, and its process stays where the script says so."""
        crash_job()
        self.writer.close()

    async def hangs_up(self, _) -> None:
        self.writer.close()

    async def resets(self, _) -> None:
        """Hang up as a process does that has not read all that came."""
        linger = struct.pack("ii", 1, 0)
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.writer.transport.abort()


def post(name: str, arguments: str) -> str:
    url = f"{os.environ['VOICEBENCH_TOOLS_URL']}/tools/{name}"
    request = urllib.request.Request(url, arguments.encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return response.read().decode()


def stage_voice(kind: str) -> np.ndarray:
    """24 kHz; loaded where a script asks for it alone."""
    import stage

    return stage.voice(kind)


def tone(seconds: float) -> np.ndarray:
    at = np.arange(round(seconds * RATE_HZ))
    return (6000 * np.sin(2 * np.pi * 220 * at / RATE_HZ)).astype("<i2")


async def talk(script: Console, file: Path, host: str, port: int) -> None:
    """One connection, until it ends or the process is asked to."""
    reader, writer = await asyncio.open_connection(host, port)
    if script.end == "leaves":
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, reader.feed_eof)
    agent = Agent(script, file, reader, writer)
    if script.start == "garbage":
        await agent.raw("GET / HTTP/1.1\r\n\r\n")
    if script.start == "hangs_up":
        writer.close()
    else:
        await agent.run()


def main() -> None:
    """Be the agent that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m livekit.agents")
    parser.add_argument("command", choices=["console"])
    parser.add_argument("entrypoint", type=Path)
    parser.add_argument("--connect-addr", required=True)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    file = Path(os.environ.get("CONSOLE_AGENT_SCRIPT", options.entrypoint))
    script = Console(**json.loads(file.read_text()))
    host, _, port = options.connect_addr.rpartition(":")
    if script.lock:
        lock = Path(script.lock).open("w")  # noqa: SIM115 - as long as the process lives
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("held")
        lock.flush()
    begin(script)
    asyncio.run(talk(script, file, host, int(port)))
    if script.end == "stays":
        forever()


def begin(script: Console) -> None:
    """What goes wrong before anybody dials."""
    if script.end == "stays":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if script.start == "crashes":
        raise RuntimeError("planted at the start")
    if script.start == "crashes_job":
        crash_job()
    if script.start in ("never_dials", "crashes_job"):
        forever()


def crash_job() -> None:
    """What a process of livekit-agents writes when the agent's own code raises; it runs on."""
    print("ERROR livekit.agents unhandled exception while running the job task", file=sys.stderr)
    print("KeyError: 'planted'", file=sys.stderr)
    print('DEBUG livekit.agents shutting down job task {"reason": "job crashed"}', file=sys.stderr, flush=True)


def forever() -> None:
    """Until it is killed."""
    threading.Event().wait()
