"""LiveKit agents: somebody's own in a process of its own, and our own small one for each hosted system."""

from pytest_voicebench.agents.livekit.agent import LiveKit as LiveKit
from pytest_voicebench.agents.livekit.via import CascadedViaLiveKit as CascadedViaLiveKit
from pytest_voicebench.agents.livekit.via import Gemini25ViaLiveKit as Gemini25ViaLiveKit
from pytest_voicebench.agents.livekit.via import Gemini31ViaLiveKit as Gemini31ViaLiveKit
from pytest_voicebench.agents.livekit.via import Gemini38ViaLiveKit as Gemini38ViaLiveKit
from pytest_voicebench.agents.livekit.via import GptRealtimeViaLiveKit as GptRealtimeViaLiveKit
from pytest_voicebench.agents.livekit.via import GrokViaLiveKit as GrokViaLiveKit
from pytest_voicebench.agents.livekit.via import UltravoxViaLiveKit as UltravoxViaLiveKit
