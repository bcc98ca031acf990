"""Ultravox: a call that is created over HTTP and held over a WebSocket of sound and messages."""

from pytest_voicebench.agents.ultravox.agent import Ultravox as Ultravox
