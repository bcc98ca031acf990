"""The virtual loudspeaker: what a listener hears of audio that comes faster than it plays."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.audio import BLOCK_TICKS, RATE_HZ
from pytest_voicebench.playback import Listener, Loudspeaker


def tone(length, value=1000):
    return np.full(length, value, np.int16)


def test_chunks_that_arrive_early_play_one_after_another():
    speaker = Loudspeaker()
    speaker.queue("a", tone(100, 1), 10)
    speaker.queue("a", tone(50, 2), 20)
    track = speaker.track(200)
    assert (track[:10] == 0).all()
    assert (track[10:110] == 1).all()
    assert (track[110:160] == 2).all()
    assert speaker.end_ticks == 160


def test_a_late_chunk_leaves_silence():
    speaker = Loudspeaker()
    speaker.queue("a", tone(10, 1), 0)
    speaker.queue("a", tone(10, 2), 50)
    track = speaker.track(60)
    assert (track[10:50] == 0).all()
    assert (track[50:60] == 2).all()


def test_a_clear_removes_what_would_play_at_that_moment_or_later_and_says_what_was_heard():
    speaker = Loudspeaker()
    speaker.queue("a", tone(100), 0)
    speaker.queue("b", tone(100), 0)
    assert speaker.clear(130) == {"b": 30}
    track = speaker.track(300)
    assert (track[:130] == 1000).all()
    assert (track[130:] == 0).all()
    assert [c.heard_ticks for c in speaker.chunks(300)] == [100, 30]


def test_after_a_clear_new_audio_plays_at_once():
    speaker = Loudspeaker()
    speaker.queue("a", tone(1000), 0)
    speaker.clear(100)
    speaker.queue("b", tone(10, 7), 120)
    assert [(c.item_id, c.start_ticks) for c in speaker.chunks(500)] == [("a", 0), ("b", 120)]
    assert (speaker.track(130)[120:130] == 7).all()


def test_a_clear_of_an_empty_queue_cuts_nothing_and_is_none():
    speaker = Loudspeaker()
    speaker.queue("a", tone(10), 0)
    assert speaker.clear(50) == {}
    assert speaker.clears_ticks == []
    assert speaker.heard_ticks("a", 1000) == 10


def test_two_clears_never_give_heard_samples_back():
    speaker = Loudspeaker()
    speaker.queue("a", tone(100), 0)
    speaker.clear(40)
    speaker.clear(60)
    assert speaker.heard_ticks("a", 1000) == 40


def test_heard_ends_with_the_conversation():
    speaker = Loudspeaker()
    speaker.queue("a", tone(100), 0)
    assert [c.heard_ticks for c in speaker.chunks(70)] == [70]


def test_a_reply_longer_than_the_first_buffer_is_kept_whole():
    speaker = Loudspeaker()
    speaker.queue("a", tone(100 * RATE_HZ, 5), 0)
    assert (speaker.track(100 * RATE_HZ) == 5).all()


STEPS = st.tuples(st.sampled_from(["queue", "clear"]), st.integers(0, 400), st.integers(1, 300))


@given(st.lists(STEPS, min_size=1, max_size=12))
def test_every_sample_heard_is_one_that_was_received_and_never_two_at_once(steps):
    speaker, now = Loudspeaker(), 0
    for number, (kind, pause, length) in enumerate(steps, start=1):
        now += pause
        if kind == "queue":
            speaker.queue(str(number), tone(length, number), now)
        else:
            speaker.clear(now)
    chunks = speaker.chunks(10_000)
    track = speaker.track(10_000)
    for chunk in chunks:
        assert chunk.start_ticks >= chunk.received_ticks
        assert 0 <= chunk.heard_ticks <= chunk.length_ticks
        assert int((track == int(chunk.item_id)).sum()) == chunk.heard_ticks
    assert int((track != 0).sum()) == sum(c.heard_ticks for c in chunks)


def hear(listener, start, blocks, value=3000):
    for block in range(blocks):
        listener.hear(tone(BLOCK_TICKS, value), (start + block) * BLOCK_TICKS)


def test_a_listener_notes_onset_and_end_and_ignores_pauses_under_300_ms():
    listener = Listener()
    hear(listener, 10, 5)
    hear(listener, 15 + 14, 5)  # 280 ms later
    assert listener.onset_ticks == 10 * BLOCK_TICKS
    assert listener.last_heard_ticks == 34 * BLOCK_TICKS
    hear(listener, 34 + 15, 1)  # 300 ms later
    assert listener.onset_ticks == 49 * BLOCK_TICKS


def test_a_listener_hears_nothing_below_minus_50_dbfs():
    listener = Listener()
    hear(listener, 0, 5, value=103)  # -50.04 dBFS
    assert listener.onset_ticks is None
    hear(listener, 5, 1, value=104)  # -49.97 dBFS
    assert listener.onset_ticks == 5 * BLOCK_TICKS


def test_sound_that_would_play_after_the_end_is_counted_and_not_kept():
    """Hours of it at once take neither samples nor rows."""
    speaker = Loudspeaker(most_ticks=RATE_HZ)
    hour = np.full(RATE_HZ // 2, 7, np.int16)
    for _ in range(7200):
        speaker.queue("long", hour, 0)
    assert speaker.end_ticks == 3600 * RATE_HZ
    assert speaker.beyond_ticks == 3599 * RATE_HZ
    assert len(speaker._track) <= 31 * RATE_HZ
    assert len(speaker.chunks(RATE_HZ)) == 3
    assert sum(c.heard_ticks for c in speaker.chunks(RATE_HZ)) == RATE_HZ
    assert speaker.received_ticks("long") == 3600 * RATE_HZ
    assert speaker.heard_ticks("long", RATE_HZ) == RATE_HZ
    assert speaker.track(RATE_HZ).tolist() == [7] * RATE_HZ


def test_a_clear_makes_room_where_sound_was_queued_beyond_the_end():
    speaker = Loudspeaker(most_ticks=100)
    speaker.queue("a", np.full(500, 1, np.int16), 0)
    speaker.queue("b", np.full(500, 1, np.int16), 0)
    assert speaker.clear(40) == {"a": 40, "b": 0}
    assert speaker.beyond_ticks == 0
    assert speaker.queue("c", np.full(20, 2, np.int16), 50) == 50
    assert speaker.track(100).tolist() == [1] * 40 + [0] * 10 + [2] * 20 + [0] * 30
