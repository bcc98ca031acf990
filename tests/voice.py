"""A voice for tests: vowels of a few formants in syllables, made by arithmetic, which Silero takes for speech."""

import numpy as np
from numpy.typing import NDArray

from pytest_voicebench.audio import RATE_HZ, Samples

_VOWELS = [(730, 1090, 2440), (270, 2290, 3010), (570, 840, 2410), (530, 1840, 2480), (300, 870, 2240)]
SYLLABLE_S = 0.2


def spoken(seconds: float, *, peak: int = 12_000, pitch_hz: float = 120.0) -> Samples:
    """Someone who speaks without a pause, at 24 kHz. The first and last 5 ms are audible."""
    n = round(seconds * RATE_HZ)
    at = np.arange(n) / RATE_HZ
    phase = 2 * np.pi * np.cumsum(pitch_hz * (1 + 0.06 * np.sin(2 * np.pi * 1.3 * at))) / RATE_HZ
    syllable = (at / SYLLABLE_S).astype(int) % len(_VOWELS)
    voice = np.zeros(n)
    for harmonic in range(1, int(5_000 / pitch_hz)):
        weights = np.array([_gain(harmonic * pitch_hz, vowel) for vowel in _VOWELS])
        voice += weights[syllable] / harmonic**0.3 * np.sin(harmonic * phase)
    voice *= 0.55 + 0.45 * np.sin(2 * np.pi * at / SYLLABLE_S)
    samples: Samples = np.rint(voice / np.abs(voice).max() * peak).astype(np.int16)
    return samples


def silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * RATE_HZ), np.int16)


def with_noise(samples: Samples, snr_db: float, seed: int = 1) -> Samples:
    """The sound with pink noise, so far below the RMS of its audible part."""
    spectrum = np.fft.rfft(np.random.default_rng(seed).normal(size=len(samples)))
    spectrum /= np.sqrt(np.maximum(np.arange(len(spectrum)), 20))
    noise = np.fft.irfft(spectrum, len(samples))
    audible = samples[np.abs(samples.astype(int)) > 50].astype(float)
    noise *= _rms(audible) / _rms(noise) * 10 ** (-snr_db / 20)
    return np.clip(np.rint(samples + noise), -32768, 32767).astype(np.int16)


def _rms(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _gain(hz: float, vowel: tuple[int, int, int]) -> float:
    return sum(1 / (1 + ((hz - formant) / 90) ** 2) / (1 + i) for i, formant in enumerate(vowel))
