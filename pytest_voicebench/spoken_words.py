"""A text as the words a speaker says, each with the sounds an aligner looks for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from pytest_voicebench.spelled_out import spelled_out

_UNSPOKEN = re.compile(r"[0-9$%&@#+=*/<>€£]")
_EDGES = ' \t\n\r.,;:!?"“”„«»()[]{}…–—_|~'
_SOUNDS = re.compile(
    "igh|tch|ch|sh|th|ph|ck|ng|qu|wh|kn|wr|ee|ea|oo|ou|ow|ai|ay|oa|oi|oy|au|aw|er|ar|or|([bcdfglmnprstz])\\1|[a-z]"
)
_SPELLINGS = (
    "igh=AY tch=CH ch=CH sh=SH th=TH ph=F ck=K ng=NG qu=K_W wh=W kn=N wr=R ee=IY ea=IY oo=UW ou=AW ow=OW ai=EY "
    "ay=EY oa=OW oi=OY oy=OY au=AO aw=AO er=ER ar=AA_R or=AO_R a=AE b=B c=K d=D e=EH f=F g=G h=HH i=IH j=JH k=K "
    "l=L m=M n=N o=OW p=P q=K r=R s=S t=T u=AH v=V w=W x=K_S y=IY z=Z"
)
_PHONES = dict(pair.split("=") for pair in _SPELLINGS.split())


class UnspokenError(ValueError):
    """A text holds something whose sound is not clear; the text says which word and what to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenWord:
    """A word as written, without punctuation, and the parts it is spoken in ("one-bedroom": two), lower case."""

    text: str
    parts: tuple[str, ...]


def spoken_words(text: str) -> tuple[SpokenWord, ...]:
    """The words of a text in order; punctuation alone is no word.

    Raises UnspokenError for digits and signs, which have more than one reading ("1800" may be "eighteen hundred"), for
    letters that are not Latin, and for a text without words.
    """
    words = []
    for raw in text.replace("’", "'").split():
        written = raw.strip(_EDGES)
        if _UNSPOKEN.search(written):
            raise UnspokenError(f'"{written}" has more than one reading; write it as it is spoken ("eighteen hundred")')
        parts = tuple(p.strip("'") for p in re.split(r"[^\w']+", _plain(written)) if p.strip("'"))
        for part in parts:
            if not re.fullmatch(r"[a-z']+", part):
                raise UnspokenError(f'"{written}" cannot be read as English; write it in Latin letters as it sounds')
        if parts:
            words.append(SpokenWord(text=written.strip("-"), parts=parts))
    if not words:
        raise UnspokenError("the text has no words")
    return tuple(words)


def words_as_read(text: str) -> tuple[SpokenWord, ...]:
    """As `spoken_words`, for texts nobody wrote for reading: figures and signs in their most usual reading.

    Words keep their punctuation. Raises UnspokenError for letters that are not Latin, and for a text without words.
    """
    words = []
    for raw in text.replace("’", "'").split():
        said = spelled_out(raw.strip(_EDGES))
        if any(c.isalnum() for c in said):
            words.append(SpokenWord(text=raw, parts=tuple(p for word in spoken_words(said) for p in word.parts)))
    if not words:
        raise UnspokenError("the text has no words")
    return tuple(words)


def pronunciation(word: str, known: Callable[[str], str | None]) -> tuple[str, bool]:
    """The word's sounds (ARPAbet, by spaces) and whether a dictionary, `known`, has them; else they are a guess.

    A guess is good enough to place a word between known ones.
    """
    found = known(word)
    if found:
        return found, True
    stem = known(word.removesuffix("'s")) if word.endswith("'s") else None
    if stem:
        return f"{stem} Z", True
    letters = word.replace("'", "")
    spelled = letters[:-1] if len(letters) > 3 and letters.endswith("e") and letters[-2] not in "aeiou" else letters
    sounds = (match.group() for match in _SOUNDS.finditer(spelled))
    return " ".join(_PHONES.get(sound, _PHONES[sound[0]]).replace("_", " ") for sound in sounds), False


def _plain(word: str) -> str:
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))
