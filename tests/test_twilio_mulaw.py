"""The mu-law codec against ITU-T G.711's table 2a, written out from its intervals, and its laws."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.agents.twilio.mulaw import decode_mulaw, encode_mulaw

INTERVALS = [(15, 2), (16, 4), (16, 8), (16, 16), (16, 32), (16, 64), (16, 128), (16, 256)]
"""G.711 table 2a, columns 1 and 2: how many intervals of which size follow the first one, which reaches from 0 to 1."""


def table_2a():
    """Decision values x(n) and, by decoder output number, the quantized values y(n); both for 14-bit samples."""
    decisions, outputs = [0, 1], [0]
    for count, size in INTERVALS:
        for _ in range(count):
            outputs.append(decisions[-1] + size // 2)
            decisions.append(decisions[-1] + size)
    return decisions, outputs


def coded(*samples):
    return list(encode_mulaw(np.array(samples, np.int16)))


def test_the_table_is_that_of_the_standard():
    decisions, outputs = table_2a()
    assert (len(outputs), decisions[-1]) == (128, 8159)
    assert [outputs[n] for n in (0, 1, 15, 16, 31, 32, 63, 64, 79, 80, 95, 96, 111, 112, 127)] == [
        *(0, 2, 30, 33, 93, 99, 471, 495, 975, 1023, 1983, 2079, 3999, 4191, 8031),
    ]


def test_every_byte_stands_for_the_value_of_the_standard_in_16_bits():
    _, outputs = table_2a()
    positive = decode_mulaw(bytes(0xFF - n for n in range(128)))
    negative = decode_mulaw(bytes(0x7F - n for n in range(128)))
    assert list(positive) == [4 * value for value in outputs]
    assert list(negative) == [-4 * value for value in outputs]


def test_every_sample_gets_the_interval_that_it_lies_in():
    decisions, _ = table_2a()
    for number in range(128):
        low, high = 4 * decisions[number], min(4 * decisions[number + 1], 32_768) - 1
        assert coded(low, high) == [0xFF - number] * 2
        assert number == 0 or coded(-low, -high) == [0x7F - number] * 2
    assert coded(32_767, -32_768, 0) == [0x80, 0x00, 0xFF]


def test_the_first_bytes_of_known_sound():
    assert coded(0, 3, 4, 8, 100, -100, 1000, -1000, 8000, 20000) == [
        *(0xFF, 0xFF, 0xFE, 0xFE, 0xF2, 0x72, 0xCE, 0x4E, 0xA0, 0x8C),
    ]


def test_it_decodes_as_the_c_library_of_python_did():
    audioop = pytest.importorskip("audioop", reason="audioop left Python with 3.13")
    every = bytes(range(256))
    assert decode_mulaw(every).tobytes() == audioop.ulaw2lin(every, 2)
    samples = np.arange(0, 32_768).astype(np.int16)
    assert encode_mulaw(samples) == audioop.lin2ulaw(samples.tobytes(), 2)
    negative = np.arange(-32_768, 0, 4).astype(np.int16)  # between them audioop rounds away from zero
    assert encode_mulaw(negative) == audioop.lin2ulaw(negative.tobytes(), 2)


@given(st.binary())
def test_what_was_decoded_encodes_to_itself_but_for_the_negative_zero(encoded):
    assert encode_mulaw(decode_mulaw(encoded)) == encoded.replace(b"\x7f", b"\xff")


@given(st.integers(-32_635, 32_635))
def test_a_sample_is_changed_by_at_most_half_of_its_interval(sample):
    decisions, _ = table_2a()
    size = next(4 * (high - low) for low, high in pairwise(decisions) if abs(sample) < 4 * high)
    (heard,) = decode_mulaw(encode_mulaw(np.array([sample], np.int16))).astype(int)
    assert abs(heard - sample) <= (size // 2 if abs(sample) >= 4 else 3)


@given(st.lists(st.integers(-32_768, 32_767), min_size=2))
def test_louder_stays_louder_and_the_sign_stays(samples):
    heard = decode_mulaw(encode_mulaw(np.array(sorted(samples), np.int16)))
    assert list(heard) == sorted(heard)
    assert all(int(h) * s >= 0 for h, s in zip(heard, sorted(samples), strict=True))
