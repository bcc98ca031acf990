"""What a stream is in the middle of: a pure machine from the agent's messages to our events, and to what is sent."""

from __future__ import annotations

from collections.abc import Callable

from pytest_voicebench.agents.protocol import AgentAudio, AgentEvent, Fault, PlaybackClear
from pytest_voicebench.agents.twilio.messages import Call, Clear, Dialect, Event, Mark, Media, Unusable
from pytest_voicebench.agents.twilio.mulaw import RATE_HZ
from pytest_voicebench.agents.twilio.playout import Playout
from pytest_voicebench.audio import Audio, Samples

REPLY_PAUSE_S = 0.3
"""Sound that comes later than this after the last one is another reply; sooner, the agent only sends unevenly."""


class StreamState:
    """Follows one stream. `take` gives our events; `take_outgoing` gives what must be sent, in order.

    The protocol names no replies: sound after a clear, or after REPLY_PAUSE_S of silence, begins a new item. A mark
    goes back with the first block of the user's voice after its time, so at most one block late.
    """

    def __init__(self, *, dialect: Dialect, call: Call, now_s: Callable[[], float]) -> None:
        self._dialect = dialect
        self._call = call
        self._now_s = now_s
        self._playout = Playout()
        self._outgoing = dialect.opening(call)
        self._number = 1
        self._chunk = 0
        self._samples = 0
        self._replies = 0
        self._cut = False
        self._remarks: set[str] = set()

    def take_outgoing(self) -> list[Event]:
        """What is to be sent now; each message is given once."""
        events, self._outgoing = self._outgoing, []
        return events

    def hear(self, samples: Samples) -> None:
        """Pass on a block of the user's voice, and the marks whose time has come."""
        self._chunk += 1
        start_ms = self._samples * 1000 // RATE_HZ
        self._samples += len(samples)
        self._outgoing.append(self._dialect.media(self._call, self._next(), self._chunk, start_ms, samples))
        self._echo_marks()

    def stop(self) -> None:
        """End the stream."""
        self._outgoing.append(self._dialect.stop(self._call, self._next()))

    def take(self, event: Event) -> list[AgentEvent]:
        """What a message means. An unknown one means nothing; one that is of no use is remarked on once a kind."""
        match self._dialect.meaning(self._call, event):
            case Media(samples=samples) if len(samples):
                return [self._said(samples)]
            case Mark(name=name):
                self._playout.mark(name, self._now_s())
                self._echo_marks()
            case Clear():
                self._cut = True
                self._playout.clear(self._now_s())
                self._echo_marks()
                return [PlaybackClear()]
            case Unusable(why=why) if why not in self._remarks:
                self._remarks.add(why)
                return [Fault(kind="agent", message=f"{why}: such messages are ignored")]
        return []

    def _said(self, samples: Samples) -> AgentAudio:
        now_s = self._now_s()
        if self._cut or self._playout.silent_for_s(now_s) >= REPLY_PAUSE_S:
            self._replies, self._cut = self._replies + 1, False
        self._playout.queue(len(samples) / RATE_HZ, now_s)
        return AgentAudio(item_id=f"reply_{self._replies}", audio=Audio(samples=samples, rate_hz=RATE_HZ))

    def _echo_marks(self) -> None:
        for name in self._playout.due(self._now_s()):
            self._outgoing.append(self._dialect.mark(self._call, self._next(), name))

    def _next(self) -> int:
        self._number += 1
        return self._number
