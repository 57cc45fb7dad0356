"""Sentences in capitals: the model reads them in small letters, and their translation is written in capitals.

Models have seldom seen them. The functions have no side effects.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from service.engine.text.short_strings import ShortString, Words
from service.engine.values.value import Value

CAPITAL_SHARE = 0.9  # of the letters of a sentence in capitals
LONGEST_ACRONYM = 5
_CAPITALS = re.compile(r"[A-ZÀ-ÖØ-Þ]{2}|[A-ZÀ-ÖØ-Þ]\W[A-ZÀ-ÖØ-Þ]")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_ENGLISH_NAMES = """
monday tuesday wednesday thursday friday saturday sunday january february april june july august september
october november december africa african america american asia asian australia australian austria austrian
belgium belgian berlin boston brazil britain british canada canadian china chinese christmas dutch easter
egypt england english europe european france french german germany greece greek india indian ireland irish
israel italian italy japan japanese jewish john korea korean latin london mary mexico muslim paris poland
russia russian scotland spain spanish sweden swedish swiss switzerland texas tokyo tom turkey ukraine youtube
"""
_NAMES = frozenset(_ENGLISH_NAMES.split())
_SMALL_I = re.compile(r"\bi\b(?!\.)")


def may_be_respelled(text: str) -> bool:
    """Return whether a text may have such a sentence; other texts pay no more than this for it."""
    return _CAPITALS.search(text) is not None


def respelled(
    text: str, languages: tuple[str, str], tokenizer: Words, values: Sequence[Value] = ()
) -> ShortString | None:
    """Return how a sentence is read and written if it is respelled; None for any other.

    ``languages`` are those of the text and of its translation; ``values`` of the text are left alone.
    """
    protected = [(value.start, value.end) for value in values]
    words = [
        word
        for word in _WORD.finditer(text)
        if not any(word.start() < end and start < word.end() for start, end in protected)
    ]
    if not _is_in_capitals([word[0] for word in words], tokenizer):
        return None
    read = text
    for number, word in enumerate(words):
        read = read[: word.start()] + _small(word[0], number == 0, tokenizer) + read[word.end() :]
    if languages[0].partition("-")[0].lower() == "en":
        read = _SMALL_I.sub("I", read)
    if read == text:
        return None
    kept = tuple(value.written for value in values if not value.is_soft)
    return ShortString(text=text, read=read, replacements=(), capitals=True, kept=kept)


def _is_in_capitals(words: Sequence[str], tokenizer: Words) -> bool:
    """Return whether words are in capitals, and not one acronym alone."""
    letters = "".join(words)
    upper = sum(map(str.isupper, letters))
    if upper < max(2, CAPITAL_SHARE * sum(map(str.isalpha, letters))):
        return False
    if len(words) > 1:
        return True
    return len(letters) > LONGEST_ACRONYM or len(tokenizer.word(letters.lower())) == 1


def _small(word: str, first: bool, tokenizer: Words) -> str:
    """Return a word in the spelling that the vocabulary knows best; it keeps its length."""
    low = word.lower()
    if len(low) != len(word) or len(word[:1].upper()) != 1:
        return word
    capital = word[:1].upper() + low[1:]
    ids = {each: tokenizer.word(each) for each in (low, capital, word)}
    if len(word) > 1 and len(ids[word]) < min(len(ids[low]), len(ids[capital])):
        return word
    known = len(ids[capital]) < len(ids[low]) or low.partition("'")[0] in _NAMES
    return capital if first or known else low
