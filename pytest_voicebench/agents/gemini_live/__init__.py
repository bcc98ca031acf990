"""Google's Gemini Live API: settings of its models, the state of a session, a line that outlives its sockets."""

from pytest_voicebench.agents.gemini_live.agent import Gemini25 as Gemini25
from pytest_voicebench.agents.gemini_live.agent import Gemini31 as Gemini31
from pytest_voicebench.agents.gemini_live.agent import Gemini38 as Gemini38
