"""OpenAI's Live API: a model that listens and speaks all the time, and hands tasks to another one with tools."""

from pytest_voicebench.agents.openai_live.agent import GptLive as GptLive
