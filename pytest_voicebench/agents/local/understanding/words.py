"""A transcript as tokens: words, numbers and punctuation, without fillers and stutters, with their general stems."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_voicebench.agents.local.understanding.wording import word_set

_TOKEN = re.compile(
    r"\.\.\.|…"
    r"|\d{4}-\d{2}-\d{2}"
    r"|\d{1,3}(?:,\d{3})+(?:\.\d+)?"
    r"|\d+(?:\.\d+)?k\b"
    r"|\d+\.\d+"
    r"|\d+(?:st|nd|rd|th)\b"
    r"|[A-Za-z]*\d+[A-Za-z\d]*"
    r"|[^\W\d_]+(?:['’][^\W\d_]+)*"
    r"|[$€£¥%#]|[.,?!;:\-–—/&]",
)

FILLERS = word_set("""
    um uh uhm umm erm er eh ah hmm hm mm mmm mhm huh like basically literally
    """)
"""Sounds and words that carry nothing; `like` is kept where it may be a verb (after a pronoun or `would`)."""

_PHRASE_FILLERS = (("you", "know"), ("i", "guess"), ("i", "think"), ("let", "me", "think"), ("let's", "see"))

_LEADING = word_set("to from at the a an my our with into")

_LIKE_KEEPERS = word_set("i you we they would i'd we'd you'd to do don't")

_ENDS = (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("ss", "ss"), ("us", "us"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One piece of the transcript. `low` is its lower-case form, `glued` says a hyphen joins it to the one before."""

    text: str
    low: str
    glued: bool = False

    @property
    def is_word(self) -> bool:
        """Starts with a letter or is made of letters and digits."""
        return self.text[0].isalnum()

    @property
    def is_punctuation(self) -> bool:
        """Not a word, a number or a currency sign."""
        return not self.is_word and self.text not in "$€£¥%#"

    @property
    def ends_sentence(self) -> bool:
        """A full stop, a question or an exclamation mark."""
        return self.text in ".?!;"

    @property
    def capital(self) -> bool:
        """Written with a capital letter."""
        return self.text[0].isupper()


def tokenize(text: str) -> list[Token]:
    """Tokens of a transcript in order; hyphens inside a word become the next token's `glued`."""
    tokens: list[Token] = []
    glued = False
    for found in _TOKEN.finditer(text.replace("’", "'")):
        piece = found.group()
        if piece in "-–—" and tokens and tokens[-1].is_word and text[found.end() : found.end() + 1].isalnum():
            glued = True
            continue
        low = piece.lower().removesuffix("'s") if piece.lower().endswith("'s") else piece.lower()
        if piece.lower() in ("let's", "it's", "that's", "what's", "where's", "here's", "he's", "she's", "driver's"):
            low = piece.lower()
        tokens.append(Token(text=piece, low=low, glued=glued))
        glued = False
    return _without_stutters(_without_hesitation(_without_fillers(_with_numbers_reheard(tokens))))


_REHEARD = {"to": "two", "too": "two", "do": "two", "due": "two", "you": "two", "free": "three", "for": "four"}
_COUNTED = word_set("bedroom bedrooms bed bath bathroom bathrooms room rooms person")
_COUNTED_OF = word_set("them those these")


def _with_numbers_reheard(tokens: Sequence[Token]) -> list[Token]:
    """Number words where a recogniser wrote a word that sounds alike: "to bedroom", "put you of them"."""
    heard = list(tokens)
    for i, token in enumerate(tokens[:-1]):
        if token.low in _REHEARD and (_counts_something(tokens, i) or _stands_for_number(tokens, i)):
            number = _REHEARD[token.low]
            heard[i] = Token(text=number, low=number, glued=token.glued)
    return heard


def _counts_something(tokens: Sequence[Token], i: int) -> bool:
    """Before rooms or "of them", where no verb or preposition makes sense: "find me do bedroom", "put you of them"."""
    low, following = tokens[i].low, tokens[i + 1].low
    if following == "of":
        of_them = i + 2 < len(tokens) and tokens[i + 2].low in _COUNTED_OF and low != "free"
        return of_them or (low == "you" and token_before(tokens, i) in ("put", "add"))
    verbal = low in ("you", "do") and not _needs_object(tokens, i)
    return following in _COUNTED and not verbal and not _fits_before_noun(tokens, i)


def _stands_for_number(tokens: Sequence[Token], i: int) -> bool:
    """A preposition that nothing follows, where a number is due: "make it to, please", "at least do.", "wait, for,"."""
    after = tokens[i + 1]
    if tokens[i].low not in ("to", "too", "do", "for") or not (after.is_punctuation or after.low == "please"):
        return False
    return [t.low for t in tokens[max(0, i - 2) : i]] in _NUMBER_DUE


_NUMBER_DUE = (["make", "it"], ["at", "least"], ["make", "that"], ["wait", ","], ["no", ","], ["no", "wait"])


def _needs_object(tokens: Sequence[Token], i: int) -> bool:
    return token_before(tokens, i) in ("me", "a", "the", "find", "of", "for", "show", "want", "need")


def token_before(tokens: Sequence[Token], i: int) -> str:
    """The word before token i in lower case; empty at the start."""
    return tokens[i - 1].low if i else ""


def _fits_before_noun(tokens: Sequence[Token], i: int) -> bool:
    """A preposition that may rightly stand there: "to bedrooms of my house" never follows a determiner or a verb."""
    return tokens[i].low in ("to", "for") and i > 0 and tokens[i - 1].low in ("the", "filter", "change", "set")


@functools.cache
def stem(word: str) -> str:
    """A word's rough base form: plural, -ing and -ed taken off. Only ever compared with other stems."""
    word = word.lower().removesuffix("'s")
    if word.endswith("ing") and len(word) > 5:
        return _undouble(word[:-3])
    if word.endswith("ed") and len(word) > 4 and not word.endswith("eed"):
        return _undouble(word[:-2])
    for end, base in _ENDS:
        if word.endswith(end):
            return (word[: -len(end)] + base).rstrip("e") or word
    if word.endswith("s") and len(word) > 3:
        word = word[:-1]
    return word.rstrip("e") if len(word) > 3 else word


def _undouble(base: str) -> str:
    if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz":
        base = base[:-1]
    return base.rstrip("e") if len(base) > 3 else base


def _without_fillers(tokens: Sequence[Token]) -> list[Token]:
    kept: list[Token] = []
    i = 0
    while i < len(tokens):
        width = _filler_at(tokens, i)
        if not width:
            kept.append(tokens[i])
            i += 1
            continue
        i += width
        if i < len(tokens) and tokens[i].text == "," and (not kept or kept[-1].is_punctuation):
            i += 1
    return kept


def _without_hesitation(tokens: Sequence[Token]) -> list[Token]:
    """Drops commas and dots that part a small word from what it leads to: "to, the courthouse"."""
    kept: list[Token] = []
    for token in tokens:
        if token.text in (",", "...", "…") and len(kept) > 1 and kept[-1].low in _LEADING and kept[-2].is_word:
            continue
        kept.append(token)
    return kept


def _filler_at(tokens: Sequence[Token], i: int) -> int:
    low = tokens[i].low
    if low == "oh" and tokens[i + 1 : i + 2] and tokens[i + 1].text == "," and (i == 0 or tokens[i - 1].ends_sentence):
        return 1
    if low in FILLERS:
        return 0 if low == "like" and i and tokens[i - 1].low in _LIKE_KEEPERS else 1
    for phrase in _PHRASE_FILLERS:
        if tuple(t.low for t in tokens[i : i + len(phrase)]) == phrase:
            after = tokens[i + len(phrase)] if i + len(phrase) < len(tokens) else None
            before_ok = i == 0 or tokens[i - 1].is_punctuation
            if before_ok and (after is None or after.is_punctuation):
                return len(phrase)
    return 0


def _without_stutters(tokens: Sequence[Token]) -> list[Token]:
    """Drops a repeat of up to four words, with or without a comma between: "I want to, I want to see"."""
    kept = list(tokens)
    i = 0
    while i < len(kept):
        for width in (4, 3, 2, 1):
            gap = 1 if i + width < len(kept) and kept[i + width].text in (",", "...", "…", "-") else 0
            first = kept[i : i + width]
            again = kept[i + width + gap : i + 2 * width + gap]
            if len(again) == width and _same_words(first, again):
                del kept[i : i + width + gap]
                i -= 1
                break
        i += 1
    return kept


def _same_words(first: Sequence[Token], again: Sequence[Token]) -> bool:
    words = [t.low for t in first]
    if words != [t.low for t in again] or any(t.is_punctuation for t in first):
        return False
    # Digits, single letters and number words may rightly be said twice.
    return all(t.low.isalpha() and len(t.low) > 1 and t.low not in _REPEATABLE for t in first) or (
        len(words) > 2 and (any(len(t.low) > 1 and t.low.isalpha() and t.low not in _REPEATABLE for t in first))
    )


_REPEATABLE = word_set("""
    zero oh one two three four five six seven eight nine double triple very bye
    """)
