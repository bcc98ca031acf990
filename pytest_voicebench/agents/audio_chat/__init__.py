"""A chat model that hears: the user's speech is part of the message; our own turn detection and voice around it."""

from pytest_voicebench.agents.audio_chat.agent import AudioChat as AudioChat
