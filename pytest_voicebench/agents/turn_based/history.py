"""The conversation as the chat model is told it: what was heard, what was said aloud, calls and their results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_voicebench.agents.protocol import ToolResult
from pytest_voicebench.agents.turn_based.streamed_calls import WrittenCall

Json = Any
Message = dict[str, Json]

CHARACTERS_PER_S = 15.0
"""How fast speech is taken to be where its whole length is not known, since it was cut while it was made."""


@dataclass(slots=True, kw_only=True)
class Sentence:
    """A piece of a reply that is spoken on its own. `heard_share` is how much of it the user heard, or will hear."""

    item_id: str
    text: str
    sent_s: float = 0.0
    complete: bool = False
    broken_off: bool = False
    heard_share: float = 1.0

    @property
    def whole_s(self) -> float:
        """Its length; an estimate where not all of it was made."""
        return self.sent_s if self.complete else max(self.sent_s, len(self.text) / CHARACTERS_PER_S)

    def cut(self, seconds: float) -> None:
        """No more than this much of it was heard."""
        share = seconds / self.whole_s if self.whole_s else 0.0
        self.heard_share = min(self.heard_share, max(0.0, share))

    @property
    def heard_text(self) -> str:
        """The words that were heard, by their share of the sentence's length."""
        if self.heard_share >= 1.0:
            return self.text
        words = self.text.split()
        return " ".join(words[: int(len(words) * self.heard_share)])


@dataclass(slots=True)
class Reply:
    """One response of the model: what it says, and what it calls."""

    sentences: list[Sentence] = field(default_factory=list)
    calls: list[WrittenCall] = field(default_factory=list)
    results: dict[str, str] = field(default_factory=dict)

    @property
    def heard_text(self) -> str:
        """What was heard of it."""
        return " ".join(text for s in self.sentences if (text := s.heard_text))

    @property
    def waiting(self) -> bool:
        """Whether a call has no result yet."""
        return any(call.call_id not in self.results for call in self.calls)

    def messages(self) -> list[Message]:
        """The message, and one for each result; none where nothing was heard and called."""
        text = self.heard_text
        if not self.calls:
            return [{"role": "assistant", "content": text}] if text else []
        calls = [
            {"id": c.call_id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in self.calls
        ]
        told: list[Message] = [{"role": "assistant", "content": text or None, "tool_calls": calls}]
        told += [
            {"role": "tool", "tool_call_id": c.call_id, "content": self.results.get(c.call_id, "")} for c in self.calls
        ]
        return told


class History:
    """What was said so far. Calls that were made stay, whatever is cut around them."""

    def __init__(self, instructions: str) -> None:
        self._instructions = instructions
        self._entries: list[Message | Reply] = []
        self._call_ids: set[str] = set()

    def heard(self, content: str | list[Json]) -> None:
        """The user said something: as text, or as the parts of a message."""
        self._entries.append({"role": "user", "content": content})

    def told(self, text: str) -> None:
        """A text that nobody said."""
        self._entries.append({"role": "system", "content": text})

    def begin(self) -> Reply:
        """A response begins."""
        reply = Reply()
        self._entries.append(reply)
        return reply

    def called(self, reply: Reply, calls: Sequence[WrittenCall]) -> None:
        """A response calls. An id that is empty or was used before is replaced: results go by ids."""
        for call in calls:
            if not call.call_id or call.call_id in self._call_ids:
                call.call_id = f"call_{len(self._call_ids) + 1}_{call.call_id}".rstrip("_")
            self._call_ids.add(call.call_id)
        reply.calls = list(calls)

    def answered(self, results: Sequence[ToolResult]) -> None:
        """Results of calls; one that nobody waits for is passed over."""
        for result in results:
            for reply in self._replies():
                if any(c.call_id == result.call_id for c in reply.calls):
                    reply.results.setdefault(result.call_id, json.dumps(result.result, ensure_ascii=False))

    def played(self, item_id: str, seconds: float) -> None:
        """So much of a sentence was heard before it was cut."""
        for sentence in self._sentences():
            if sentence.item_id == item_id:
                sentence.cut(seconds)

    def stop(self) -> list[Sentence]:
        """Nothing more will be made of the sentences that are not complete; those that were sent in part."""
        unfinished = [s for s in self._sentences() if not (s.complete or s.broken_off)]
        for sentence in unfinished:
            sentence.broken_off = True
            sentence.cut(sentence.sent_s)
        return [s for s in unfinished if s.sent_s]

    @property
    def waiting(self) -> bool:
        """Whether a result is due."""
        return any(reply.waiting for reply in self._replies())

    @property
    def settled(self) -> bool:
        """Whether the last word is a reply that was heard at least in part, so that nothing is to be answered."""
        last = self._entries[-1] if self._entries else None
        return last is None or (isinstance(last, Reply) and not last.calls and bool(last.heard_text))

    def messages(self) -> list[Message]:
        """All of it, for the next request; no result may be due.

        Parts that follow parts are one message: models that hear often take no two of the user in a row.
        """
        told: list[Message] = [{"role": "system", "content": self._instructions}]
        for entry in self._entries:
            messages = entry.messages() if isinstance(entry, Reply) else [entry]
            if _in_parts(told[-1]) and messages and _in_parts(messages[0]):
                told[-1] = {"role": "user", "content": [*told[-1]["content"], *messages[0]["content"]]}
            else:
                told += messages
        return told

    def _replies(self) -> list[Reply]:
        return [entry for entry in self._entries if isinstance(entry, Reply)]

    def _sentences(self) -> list[Sentence]:
        return [sentence for reply in self._replies() for sentence in reply.sentences]


def _in_parts(message: Message) -> bool:
    return message["role"] == "user" and isinstance(message["content"], list)
