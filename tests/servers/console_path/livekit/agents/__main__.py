"""Stands in for livekit-agents where PYTHONPATH names the folder above `livekit`."""

from tests.servers.console_agent import main

main()
