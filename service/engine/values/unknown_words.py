"""Words with letters that a vocabulary lacks: they are copied, as a model could only guess.

A model reads such a letter as bytes, which it has hardly seen, and then loses the words beside it: `Český` came out as
*eský*, and Hebrew words as emoji. The same is true of `²` and `®` in vocabularies that never join them to letters.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator

from service.engine.values.value import Kind, Value

LONGEST = 64  # characters of a word that is composed: long runs of combining marks are slow to sort
_BLANKS = re.compile(r"[ \u00a0\u202f]*")
_ACCENT = re.compile(r"[\u0300-\u036f]")  # written after its letter, as macOS does


def unknown_words(text: str, is_known: Callable[[str], bool]) -> list[Value]:
    """Return the words of a text with unknown letters, in order; several in a row are one value.

    `is_known`: whether the vocabulary knows a letter, a mark or a symbol.
    """
    if text.isascii():
        return []

    def is_unknown(character: str) -> bool:
        return _may_be_unknown(character) and not is_known(character)

    unknown = frozenset(filter(is_unknown, set(text)))
    if not unknown and not _ACCENT.search(text):
        return []
    return [*_in_a_row(text, _words(text, unknown, is_unknown))]


def _may_be_unknown(character: str) -> bool:
    """Return whether a character is a letter, mark or symbol beyond ASCII, or a raised or Roman number."""
    if character.isascii() or _ACCENT.match(character):
        return False
    category = unicodedata.category(character)
    is_fraction = unicodedata.decomposition(character).startswith("<fraction>")  # ½ is a number
    return (category[0] in "LMS" or category in ("No", "Nl")) and not is_fraction


def _words(text: str, unknown: frozenset[str], is_unknown: Callable[[str], bool]) -> Iterator[re.Match[str]]:
    """Yield the words with unknown letters."""
    marks = {character for character in set(text) if unicodedata.category(character)[0] == "M"}  # no \w, but of a word
    letters = re.escape("".join(sorted(unknown | marks)))
    for word in re.finditer(rf"[\w{letters}]+(?:['’-][\w{letters}]+)*", text):
        is_short_and_accented = len(word[0]) <= LONGEST and _ACCENT.search(word[0])
        composed = unicodedata.normalize("NFC", word[0]) if is_short_and_accented else ""
        if not unknown.isdisjoint(word[0]) or any(map(is_unknown, composed)):
            yield word


def _in_a_row(text: str, words: Iterator[re.Match[str]]) -> Iterator[Value]:
    """Yield the values of words; those with nothing but blanks between them are one."""
    start = end = 0
    for word in words:
        if end and _BLANKS.fullmatch(text, end, word.start()):
            end = word.end()
            continue
        if end:
            yield Value(Kind.WORD, start, end, text[start:end], text[start:end])
        start, end = word.span()
    if end:
        yield Value(Kind.WORD, start, end, text[start:end], text[start:end])
