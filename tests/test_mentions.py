"""Spoken facts: word by word, numbers in one form, never by substring."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.loading.expectations import SPOKEN_SIGNS
from pytest_voicebench.metrics.mentions import is_mentioned, tokens


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ("1,000", "one thousand"),  # C12
        ("1,000", "That is 1000 dollars."),  # C12
        ("1000", "about 1,000."),
        ("10", "ten dollars"),
        ("$90", "90 dollars"),
        ("90 dollars", "It costs $90."),
        ("90", "ninety dollars"),
        ("450", "four hundred and fifty"),
        ("450", "$450.00"),
        ("450.5", "450.50"),
        ("1500", "1.5k"),
        ("Milan", "to MILAN, on time"),
        ("Milan", "Milan's airport"),
        ("New York", "flights to New York are"),
        ("FL123", "flight F L 1 2 3"),
        ("FL123", "flight FL-123"),
        ("FL123", "F L one two three"),
        ("FL123", "fl one twenty three"),
        ("June 3", "on June third"),
        ("June 3rd", "on June 3"),
        ("June 21", "June twenty-first"),
        ("two flights", "I found 2 flights"),
        ("café", "the cafe\u0301 there"),
        ("5%", "five percent"),
        ("00123", "zero zero one two three"),
        ("ships today", "Your order ships today"),
    ],
)
def test_a_fact_was_said(fact: str, said: str) -> None:
    assert is_mentioned(fact, said), (tokens(fact), tokens(said))


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        ("10", "100 dollars"),  # C12
        ("10", "one hundred"),
        ("10", "10.5"),
        ("10", "at 10:30"),
        ("10", "order A10"),
        ("10", "10,000"),
        ("100", "one hundred five"),
        ("1,000", "one, and thousand more reasons"),
        ("$90", "90 euros"),
        ("Milan", "Milano"),
        ("Milan", ""),
        ("", "anything"),
        ("New York", "York New"),
        ("FL123", "FL1234"),
        ("FL123", "FL 12"),
        ("June 3", "June thirteenth"),
        ("June 3", "June 30"),
        ("art", "party"),
        ("20", "twenty one"),
        ("00123", "one twenty three"),
    ],
)
def test_a_fact_was_not_said(fact: str, said: str) -> None:
    assert not is_mentioned(fact, said), (tokens(fact), tokens(said))


@given(n=st.integers(0, 10**6), m=st.integers(0, 10**6))
def test_a_number_is_found_only_where_it_stands(n: int, m: int) -> None:
    assert is_mentioned(str(n), f"it is {m:,} now") == (n == m)


@given(text=st.text(max_size=40))
def test_any_text_with_a_word_in_it_mentions_itself(text: str) -> None:
    assert is_mentioned(text, text) == bool(tokens(text))


@given(st.text())
def test_a_fact_that_leaves_no_words_is_the_one_that_a_suite_may_not_ask_for(text: str) -> None:
    assert bool(tokens(text)) == any(c.isalnum() or c in SPOKEN_SIGNS for c in text)
