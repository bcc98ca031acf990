"""Run as a script: runs a command for as long as whoever started it lives, then ends its whole process group.

`keeper.py COMMAND...` with a pipe as standard input. When the pipe closes, because its other end was closed or its
owner died in whatever way, every process of this group is killed. Ends with the command's status. Standard library
only: it runs isolated, before anything is installed that could fail.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading


def main(command: list[str]) -> int:
    """Run the command and give its status, 128 + n where signal n ended it."""
    for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, lambda *_: None)  # not SIG_IGN, which the command would inherit
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    threading.Thread(target=_end_with_starter, daemon=True).start()
    status = child.wait()
    return status if status >= 0 else 128 - status


def _end_with_starter() -> None:
    while os.read(0, 4096):  # not sys.stdin, whose lock a waiting thread would hold when the command has ended
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
