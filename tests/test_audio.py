"""Resampling keeps length and place; levels are what the definitions say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_voicebench.audio import Audio, Samples, StreamResampler, peak_dbfs, resample, rms_dbfs

RATES = [8_000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000, 96_000]


def noise(n: int, seed: int = 0) -> Samples:
    return np.random.default_rng(seed).integers(-8000, 8000, n).astype(np.int16)


@pytest.mark.parametrize("from_hz", RATES)
@pytest.mark.parametrize("to_hz", [8_000, 16_000, 24_000])
def test_ten_seconds_stay_ten_seconds(from_hz: int, to_hz: int) -> None:
    assert len(resample(Audio(samples=noise(from_hz * 10), rate_hz=from_hz), to_hz).samples) == to_hz * 10


@given(st.sampled_from(RATES), st.sampled_from(RATES), st.integers(0, 3000))
@settings(max_examples=60, deadline=None)
def test_the_length_is_rounded_to_the_nearest_sample(from_hz: int, to_hz: int, n: int) -> None:
    found = resample(Audio(samples=noise(n), rate_hz=from_hz), to_hz)
    assert len(found.samples) == round(n * to_hz / from_hz)
    assert found.samples.dtype == np.int16
    assert found.rate_hz == to_hz


@pytest.mark.parametrize(("from_hz", "to_hz"), [(48_000, 24_000), (24_000, 16_000), (8_000, 24_000), (44_100, 24_000)])
def test_a_burst_is_found_where_it_was_within_a_millisecond(from_hz: int, to_hz: int) -> None:
    sound = np.zeros(from_hz * 2, np.int16)
    sound[int(from_hz * 1.5) : int(from_hz * 1.6)] = noise(from_hz)[: int(from_hz * 1.6) - int(from_hz * 1.5)]
    loud = np.flatnonzero(np.abs(resample(Audio(samples=sound, rate_hz=from_hz), to_hz).samples.astype(int)) > 1000)
    assert loud[0] / to_hz == pytest.approx(1.5, abs=0.001)
    assert loud[-1] / to_hz == pytest.approx(1.6, abs=0.001)


def test_digital_silence_stays_digital_silence() -> None:
    assert not resample(Audio(samples=np.zeros(48_000, np.int16), rate_hz=48_000), 24_000).samples.any()


def test_full_scale_does_not_wrap_around() -> None:
    square = np.where(np.arange(48_000) // 50 % 2, 32767, -32768).astype(np.int16)
    found = resample(Audio(samples=square, rate_hz=48_000), 24_000).samples.astype(int)
    assert np.abs(np.diff(np.sign(found))).sum() / 2 == pytest.approx(959, abs=2)


def test_the_same_rate_changes_nothing() -> None:
    sound = noise(100)
    assert resample(Audio(samples=sound, rate_hz=24_000), 24_000).samples is sound


@given(
    st.sampled_from([(8_000, 24_000), (16_000, 24_000), (24_000, 16_000), (24_000, 24_000), (48_000, 24_000)]),
    st.lists(st.integers(0, 2000), max_size=8),
)
@settings(max_examples=60, deadline=None)
def test_pieces_joined_equal_the_whole(rates: tuple[int, int], lengths: list[int]) -> None:
    sound = noise(sum(lengths))
    stream = StreamResampler(*rates)
    for _ in range(2):  # the second round shows that flush leaves nothing behind
        cuts = np.split(sound, np.cumsum(lengths)[:-1]) if lengths else []
        joined = np.concatenate([*(stream.feed(piece) for piece in cuts), stream.flush()])
        np.testing.assert_array_equal(joined, resample(Audio(samples=sound, rate_hz=rates[0]), rates[1]).samples)


@pytest.mark.parametrize(
    ("samples", "rms", "peak"),
    [
        ([-32768] * 4, 0.0, 0.0),
        ([16384, -16384] * 4, -6.0206, -6.0206),
        ([16384, 0] * 4, -9.0309, -6.0206),
        ([0, 0, 0], -np.inf, -np.inf),
        ([], -np.inf, -np.inf),
        ([1], -90.309, -90.309),
    ],
)
def test_levels(samples: list[int], rms: float, peak: float) -> None:
    found = np.array(samples, np.int16)
    assert rms_dbfs(found) == pytest.approx(rms, abs=1e-3)
    assert peak_dbfs(found) == pytest.approx(peak, abs=1e-3)
