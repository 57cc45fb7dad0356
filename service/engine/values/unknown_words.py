"""Words with letters that a vocabulary lacks: they are copied, as a model could only guess.

A model reads such a letter as bytes, which it has hardly seen, and then loses the words beside it: `Český` came out as
*eský*, and Hebrew words as emoji. The same is true of `²` and `®` in vocabularies that never join them to letters.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator

from service.engine.values.value import Kind, Value

_BLANKS = re.compile(r"[ \u00a0\u202f]*")


def unknown_words(text: str, is_known: Callable[[str], bool]) -> list[Value]:
    """Return the words of a text with unknown letters, in order; several in a row are one value.

    `is_known`: whether the vocabulary knows a letter, a mark or a symbol.
    """
    if text.isascii():
        return []
    characters = sorted(set(unicodedata.normalize("NFC", text)))
    unknown = frozenset(each for each in characters if _may_be_unknown(each) and not is_known(each))
    return [*_words(text, unknown)] if unknown else []


def _may_be_unknown(character: str) -> bool:
    """Return whether a character is a letter, mark or symbol beyond ASCII, or a raised or Roman number."""
    category = unicodedata.category(character)
    if unicodedata.decomposition(character).startswith("<fraction>"):  # ½ is a number
        return False
    return not character.isascii() and (category[0] in "LMS" or category in ("No", "Nl"))


def _words(text: str, unknown: frozenset[str]) -> Iterator[Value]:
    marks = {character for character in set(text) if unicodedata.category(character)[0] == "M"}  # no \w, but of a word
    letters = re.escape("".join(sorted(unknown | marks)))
    start = end = 0
    for match in re.finditer(rf"[\w{letters}]+(?:['’-][\w{letters}]+)*", text):
        if unknown.isdisjoint(unicodedata.normalize("NFC", match[0])):
            continue
        if end and _BLANKS.fullmatch(text, end, match.start()):
            end = match.end()
            continue
        if end:
            yield Value(Kind.WORD, start, end, text[start:end], text[start:end])
        start, end = match.span()
    if end:
        yield Value(Kind.WORD, start, end, text[start:end], text[start:end])
