"""The pipecat bot of tests/third_party in a process of its own, in its own environment."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

BOT = Path(__file__).parents[1] / "third_party" / "pipecat_bot.py"


@contextmanager
def pipecat_process(python: str, model_url: str):
    """The address of a bot that thinks at `model_url`."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    bot = subprocess.Popen(
        [python, str(BOT), model_url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    try:
        yield f"ws://127.0.0.1:{json.loads(bot.stdout.readline())['port']}/ws"
    finally:
        bot.stdin.close()
        bot.stdout.close()
        bot.wait(timeout=30)
