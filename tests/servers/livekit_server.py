"""A real livekit-server and a real worker of livekit-agents, each a process that ends with its block.

The server is the binary at VOICEBENCH_LIVEKIT_SERVER, on loopback alone; its ports are free ones. Its clients need an
interface that is not loopback (libwebrtc takes no other), though nothing leaves the machine.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pytest_voicebench.agents.livekit import keeper

KEY = "voicebench-key"
SECRET = "planted-secret-of-thirty-two-characters"
READY_S = 120.0


@dataclass(frozen=True)
class Running:
    """A process that has said that it is ready."""

    url: str
    process: subprocess.Popen

    def kill(self) -> None:
        """End the whole group at once."""
        os.killpg(self.process.pid, signal.SIGKILL)


@contextmanager
def livekit_server(binary: str) -> Iterator[Running]:
    """A server, ready for rooms."""
    with ExitStack() as held:
        port, udp = (_free(held, kind) for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM))
    rtc = {
        "udp_port": udp,
        "tcp_port": 0,
        "node_ip": "127.0.0.1",
        "use_external_ip": False,
        "enable_loopback_candidate": True,
        "interfaces": {"includes": ["lo"]},
        "ips": {"includes": ["127.0.0.1/32"]},
    }
    config = {"port": port, "bind_addresses": ["127.0.0.1"], "keys": {KEY: SECRET}, "rtc": rtc}
    with _process([binary, "--config-body", json.dumps(config)], "starting LiveKit server") as process:
        yield Running(f"ws://127.0.0.1:{port}", process)


@contextmanager
def worker(python: str, entry: Path, url: str) -> Iterator[Running]:
    """A worker, registered. Development mode: a busy machine refuses no job."""
    command = [python, "-m", "livekit.agents", "start", str(entry), "--dev", "--log-format", "json"]
    given = ["--url", url, "--api-key", KEY, "--api-secret", SECRET]
    with _process([*command, *given], "registered worker") as process:
        yield Running(url, process)


def _free(held: ExitStack, kind: int) -> int:
    taken = held.enter_context(socket.socket(socket.AF_INET, kind))
    taken.bind(("127.0.0.1", 0))
    return taken.getsockname()[1]


@contextmanager
def _process(command: list[str], ready: str) -> Iterator[subprocess.Popen]:
    kept = [sys.executable, "-I", keeper.__file__, *command]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(kept, text=True, start_new_session=True, **pipes)
    too_late = threading.Timer(READY_S, process.kill)
    too_late.start()
    said = []
    try:
        for line in process.stdout:
            said.append(line)
            if ready in line:
                break
        else:
            raise AssertionError(f"{command[0]} did not start: {''.join(said[-20:])}")
        too_late.cancel()
        threading.Thread(target=process.stdout.read, daemon=True).start()  # else its pipe fills, and it waits
        yield process
    finally:
        too_late.cancel()
        process.stdin.close()  # the keeper ends the group
        process.wait(timeout=READY_S)
