"""Room tone: the same samples wherever one starts, at the level asked for, on every machine."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_voicebench.audio import rms_dbfs
from pytest_voicebench.room_tone import room_tone

GOLDEN_START = [341, 302, 264, 238, 245, 201, 196, 175]
GOLDEN_SHA256 = "634e8939c30470a77b5ddf2291e17dccede60bb8253c48c8292b3f17f80534f5"


def test_the_samples_never_change() -> None:
    assert room_tone(7, -45.0, 0, 8).tolist() == GOLDEN_START
    assert hashlib.sha256(room_tone(7, -45.0, 0, 60_000).astype("<i2").tobytes()).hexdigest() == GOLDEN_SHA256


@given(st.integers(0, 2**70), st.integers(0, 100_000), st.lists(st.integers(0, 30_000), min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_blocks_joined_equal_the_whole(seed: int, start: int, lengths: list[int]) -> None:
    position, blocks = start, []
    for length in lengths:
        blocks.append(room_tone(seed, -50.0, position, length))
        position += length
    np.testing.assert_array_equal(np.concatenate(blocks), room_tone(seed, -50.0, start, sum(lengths)))


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000, 48_000])
@pytest.mark.parametrize("level_dbfs", [-80.0, -70.0, -57.3, -45.0, -20.0])
def test_the_level_is_within_half_a_decibel(level_dbfs: float, rate_hz: int) -> None:
    for seed in (1, 2):
        assert rms_dbfs(room_tone(seed, level_dbfs, 5_000, 10 * rate_hz, rate_hz)) == pytest.approx(level_dbfs, abs=0.5)


def test_seeds_are_independent_and_nothing_repeats() -> None:
    one, other = (room_tone(seed, -40.0, 0, 240_000).astype(float) for seed in (1, 2))
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.05
    assert abs(np.corrcoef(one[:120_000], one[120_000:])[0, 1]) < 0.05
    assert abs(one.mean()) < one.std() / 20


def test_it_is_a_rumble_and_not_a_hiss() -> None:
    power = np.abs(np.fft.rfft(room_tone(1, -40.0, 0, 240_000).astype(float))) ** 2
    low, high = power[: 10 * 1000].sum(), power[10 * 4000 :].sum()
    assert 10 < 10 * np.log10(low / high) < 30


def test_positions_before_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="no samples before 0"):
        room_tone(1, -50.0, -1, 10)


def test_no_samples_are_no_samples() -> None:
    assert room_tone(1, -50.0, 100, 0).dtype == np.int16
    assert len(room_tone(1, -50.0, 100, 0)) == 0


def test_what_was_given_out_can_be_changed_without_changing_the_noise() -> None:
    block = room_tone(1, -50.0, 0, 100)
    before = block.tolist()
    block += 5
    assert room_tone(1, -50.0, 0, 100).tolist() == before
