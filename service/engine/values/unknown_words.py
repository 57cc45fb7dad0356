"""Words with letters that a vocabulary lacks: they are copied, as a model could only guess.

A model reads such a letter as bytes, which it has hardly seen, and then loses the words beside it: `Český` came out as
*eský*, and Hebrew words as emoji. The same is true of `²` and `®` in vocabularies that never join them to letters.
"""

import functools
import re
import unicodedata
from collections.abc import Callable, Iterator

from service.bundle.vocabulary import UNSEEN
from service.engine.values.value import Kind, Value
from service.languages import Language, language_of

LONGEST = 64  # characters of a word that is composed: long runs of combining marks are slow to sort
_BLANKS = re.compile(r"[ \u00a0\u202f]*")
_RARE = frozenset("‰‱§¶†‡•‣⁃′″※")  # marks that are symbols
_KNOWN = frozenset("°€£")
_ACCENT = re.compile(r"[\u0300-\u036f]")  # written after its letter, as macOS does


def unknown_words(text: str, is_known: Callable[[str], bool]) -> list[Value]:
    """Return the words of a text with unknown letters, in order; several in a row are one value.

    `is_known`: whether the vocabulary knows a letter, a mark or a symbol.
    """
    if text.isascii():
        return []

    def is_unknown(character: str) -> bool:
        return _is_symbol(character) or (_may_be_unknown(character) and not is_known(character))

    unknown = frozenset(filter(is_unknown, set(text)))
    if not unknown and not _ACCENT.search(text):
        return []
    return [*_in_a_row(text, _words(text, unknown, is_unknown))]


def kept_forms(text: str, language: str) -> list[Value]:
    """Return the short forms of a text that are copied: Jr., et al."""
    pattern = _kept(language_of(language))
    matches = () if pattern is None or "." not in text else pattern.finditer(text)
    return [Value(Kind.WORD, match.start(), match.end(), match[0], match[0]) for match in matches]


@functools.cache
def _kept(language: Language) -> re.Pattern[str] | None:
    forms = "|".join(map(re.escape, language.short_forms.kept))
    return re.compile(rf"(?<![\w.])(?:{forms})(?!\w)") if forms else None


def _is_symbol(character: str) -> bool:
    """Return whether a character is a symbol that no text explains, although vocabularies have it: ≥, •, an icon."""
    return character in _RARE or (
        character > "\x7f" and character not in _KNOWN and unicodedata.category(character) in ("Co", "Sm")
    )


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
    for word in re.finditer(rf"[{UNSEEN}]*[\w{letters}]+(?:['’-][\w{letters}]+)*[{UNSEEN}]*", text):
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
