"""What a translation lacks of its source, or has too much: values, numbers, months, days and names.

The search keeps values, but nothing keeps a month or a name, and a fluent translation without one looks right. All
checks take a time that grows with the length of the texts.
"""

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from service.engine.values.value import Value
from service.languages import Language, language_of

LOWERED = 0.25  # what remains of the quality of a sentence with a loss: below what is marked as doubtful
_NUMBER = re.compile(r"\d+(?:[.,:\u00a0\u202f' ]?\d+)*")
_NO_DIGIT = re.compile(r"\D")
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_VALUE = "\0"  # in the place of a value
_DIGIT_FOLLOWS = re.compile(rf"\s+[\d{_VALUE}]")
AMBIGUOUS = 5  # letters of a month that may be another word, or a part of one: May, March, mars, mai
_SAME_LETTERS = 3  # at the beginning of a name that another language spells in its own way: Michael, Michel


class LostParts(NamedTuple):
    """Parts of a source that its translation lacks, and parts of a translation that its source lacks."""

    lost: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


def losses_of(source: str, translation: str, values: Sequence[Value], languages: tuple[str, str]) -> LostParts:
    """Return what is lost and added between a sentence, in which `values` stand, and its translation."""
    ours, theirs = map(language_of, languages)
    missing, source_rest, rest = _without_values(source, translation, values)
    numbers, kept = Counter(_numbers(source_rest)), Counter(_numbers(rest))
    lost = [*missing, *(numbers - kept).elements()]
    added = [*(kept - numbers).elements()]
    words, written = _WORD.findall(source_rest), _WORD.findall(translation)
    lost += _dates(source_rest, translation, ours, theirs)
    lost += _names(words, written, ours, theirs)
    return LostParts(tuple(lost), tuple(added)) if lost or added else NOTHING


NOTHING = LostParts()


def _without_values(source: str, translation: str, values: Sequence[Value]) -> tuple[list[str], str, str]:
    """Return the values that a translation lacks, and both texts without values."""
    rest = f" {' '.join(translation.split())} "
    folded = rest.casefold()
    if len(folded) != len(rest):  # ß in capitals
        rest = folded
    missing: list[str] = []
    pieces: list[str] = []
    position = 0
    for value in values:
        pieces.append(source[position : value.start])
        position = value.end
        forms = dict.fromkeys(" ".join(form.split()).casefold() for form in (value.written, *value.others, value.text))
        at, form = next(((at, form) for form in forms if (at := folded.find(form)) >= 0), (-1, ""))
        if at < 0:
            missing.append(value.text)
        else:
            rest = f"{rest[:at]} {rest[at + len(form) :]}"
            folded = f"{folded[:at]} {folded[at + len(form) :]}"
    return missing, _VALUE.join([*pieces, source[position:]]), rest


def _numbers(text: str) -> Iterator[str]:
    """Yield the digits of each number of a text, whatever stands between them."""
    return (_NO_DIGIT.sub("", number) for number in _NUMBER.findall(text))


def _dates(text: str, translation: str, source_language: Language, target_language: Language) -> Iterator[str]:
    """Yield the months and days that a translation lacks; a short word at the beginning may be another one."""
    ours, theirs = _dates_of(source_language), _dates_of(target_language)
    if not ours or not theirs:
        return
    written: set[str] | None = None
    capital = source_language.months[0][:1].isupper()
    for word in _WORD.finditer(text):
        name = word[0].casefold()
        if name not in ours or word[0][:1].isupper() != capital:
            continue
        if not word.start() and len(name) <= AMBIGUOUS and not _DIGIT_FOLLOWS.match(text, word.end()):
            continue
        if written is None:
            folded = translation.casefold()
            words = {part for word in _WORD.findall(folded) for part in word.split("-")}
            written = {name for name in theirs if name in (words if len(name) <= AMBIGUOUS else folded)}
        if ours[name] not in {theirs[word] for word in written}:
            yield word[0]


@functools.cache
def _dates_of(language: Language) -> dict[str, tuple[str, int]]:
    """Return what each name of a month or a day means."""
    kinds = (("month", language.months), ("day", language.days))
    return {name.casefold(): (kind, number) for kind, names in kinds for number, name in enumerate(names)}


def _names(words: Sequence[str], written: Sequence[str], ours: Language, theirs: Language) -> Iterator[str]:
    """Yield the first names that a translation has neither as they are nor as its language spells them."""
    names = ours.names
    named = [word for word in words if word[:1].isupper() and word in names] if names else []
    if named:
        capitals = [_plain(word) for word in written if word[:1].isupper()]
        kept = sum(word in theirs.names for word in written)
        for word in named:
            begin = _plain(word)[:_SAME_LETTERS]
            if not any(capital.startswith(begin) or begin in capital for capital in capitals) and kept < len(named):
                yield word


def _plain(word: str) -> str:
    """Return a word in small letters without accents."""
    letters = unicodedata.normalize("NFD", word.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))
