"""Words of an agent's voice: CPU seconds per second of speech. Run: `python -m benchmarks.words` (flite, both extras).

The track holds four replies of flite's, each followed by 6 s of silence; the third was cut in the middle.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.cpu_time import fastest_cpu_s
from pytest_voicebench import placed_words, recognised, silero
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.conversation import (
    AgentInfo,
    Chunk,
    Conversation,
    Recording,
    Transcribed,
    to_seconds,
)
from pytest_voicebench.speech import detect_speech
from tests.flite import say

_REPLIES = (
    "I found two flights to Milan on the third of June, and the first one leaves at nine in the morning.",
    "Your order will arrive on Monday. Is there anything else that I can do for you today?",
    "The apartment has two bedrooms and a balcony, and it costs fourteen hundred dollars a month.",
    "I have moved five hundred dollars from your savings account to your checking account.",
)
_GAP_S = 6.0
_ROUNDS = 3


def main() -> None:
    """Print the table."""
    held = detect_speech(_held())
    speech_s = sum(to_seconds(s.end_ticks - s.start_ticks) for s in held.agent_speech or ())
    print(f"{to_seconds(held.duration_ticks):.1f} s of audio, {speech_s:.1f} s of speech; CPU s per s of speech")
    bare = _without_texts(held)
    begin = time.process_time()
    recognised.with_recognised_words(bare, recognised.whisper_words)
    print(f"recognised, with loading the model: {(time.process_time() - begin):.2f} s in all")
    rows: tuple[tuple[str, Callable[[], object]], ...] = (
        ("speech detection", lambda: detect_speech(held)),
        ("recognised", lambda: recognised.with_recognised_words(bare, recognised.whisper_words)),
        ("aligned", lambda: placed_words.with_placed_words(held, placed_words.place_words)),
    )
    for name, work in rows:
        print(f"{name}, new:          {_cpu_s(work, new=True) / speech_s:.4f}")
        print(f"{name}, heard before: {_cpu_s(work, new=False) / speech_s:.4f}")


def _held() -> Conversation:
    """A conversation with an agent that said four things."""
    pieces, chunks, texts, at = [], [], [], 0
    for number, text in enumerate(_REPLIES):
        sound = say(text)
        heard = len(sound) // 2 if number == 2 else len(sound)
        item = f"reply-{number}"
        chunk = Chunk(item_id=item, received_ticks=at, start_ticks=at, length_ticks=len(sound), heard_ticks=heard)
        chunks.append(chunk)
        texts.append(Transcribed(speaker="agent", text=text, at_ticks=at, item_id=item, heard_text=text))
        pieces += [sound[:heard], np.zeros(round(_GAP_S * RATE_HZ), np.int16)]
        at += heard + round(_GAP_S * RATE_HZ)
    agent = np.concatenate(pieces)
    return Conversation(
        item_id="words",
        scenario_sha256="0" * 64,
        agent=AgentInfo(name="flite"),
        duration_ticks=len(agent),
        ended="settled",
        transcripts=tuple(texts),
        chunks=tuple(chunks),
        recording=Recording(user=np.zeros_like(agent), agent=agent),
    )


def _without_texts(held: Conversation) -> Conversation:
    return replace(held, transcripts=())


def _cpu_s(work: Callable[[], object], *, new: bool) -> float:
    """The fastest of some rounds; `new`: as if nothing had been heard before."""
    return fastest_cpu_s(
        work,
        rounds=_ROUNDS,
        forgetting=(silero._kept.clear, recognised._kept.clear, placed_words._kept.clear) if new else (),
    )


if __name__ == "__main__":
    main()
