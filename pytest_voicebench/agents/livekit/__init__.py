"""LiveKit agents: somebody's own in a process of its own, and our own small one for each hosted system."""

from pytest_voicebench.agents.livekit.agent import LiveKit as LiveKit
