"""A text becomes the words that are spoken, or says what must be written out."""

import pytest

from pytest_voicebench.spoken_words import UnspokenError, pronunciation, spoken_words

KNOWN = {"rome": "R OW M", "find": "F AY N D"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Find me", [("Find", "find"), ("me", "me")]),
        (
            "  um, no wait…  to “Milan”!\n",
            [("um", "um"), ("no", "no"), ("wait", "wait"), ("to", "to"), ("Milan", "milan")],
        ),
        ("a one-bedroom flat", [("a", "a"), ("one-bedroom", "one bedroom"), ("flat", "flat")]),
        ("Bos- Boston", [("Bos", "bos"), ("Boston", "boston")]),
        ("so — well", [("so", "so"), ("well", "well")]),
        ("I’d say café", [("I'd", "i'd"), ("say", "say"), ("café", "cafe")]),
        ("'tis the dogs' one", [("'tis", "tis"), ("the", "the"), ("dogs'", "dogs"), ("one", "one")]),
    ],
)
def test_words_keep_their_spelling_and_lose_their_punctuation(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(word.text, " ".join(word.parts)) for word in spoken_words(text)] == expected


@pytest.mark.parametrize("text", ["under $100", "on June 3rd", "50 percent", "you & me", "a@b", "K-2"])
def test_what_has_several_readings_must_be_written_out(text: str) -> None:
    with pytest.raises(UnspokenError, match="write it as it is spoken"):
        spoken_words(text)


def test_other_scripts_are_refused_and_the_word_is_named() -> None:
    with pytest.raises(UnspokenError, match='"Москва" cannot be read'):
        spoken_words("to Москва please")


@pytest.mark.parametrize("text", ["", " \n", "... — !"])
def test_a_text_without_words_is_refused(text: str) -> None:
    with pytest.raises(UnspokenError, match="no words"):
        spoken_words(text)


@pytest.mark.parametrize(
    ("word", "phones", "is_known"),
    [
        ("rome", "R OW M", True),
        ("rome's", "R OW M Z", True),
        ("shuck", "SH AH K", False),
        ("quake", "K W AE K", False),
        ("dressing", "D R EH S IH NG", False),
        ("lar", "L AA R", False),
        ("xo'ti", "K S OW T IY".replace("IY", "IH"), False),
    ],
)
def test_unknown_words_get_a_guessed_sound(word: str, phones: str, is_known: bool) -> None:
    assert pronunciation(word, KNOWN.get) == (phones, is_known)
