"""Written figures are read as people read them, and words are left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.matchers.numerals import read_number
from pytest_voicebench.spelled_out import spelled_out


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("flight", "flight"),
        ("one-bedroom", "one-bedroom"),
        ("don't", "don't"),
        ("7", "seven"),
        ("450", "four hundred fifty"),
        ("1,200", "one thousand two hundred"),
        ("1200", "one thousand two hundred"),
        ("1995", "nineteen ninety five"),
        ("2026", "twenty twenty six"),
        ("2005", "two thousand five"),
        ("00123", "zero zero one two three"),
        ("3.50", "three point five zero"),
        ("$90", "ninety dollars"),
        ("$1", "one dollar"),
        ("$1,200.50", "one thousand two hundred dollars fifty cents"),
        ("£5.01", "five pounds one penny"),
        ("15%", "fifteen percent"),
        ("3rd", "third"),
        ("21st", "twenty first"),
        ("30th", "thirtieth"),
        ("12th", "twelfth"),
        ("FL123", "F L one two three"),
        ("A-7", "A seven"),
        ("10:30", "ten thirty"),
        ("9:05pm", "nine oh five p m"),
        ("7:00", "seven"),
        ("&", "and"),
    ],
)
def test_the_usual_reading(written: str, said: str) -> None:
    assert spelled_out(written) == said


@given(st.integers(0, 10**12 - 1))
def test_a_number_read_back_is_the_number(value: int) -> None:
    assert read_number(spelled_out(f"{value:,}")) == value
