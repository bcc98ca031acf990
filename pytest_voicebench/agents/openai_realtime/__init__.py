"""OpenAI's Realtime API and what speaks like it: settings, dialects, the state of a session, the line."""

from pytest_voicebench.agents.openai_realtime.agent import GptRealtime as GptRealtime
from pytest_voicebench.agents.openai_realtime.agent import Grok as Grok
