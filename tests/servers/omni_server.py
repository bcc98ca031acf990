"""Doubles of servers for models that listen and speak at once, by dialect, on 127.0.0.1.

`python -m tests.servers.omni_server AGENT [SUITE.yaml]` runs the one of vLLM-Omni in a process of its own with one of
this package's agents behind the wire, as `openai_server` does.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from tests.servers.omni_map import SUBPROTOCOL, MapSession
from tests.servers.omni_sglang import SglangSession
from tests.servers.omni_vllm import VllmSession
from tests.servers.openai_script import Script
from tests.servers.openai_server import main, openai_process, openai_server

SESSIONS: dict[str, dict[str, Any]] = {
    "vllm-omni": {"session_type": VllmSession},
    "sglang-omni": {"session_type": SglangSession},
    "map": {"session_type": MapSession, "subprotocols": [SUBPROTOCOL]},
}


def omni_server(dialect: str, script: Script | None = None, open_line: Any = None) -> AbstractContextManager[Any]:
    """A double in a thread, until the block ends."""
    return openai_server(script, open_line, **SESSIONS[dialect])


def omni_process(agent: str, suite: Path | None = None) -> AbstractContextManager[int]:
    """The port of vLLM-Omni's double in a process of its own."""
    return openai_process(agent, suite, module=__name__)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]) if sys.argv[2:] else None, **SESSIONS["vllm-omni"]))
