"""Finds the agent's speech in a process of its own: the detector stops every thread of the one it runs in.

It holds the interpreter for 1.7 ms at a time, and each of the 5,000 blocks a second that a hundred conversations send
lets it in. `python -m pytest_voicebench.speech_aside` is the other process; it ends with its standard input.
"""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np

from pytest_voicebench.audio import Samples
from pytest_voicebench.conversation import Conversation, Span
from pytest_voicebench.speech import detect_agent_speech, detect_speech

_LENGTH = struct.Struct("<q")
_NICE = 5  # whoever measures goes first


class SpeechAside:
    """Detects one conversation after another. Close it when done; what is asked for afterwards is detected here.

    The process is started when it is first needed. Where it cannot be, or has died, speech is detected in this one.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lost = False
        self._one_at_a_time = threading.Lock()

    def detect_speech(self, conversation: Conversation) -> Conversation:
        """What `speech.detect_speech` gives."""
        if conversation.recording is not None:
            with self._one_at_a_time:
                spans = self._asked(conversation.recording.agent)
            if spans is not None:
                return replace(conversation, agent_speech=spans)
        return detect_speech(conversation)

    def close(self) -> None:
        """End the process, in the middle of its work too."""
        self._lost = True
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()

    def _asked(self, samples: Samples) -> tuple[Span, ...] | None:
        """The other process's answer; None where it gives none."""
        if self._lost:
            return None
        try:
            process = self._process = self._process or _started()
            assert process.stdin is not None
            assert process.stdout is not None
            _write(process.stdin, samples.tobytes())
            bounds = np.frombuffer(_read(process.stdout), np.int64).reshape(-1, 2)
        except (OSError, ValueError, EOFError):  # it was killed, or a sandbox allows no process
            self._lost = True
            return None
        return tuple(Span(start_ticks=int(a), end_ticks=int(b)) for a, b in bounds)


def _started() -> subprocess.Popen[bytes]:
    """It finds this package wherever this process found it. Nobody wants its complaints: the work is then done here."""
    path = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
    )


def _write(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(_LENGTH.pack(len(data)))
    pipe.write(data)
    pipe.flush()


def _read(pipe: IO[bytes]) -> bytes:
    """Raises EOFError at the end."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    data = pipe.read(length)
    if len(data) < length:
        raise EOFError
    return data


def main() -> None:
    """Answer every track of samples with the bounds of its speech, until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(_NICE)
    with suppress(EOFError, BrokenPipeError):
        while True:
            samples = np.frombuffer(_read(sys.stdin.buffer), np.int16)
            bounds = [(span.start_ticks, span.end_ticks) for span in detect_agent_speech(samples)]
            _write(sys.stdout.buffer, np.array(bounds, np.int64).tobytes())


if __name__ == "__main__":
    main()
