"""Speech is found where it is: to the sample in an agent's channel, within 100 ms in a person's room."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_voicebench import silero
from pytest_voicebench.audio import RATE_HZ, Audio, Samples, resample
from pytest_voicebench.audio_files import read_audio
from pytest_voicebench.conversation import Span
from pytest_voicebench.kept import Kept
from pytest_voicebench.room_tone import room_tone
from pytest_voicebench.speech import detect_agent_speech, detect_user_speech
from tests.shared_data import RECORDINGS, needs_recordings
from tests.voice import silence, spoken, with_noise


def seconds(spans: tuple[Span, ...]) -> list[tuple[float, float]]:
    return [(span.start_ticks / RATE_HZ, span.end_ticks / RATE_HZ) for span in spans]


def track(*pieces: float | Samples) -> Samples:
    """A channel of silences (seconds) and sounds."""
    return np.concatenate([silence(0.0), *(silence(p) if isinstance(p, int | float) else p for p in pieces)])


def user(samples: Samples) -> list[tuple[float, float]]:
    return seconds(detect_user_speech(Audio(samples=samples, rate_hz=RATE_HZ)))


def clicks(*, at_s: float, length_s: float = 3.0) -> Samples:
    """A mouse click: 8 ms of decaying noise, twice."""
    sound = silence(length_s).astype(float)
    burst = np.random.default_rng(1).normal(size=192) * np.exp(-np.arange(192) / 40) * 6000
    for start in (at_s, at_s + 0.08):
        sound[round(start * RATE_HZ) :][:192] += burst
    return sound.astype(np.int16)


def breath(seconds_: float) -> Samples:
    shape = np.sin(np.pi * np.linspace(0, 1, round(seconds_ * RATE_HZ)))
    return (np.random.default_rng(2).normal(size=len(shape)) * shape * 250).astype(np.int16)


@pytest.mark.parametrize(
    ("channel", "expected"),
    [
        (track(), []),
        (track(20.0), []),
        (track(1.0, spoken(2.0), 1.0), [(1.0, 3.0)]),
        (track(spoken(2.0)), [(0.0, 2.0)]),
        (track(1.0, spoken(1.0), 0.28, spoken(1.0), 1.0), [(1.0, 3.28)]),  # a gap under 0.30 s is merged
        (track(1.0, spoken(1.0), 0.32, spoken(1.0), 1.0), [(1.0, 2.0), (2.32, 3.32)]),
        (track(1.0, spoken(1.0), 2.6, spoken(1.0), 1.0), [(1.0, 2.0), (4.6, 5.6)]),
        (track(0.2, spoken(1.7), 8.6, spoken(2.0), 1.0), [(0.2, 1.9), (10.5, 12.5)]),  # a greeting, then the answer
        (track(1.0, spoken(0.4), 1.0), [(1.0, 1.4)]),  # mm-hm
        (track(1.0, spoken(0.09), 1.0), []),  # under 0.10 s
        (track(1.0, clicks(at_s=0.5), breath(0.8), 1.0), []),
    ],
)
def test_agent_speech_is_exact_between_digital_silences(channel: Samples, expected: list[tuple[float, float]]) -> None:
    found = seconds(detect_agent_speech(channel))
    assert len(found) == len(expected)
    for (start, end), (wanted_start, wanted_end) in zip(found, expected, strict=True):
        assert start == pytest.approx(wanted_start, abs=0.005)
        assert end == pytest.approx(wanted_end, abs=0.005)


def test_agent_speech_is_audible_from_minus_50_dbfs_on() -> None:
    for peak, audible in ((1500, True), (60, False)):
        assert bool(detect_agent_speech(track(1.0, spoken(2.0, peak=peak), 1.0))) == audible


def test_a_tone_is_not_speech() -> None:
    beep = (8000 * np.sin(2 * np.pi * 1000 * np.arange(RATE_HZ) / RATE_HZ)).astype(np.int16)
    assert detect_agent_speech(track(1.0, beep, 1.0)) == ()


@given(offset=st.integers(0, 3 * RATE_HZ), tail=st.integers(0, RATE_HZ))
@settings(max_examples=30, deadline=None)
def test_a_reply_has_the_same_spans_wherever_it_starts(offset: int, tail: int) -> None:
    reply = REPLY
    expected = detect_agent_speech(reply)
    found = detect_agent_speech(np.concatenate([np.zeros(offset, np.int16), reply, np.zeros(tail, np.int16)]))
    shifted = [Span(start_ticks=s.start_ticks + offset, end_ticks=s.end_ticks + offset) for s in expected]
    assert list(found) == shifted


REPLY = track(spoken(0.7), 0.4, spoken(1.1), 0.9, spoken(0.3))


def test_a_reply_heard_before_is_not_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[int] = []
    judge = silero._judged

    def counted(sound: Samples) -> silero.Bounds:
        judged.append(len(sound))
        return judge(sound)

    monkeypatch.setattr(silero, "_judged", counted)
    monkeypatch.setattr(silero, "_kept", Kept())
    detect_agent_speech(track(1.0, spoken(1.0), 5.0))
    assert len(judged) == 1
    detect_agent_speech(track(2.1234, spoken(1.0), 0.7, spoken(1.0)))
    assert len(judged) == 1
    detect_agent_speech(track(2.0, spoken(1.0, pitch_hz=150)))
    assert len(judged) == 2


def test_silence_is_never_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silero, "_judged", lambda _: pytest.fail("Silero ran on silence"))
    monkeypatch.setattr(silero, "_kept", Kept())
    assert detect_agent_speech(track(30.0)) == ()


def test_what_is_forgotten_first_is_what_was_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silero, "_kept", Kept(2))
    for pitch_hz in (100, 110, 100, 120):
        detect_agent_speech(spoken(0.5, pitch_hz=pitch_hz))
    monkeypatch.setattr(silero, "_judged", lambda _: pytest.fail("forgotten"))
    detect_agent_speech(spoken(0.5, pitch_hz=100))
    detect_agent_speech(spoken(0.5, pitch_hz=120))


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000, 44_100, 48_000])
def test_user_speech_is_found_at_any_rate_and_given_in_ticks(rate_hz: int) -> None:
    sound = track(1.0, spoken(2.0), 2.6, spoken(1.0), 1.0)  # 2.6 s inside a request is a pause, not its end
    found = seconds(detect_user_speech(resample(Audio(samples=sound, rate_hz=RATE_HZ), rate_hz)))
    assert [x for span in found for x in span] == pytest.approx([1.0, 3.0, 5.6, 6.6], abs=0.03)


@pytest.mark.parametrize("snr_db", [20, 10])
def test_one_utterance_in_noise_is_one_span(snr_db: int) -> None:
    found = user(with_noise(track(1.5, spoken(6.0), 1.5), snr_db))
    assert len(found) == 1
    assert found[0] == pytest.approx((1.5, 7.5), abs=0.15)


@pytest.mark.parametrize(
    "sound",
    [
        track(),
        track(2.0),
        track(0.01),
        room_tone(3, -45.0, 0, 10 * RATE_HZ),
        room_tone(3, -70.0, 0, 3 * RATE_HZ) + clicks(at_s=0.4),
        track(0.5, breath(0.8), 1.0),
    ],
)
def test_silence_rooms_clicks_and_breaths_are_not_speech(sound: Samples) -> None:
    assert user(sound) == []


def test_a_click_before_the_first_word_does_not_move_its_start() -> None:
    sound = track(1.2, spoken(2.0), 1.0)
    sound[: 3 * RATE_HZ] += clicks(at_s=1.0)
    assert user(sound)[0] == pytest.approx((1.2, 3.2), abs=0.03)


REFERENCE = {
    "ecommerce_02": (2.90, 12.30, [18.12]),
    "housing_18": (1.02, 16.87, [28.91]),
    "travel_10": (2.64, 16.88, [15.10, 21.57]),
}


@needs_recordings
@pytest.mark.parametrize("case", REFERENCE)
def test_a_real_users_end_is_within_100_ms_of_the_hand_reference(case: str) -> None:
    start, end, _ = REFERENCE[case]
    found = seconds(detect_user_speech(read_audio(RECORDINGS / case / "input.wav").audio))
    assert found[0][0] == pytest.approx(start, abs=0.05)  # so the clicks and the breath of housing_18 are not speech
    assert found[-1][1] == pytest.approx(end, abs=0.1)


@needs_recordings
@pytest.mark.parametrize("case", REFERENCE)
@pytest.mark.parametrize("snr_db", [20, 10])
def test_a_real_users_end_in_noise_is_within_a_quarter_of_a_second(case: str, snr_db: int) -> None:
    start, end, _ = REFERENCE[case]
    audio = read_audio(RECORDINGS / case / "input.wav").audio
    noisy = Audio(samples=with_noise(audio.samples[: 20 * RATE_HZ], snr_db), rate_hz=audio.rate_hz)
    found = seconds(detect_user_speech(noisy))
    assert found[0][0] == pytest.approx(start, abs=0.25)
    assert found[-1][1] == pytest.approx(end, abs=0.25)


@needs_recordings
@pytest.mark.parametrize("case", REFERENCE)
def test_a_real_agents_onsets_are_within_30_ms_of_the_hand_reference(case: str) -> None:
    channel = read_audio(RECORDINGS / case / "merged_nova_sonic.wav", channel="right").audio.samples
    found = seconds(detect_agent_speech(channel))
    turns = [start for i, (start, _) in enumerate(found) if i == 0 or start - found[i - 1][1] > 1.0]
    assert turns == pytest.approx(REFERENCE[case][2], abs=0.03)


@needs_recordings
def test_the_agent_of_travel_10_starts_while_the_user_speaks() -> None:
    folder = RECORDINGS / "travel_10"
    user_end = detect_user_speech(read_audio(folder / "input.wav").audio)[-1].end_ticks
    agent = detect_agent_speech(read_audio(folder / "merged_nova_sonic.wav", channel="right").audio.samples)
    assert (user_end - agent[0].start_ticks) / RATE_HZ == pytest.approx(1.78, abs=0.1)
