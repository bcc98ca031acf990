"""The agent `local`: hears audio, understands by rules, calls tools, speaks; on the CPU, without network or keys."""

from pytest_voicebench.agents.local.agent import LocalAgent

__all__ = ["LocalAgent"]
