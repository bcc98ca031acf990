"""Open-weight models that listen and speak at once, behind servers with dialects of the Realtime API."""

from pytest_voicebench.agents.omni.agent import MiniCpmO as MiniCpmO
from pytest_voicebench.agents.omni.agent import NemotronVoiceChat as NemotronVoiceChat
