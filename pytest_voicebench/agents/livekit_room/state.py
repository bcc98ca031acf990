"""What a conversation in a room is in the middle of: a pure machine from what arrives to our events."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_voicebench.agents.livekit.state import ConsoleState, Speech
from pytest_voicebench.agents.livekit_room.arrivals import Arrival, Heard, Sound, States, Told
from pytest_voicebench.agents.moshi.state import KEPT_S, is_loud
from pytest_voicebench.agents.protocol import AgentAudio, AgentEvent, Transcript
from pytest_voicebench.audio import RATE_HZ, Audio, Samples

if TYPE_CHECKING:
    from livekit.protocol.agent_pb.agent_session import AgentSessionMessage

_UP = ("listening", "thinking", "speaking")
"""States of an agent whose session has begun."""


@dataclass(slots=True, kw_only=True)
class RoomState(ConsoleState):
    """Follows one conversation. `take_arrival` gives our events; what the session says means what it does on a console.

    The track comes in real time, silence included; passed on, silence would be sound that waits to be played, so it is
    left out. A new speech begins with sound after KEPT_S of silence when the agent has stopped "speaking" since the
    last one began; a pause inside a speech parts nothing. Sound from before the conversation has begun is past: passed
    on, it would be heard after its time, and all that follows too.
    """

    heard: bool = False
    """Whether anybody receives the caller's track."""
    begun_s: float | None = None
    """When the first block of the user's sound was sent, by the clock of `now_s`; None before it."""
    _now: str = ""
    _by_session: bool = False
    _stopped: bool = False
    _sounds: bool = False
    _quiet_s: float = 0.0
    _told: set[str] = field(default_factory=set)

    @property
    def is_ready(self) -> bool:
        """Whether the agent listens, and the caller's sound reaches somebody."""
        return self.listening and self.heard

    def take_arrival(self, arrival: Arrival) -> list[AgentEvent]:
        """What it means; an unknown message means nothing."""
        match arrival:
            case Sound(samples=samples):
                return self._sound(samples)
            case Told(message=message):
                return self._message(message)
            case States(name=name) if not self._by_session:
                self._is_now(name)
            case Heard():
                self.heard = True
        return []

    def _message(self, message: AgentSessionMessage) -> list[AgentEvent]:
        if message.WhichOneof("message") != "event":  # sound comes by the track alone
            return []
        if message.event.WhichOneof("event") == "agent_state_changed":
            from livekit.protocol.agent_pb.agent_session import AgentState

            self._by_session = True
            state = message.event.agent_state_changed.new_state
            self._is_now(_name(state) if state in AgentState.values() else "")
            return []
        found = ConsoleState.take(self, message)  # no super(): a slotted dataclass is made twice
        return [self._extending(event) if isinstance(event, Transcript) else event for event in found]

    def _is_now(self, name: str) -> None:
        self.listening = self.listening or name in _UP
        self._stopped = self._stopped or (self._now == "speaking" and name != "speaking")
        self._now = name

    def _sound(self, samples: Samples) -> list[AgentEvent]:
        if not len(samples):
            return []
        if not is_loud(samples):
            self._quiet_s += len(samples) / RATE_HZ
            self._sounds = self._sounds and self._quiet_s <= KEPT_S
            if not self._sounds:
                return []
        else:
            if self._stopped and self._quiet_s > KEPT_S:
                self._end_speech()
            self._quiet_s, self._sounds = 0.0, True
        if not self._speeches or self._speeches[-1].ended:
            self._stopped = False
        item_id = self._current().item_id
        if self.begun_s is None or self.now_s() < self.begun_s:  # it may have waited until then
            return []
        return [AgentAudio(item_id=item_id, audio=Audio(samples=samples, rate_hz=RATE_HZ))]

    def _spoken(self) -> Speech | None:
        """The speech that a text belongs to: it is told at its end, so that is the latest one."""
        return self._speeches[-1] if self._speeches else None

    def _extending(self, text: Transcript) -> Transcript:
        """A second text of one speech goes after the first: replies that follow at once are one stretch of sound."""
        if text.speaker != "agent" or text.item_id is None:
            return text
        if text.item_id in self._told:
            return replace(text, text=f" {text.text}", delta=True)
        self._told.add(text.item_id)
        return text


def _name(state: int) -> str:
    from livekit.protocol.agent_pb.agent_session import AgentState

    return AgentState.Name(state).removeprefix("AS_").lower()
