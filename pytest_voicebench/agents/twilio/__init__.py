"""Any phone agent: we play Twilio and dial its WebSocket; messages, marks, mu-law, the voice URL and its TwiML."""

from pytest_voicebench.agents.twilio.agent import Twilio as Twilio
from pytest_voicebench.agents.twilio.agent import build as build
