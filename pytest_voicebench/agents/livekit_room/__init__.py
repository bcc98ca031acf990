"""The agent `livekit-room`: any LiveKit agent that is registered with a server, called in a room of its own."""

from pytest_voicebench.agents.livekit_room.agent import LiveKitRoom as LiveKitRoom
