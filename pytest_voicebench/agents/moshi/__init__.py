"""Moshi and its kin: one stream of sound each way, all the time, with the model's own text beside it."""

from pytest_voicebench.agents.moshi.agent import Moshi as Moshi
from pytest_voicebench.agents.moshi.agent import PersonaPlex as PersonaPlex
