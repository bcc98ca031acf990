"""What a session is in the middle of: a pure machine from the server's messages to our events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_voicebench.agents.gemini_live.models import Calling
from pytest_voicebench.agents.gemini_live.sound import Sound
from pytest_voicebench.agents.gemini_live.spelling import camel_cased, seconds
from pytest_voicebench.agents.gemini_live.turns import AgentTurns, UserTurns
from pytest_voicebench.agents.gemini_live.usage import usage_counts
from pytest_voicebench.agents.play_head import PlayHead
from pytest_voicebench.agents.protocol import (
    UNREPORTED,
    AgentAudio,
    AgentEvent,
    Fault,
    ToolCall,
    ToolCancelled,
    ToolResult,
    Transcript,
    TurnEnd,
    Usage,
)
from pytest_voicebench.agents.reading import NotAudio, part, parts, text

Json = Any
Event = dict[str, Json]


@dataclass(slots=True)
class _Unpriced:
    """Counts turns without usage. It may come with a turn's end, before or after it; all of one turn are one."""

    turns: int = 0
    _in_turn: bool = False
    _is_told: bool = True

    def began(self) -> None:
        """The agent says or calls something: a new turn, unless one goes on."""
        if not self._in_turn:
            self._in_turn, self._is_told = True, False
            self.turns += 1

    def told(self) -> None:
        """Usage came: that of the latest turn."""
        if not self._is_told:
            self._is_told = True
            self.turns -= 1

    def over(self) -> None:
        """The turn is complete."""
        self._in_turn = False


class SessionState:
    """Follows one session through all its sockets. `take` gives our events.

    A message may hold several things, and a turn several parts: all are read. Calls of one message are one response,
    which ends with it, so that they are answered together.
    """

    def __init__(self, *, now_s: Callable[[], float], calling: Calling) -> None:
        self._now_s = now_s
        self._calling = calling
        self._agent = AgentTurns()
        self._user = UserTurns(now_s)
        self._sound = Sound()
        self._head = PlayHead()
        self._responses = 0
        self._waiting: dict[str, bool] = {}  # calls without an answer; whether they have an id of the server's
        self._told: list[tuple[str, str, Json]] = []  # all calls that were not taken back
        self._generating = False
        self._unpriced = _Unpriced()
        self._cut = False  # interrupted, and the turn not yet complete
        self._user_waits = False
        self._handle_is_fresh = False
        self.handle: str | None = None
        self.leaves_at_s: float | None = None

    @property
    def idle(self) -> bool:
        """Whether the agent neither replies nor waits for a tool."""
        return not (self._generating or self._waiting)

    @property
    def resumable(self) -> bool:
        """Whether all that was said and done is in the handle: the user waits for nothing, nor does the agent."""
        return self.idle and self._handle_is_fresh and not self._user_waits

    @property
    def unreported(self) -> dict[str, float]:
        """The turns that were begun, and of which no usage has come; empty where there are none."""
        return {UNREPORTED: float(self._unpriced.turns)} if self._unpriced.turns else {}

    def take(self, raw: Event) -> list[AgentEvent]:
        """What a message means; what is unknown in it means nothing."""
        event = camel_cased(raw)
        found: list[AgentEvent] = []
        if isinstance(activity := event.get("voiceActivity"), dict) and activity.get("voiceActivityType") in _STARTS:
            self._user.end()
        if "serverContent" in event:
            found += self._content(part(event, "serverContent"))
        if "toolCall" in event:
            found += self._called(parts(part(event, "toolCall"), "functionCalls"))
        if "toolCallCancellation" in event:
            found += self._cancelled(part(event, "toolCallCancellation").get("ids"))
        if counts := usage_counts(part(event, "usageMetadata")):
            self._unpriced.told()
            found.append(Usage(counts=counts))
        if "sessionResumptionUpdate" in event:
            self._resumption(part(event, "sessionResumptionUpdate"))
        if "goAway" in event:
            self.leaves_at_s = self._now_s() + (seconds(part(event, "goAway").get("timeLeft")) or 0.0)
        return found

    def answered(self, results: Sequence[ToolResult]) -> tuple[list[ToolResult], frozenset[str]]:
        """Those that are still waited for, and which of them the server gave no id."""
        wanted = [result for result in results if result.call_id in self._waiting]
        unnamed = frozenset(r.call_id for r in wanted if not self._waiting.pop(r.call_id))
        return wanted, unnamed

    def moved(self) -> None:
        """The session goes on in another socket."""
        self.leaves_at_s = None
        self._generating = self._cut = self._handle_is_fresh = False

    def user_spoke(self) -> None:
        """The user is heard: a handle from before does not know of it, and he expects a reply."""
        self._user_waits, self._handle_is_fresh = True, False

    def _content(self, content: Event) -> list[AgentEvent]:
        found = self._heard(part(content, "inputTranscription"))
        for piece in parts(part(content, "modelTurn"), "parts"):
            if "inlineData" in piece:
                found += self._spoken(part(piece, "inlineData"))
        if words := text(part(content, "outputTranscription"), "text"):
            found.append(Transcript(speaker="agent", text=words, item_id=self._agent.words(), delta=True))
        if content.get("interrupted") is True:
            found += self._interrupted()
        if content.get("turnComplete") is True:
            found += self._completed()
        if content.get("interactionStatus") == "IN_PROGRESS":  # it goes on by itself, also after a complete turn
            self._generating = True
        elif content.get("interactionStatus") == "IDLE":
            self._generating = False
        return found

    def _heard(self, transcription: Event) -> list[AgentEvent]:
        words, found = text(transcription, "text"), []
        if words:
            found = [Transcript(speaker="user", text=words, item_id=self._user.words(), delta=True)]
        if transcription.get("finished") is True:
            self._user.end()
        return list(found)

    def _spoken(self, data: Event) -> list[AgentEvent]:
        mime_type = text(data, "mimeType")
        if not mime_type.startswith("audio/"):
            return []
        self._began()
        if not self._agent.is_open:
            self._sound = Sound()
        item_id = self._agent.sound()
        try:
            audio = self._sound.read(data.get("data"), mime_type)
        except NotAudio as flaw:
            return [Fault(kind="infrastructure", message=f"serverContent.modelTurn: {flaw}")]
        if not len(audio.samples):
            return []
        self._head.add(audio.duration_s, self._now_s())
        return [AgentAudio(item_id=item_id, audio=audio)]

    def _began(self) -> None:
        self._generating = True
        self._unpriced.began()
        self._user_waits = self._handle_is_fresh = False
        self._user.reply_began()

    def _interrupted(self) -> list[AgentEvent]:
        self._cut, self._generating = True, False
        self._agent.cut()
        self._user.turn_over()
        return [*self._head.clear(self._now_s())]

    def _completed(self) -> list[AgentEvent]:
        """The turn is over; one that was cut had its end before, and the user has begun the next."""
        self._agent.stop()
        if not self._cut:
            self._user.turn_over()
            self._user_waits = False
        self._cut = self._generating = False
        self._unpriced.over()
        return [TurnEnd()]

    def _called(self, calls: list[Event]) -> list[AgentEvent]:
        if not calls:
            return []
        self._began()
        self._responses += 1
        response_id, found = f"calls_{self._responses}", list[AgentEvent]()
        for number, call in enumerate(calls):
            call_id, args = text(call, "id"), call.get("args", {})
            key, arguments = call_id or f"{response_id}_{number}", args if isinstance(args, dict | str) else {}
            made = (key, text(call, "name"), arguments)
            if made not in self._told:  # else it is sent again, and answered only once
                self._told.append(made)
                self._waiting[key] = bool(call_id)
            found.append(ToolCall(call_id=key, name=made[1], arguments=arguments, response_id=response_id))
        if self._calling == "blocking":
            self._agent.stop()
        return [*found, TurnEnd(response_id=response_id)]

    def _cancelled(self, ids: Json) -> list[AgentEvent]:
        taken = tuple(i for i in ids if isinstance(i, str)) if isinstance(ids, list) else ()
        for call_id in taken:
            self._waiting.pop(call_id, None)
        self._told = [made for made in self._told if made[0] not in taken]
        return [ToolCancelled(call_ids=taken)] if taken else []

    def _resumption(self, update: Event) -> None:
        """A session that cannot be resumed now keeps its last handle, which is better than none."""
        handle = text(update, "newHandle")
        self._handle_is_fresh = bool(handle) and update.get("resumable") is True
        if self._handle_is_fresh:
            self.handle = handle


_STARTS = ("ACTIVITY_START", "VOICE_ACTIVITY_TYPE_ACTIVITY_START")
