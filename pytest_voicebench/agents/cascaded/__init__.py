"""A cascade of three services: speech to text, a chat model with tools, speech; our own turn detection around them."""

from pytest_voicebench.agents.cascaded.agent import Cascaded as Cascaded
