"""Short forms that a model reads as the words they stand for: it has hardly seen *z. B.*, and often *zum Beispiel*.

The stop of such a form ends no sentence, nor does that of an ordinal or of a short form before a number.
"""

import functools
import re

from service.bundle.wrapping import Span
from service.languages import Language, language_of

LONGEST = 8  # characters of a short form
_END = re.compile(r"\s*$")
_DAY = re.compile(r"(?<!\d)\d{1,2}\.\s+$")


@functools.cache
def _pattern(language: Language, *, kept: bool = False) -> re.Pattern[str] | None:
    """Return the short forms for which words are read; `kept`: also those that are copied."""
    forms = [*language.short_forms.read, *(language.short_forms.kept if kept else ())]
    if not forms:
        return None
    longest_first = sorted(map(re.escape, forms), key=len, reverse=True)
    written = "|".join(form.replace(r"\ ", "[ \u00a0\u202f]") for form in longest_first)
    return re.compile(rf"(?<![\w.])(?:{written})(?!\w)")


def has_short_form(text: str, language: str) -> bool:
    """Return whether a text has a short form of its language."""
    pattern = _pattern(language_of(language))
    return pattern is not None and "." in text and pattern.search(text) is not None


def short_forms(text: str, language: str) -> list[tuple[Span, str]]:
    """Return the ranges of a text's short forms and what is read there; at its end the stop of the sentence stays."""
    known = language_of(language)
    pattern = _pattern(known)
    if pattern is None:
        return []
    found = []
    for match in pattern.finditer(text):
        form = re.sub("[\u00a0\u202f]", " ", match[0])
        end = match.end() - 1 if _END.match(text, match.end()) else match.end()
        found.append(((match.start(), end), known.short_forms.read[form]))
    return found


def ends_short_form(text: str, begin: int, position: int, language: str) -> bool:
    """Return whether the stop before a place is that of a short form within a sentence."""
    known = language_of(language)
    pattern, may_end = _pattern(known, kept=True), (*known.short_forms.may_end, *known.short_forms.kept)
    if pattern is None:
        return False
    for match in pattern.finditer(text, begin, position + LONGEST):
        if match.start() < position and not text[match.end() : position].strip():
            return match[0] not in may_end or not text[position : position + 1].isupper()
    return False


def ends_before_number(text: str, begin: int, position: int, language: str) -> bool:
    """Return whether the stop before a number is that of a word which it belongs to: Vol. 3."""
    pattern = _before_numbers(language_of(language))
    return pattern is not None and text[position].isdigit() and pattern.search(text, begin, position) is not None


def ends_ordinal(text: str, begin: int, position: int, language: str) -> bool:
    """Return whether the stop before a place is that of an ordinal: *der 2. Bundesliga*, *5. MAI*."""
    ordinal, month = _ordinals(language_of(language))
    if ordinal is None or month is None:
        return False
    if ordinal.search(text, begin, position):
        return True
    return month.match(text, position) is not None and _DAY.search(text, begin, position) is not None


@functools.cache
def _before_numbers(language: Language) -> re.Pattern[str] | None:
    words = "|".join(f"(?i:{re.escape(word[0])}){re.escape(word[1:])}" for word in language.short_forms.before_numbers)
    return re.compile(rf"\b(?:{words})\.\s*$") if words else None


@functools.cache
def _ordinals(language: Language) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    """Return ordinals behind the words that stand before them, and months in capitals, before which a day stands."""
    words = "|".join(language.short_forms.before_ordinals)
    if not words:
        return None, None
    months = "|".join(re.escape(month.upper()) for month in language.months)
    return re.compile(rf"\b(?i:{words})\s\d{{1,3}}\.\s+$"), re.compile(rf"(?:{months or '(?!)'})\b")
