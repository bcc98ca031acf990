"""How what the model says reaches the user: text in sentences that are spoken, or sound that is played as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from pytest_voicebench.agents.protocol import Fault, Transcript
from pytest_voicebench.agents.reading import NotAudio
from pytest_voicebench.agents.refusals import Unreachable
from pytest_voicebench.agents.turn_based.history import Reply, Sentence
from pytest_voicebench.agents.turn_based.sentences import SentenceSplitter
from pytest_voicebench.agents.turn_based.speaking import LONGEST_S, Emit, Loudspeaker
from pytest_voicebench.agents.turn_based.spoken_answers import SoundPieces

Json = Any


class Delivery(Protocol):
    """Takes one response of the model, part by part."""

    @property
    def length(self) -> int:
        """Characters of text so far."""

    def take(self, part: dict[str, Json]) -> None:
        """The next part of the message. Raises Unreachable for what cannot be delivered."""

    def end(self, *, called: bool) -> None:
        """The message is complete; `called`: it calls tools."""


class InSentences:
    """Text is cut into sentences, which `say` takes as soon as they are complete.

    What holds neither letter nor digit (an emoji, a line of dashes) cannot be said, and is left out: no service of
    speech owes a sound for it.
    """

    def __init__(self, reply: Reply, item_ids: Iterator[str], say: Callable[[Sentence], None]) -> None:
        self._reply = reply
        self._item_ids = item_ids
        self._say = say
        self._splitter = SentenceSplitter()
        self.length = 0

    def take(self, part: dict[str, Json]) -> None:
        """Text; anything else is passed over."""
        text = _text(part.get("content"))
        self.length += len(text)
        self._said(self._splitter.feed(text))

    def end(self, *, called: bool) -> None:
        """The last sentence has no other one after it."""
        self._said(self._splitter.rest())

    def _said(self, texts: Sequence[str]) -> None:
        for text in texts:
            if not any(character.isalnum() for character in text):
                continue
            sentence = Sentence(item_id=next(self._item_ids), text=text)
            self._reply.sentences.append(sentence)
            self._say(sentence)


class InSound:
    """Sound is played as it comes; its words are the transcript that comes with it, or the text beside it.

    A whole answer is one sentence to the history: which words a piece of sound says is not told.
    """

    def __init__(
        self,
        reply: Reply,
        item_id: str,
        loudspeaker: Loudspeaker,
        emit: Emit,
        broken: Callable[[str], Unreachable],
    ) -> None:
        self._sentence = Sentence(item_id=item_id, text="")
        reply.sentences.append(self._sentence)
        self._loudspeaker = loudspeaker
        self._emit = emit
        self._broken = broken
        self._pieces = SoundPieces()

    @property
    def length(self) -> int:
        """Characters of text so far."""
        return len(self._sentence.text)

    def take(self, part: dict[str, Json]) -> None:
        """Words, sound, or both. Raises Unreachable for sound that is none, or has no end."""
        sound = part.get("audio")
        sound = sound if isinstance(sound, dict) else {}
        words = _text(part.get("content")) + _text(sound.get("transcript"))
        if words:
            self._sentence.text += words
            said = Transcript(speaker="agent", text=words, item_id=self._sentence.item_id, delta=True)
            self._emit(said)
        if sound.get("data"):
            self._play(sound["data"])

    def _play(self, data: Json) -> None:
        try:
            audio = self._pieces.read(data)
        except NotAudio as flaw:
            raise self._broken(str(flaw)) from None
        if len(audio.samples):
            self._loudspeaker.play(self._sentence, audio)
        if self._sentence.sent_s > LONGEST_S:
            raise self._broken(f"more than {LONGEST_S:.0f} s of sound for one answer")

    def end(self, *, called: bool) -> None:
        """Words without sound were not said; where that is all there is, the agent is silent by its server's fault."""
        self._sentence.complete = True
        if self._sentence.sent_s:
            return
        self._sentence.cut(0.0)
        if self._sentence.text and not called:
            self._emit(Fault(kind="infrastructure", message=f"no sound came for {self._sentence.text[:80]!r}"))


def _text(value: Json) -> str:
    """A text, or the texts of a list of content parts, as some servers give them; thoughts are of another type."""
    if isinstance(value, list):
        return "".join(_text(p.get("text")) for p in value if isinstance(p, dict) and p.get("type") == "text")
    return value if isinstance(value, str) else ""
