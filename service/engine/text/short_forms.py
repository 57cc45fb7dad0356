"""Short forms that a model reads as the words they stand for: it has hardly seen *z. B.*, and often *zum Beispiel*.

The stop of such a form ends no sentence, nor does that of an ordinal or of a short form before a number.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from service.engine.text.edits import Edit
from service.languages import Language, language_of

_END = re.compile(r"\s*$")
_BLANK = "[ \u00a0\u202f]"
_DAY = re.compile(r"(?<!\d)\d{1,2}\.\s+$")


@dataclass(frozen=True, slots=True)
class _Forms:
    """The short forms of a language; one that begins with a small letter may have a capital."""

    pattern: re.Pattern[str]
    words: Mapping[str, str]
    longest: int  # characters

    def read(self, form: str) -> str:
        """Return the words that are read for a short form."""
        form = re.sub(_BLANK, " ", form)
        if form in self.words:
            return self.words[form]
        words = self.words[form[:1].lower() + form[1:]]
        return words[:1].upper() + words[1:]


@functools.cache
def _forms(language: Language, *, kept: bool = False) -> _Forms | None:
    """Return the short forms for which words are read; `kept`: also those that are copied."""
    before_numbers, copied = language.short_forms.read_before_numbers, language.short_forms.kept if kept else ()
    words = {**language.short_forms.read, **before_numbers, **{form: form for form in copied}}
    if not words:
        return None
    written = [_written(form) + (rf"(?={_BLANK}?\d)" if form in before_numbers else r"(?!\w)") for form in words]
    longest_first = "|".join(sorted(written, key=len, reverse=True))
    return _Forms(re.compile(rf"(?<![\w.])(?:{longest_first})"), words, max(map(len, words)))


def _written(form: str) -> str:
    first, others = form[:1], re.escape(form[1:]).replace(r"\ ", _BLANK)
    return (f"[{first}{first.upper()}]" if first.islower() else re.escape(first)) + others


def has_short_form(text: str, language: str) -> bool:
    """Return whether a text has a short form of its language."""
    forms = _forms(language_of(language))
    return forms is not None and forms.pattern.search(text) is not None


def short_forms(text: str, language: str) -> list[Edit]:
    """Return the edits of a text's short forms, for which words are read; at its end the stop of the sentence stays."""
    forms = _forms(language_of(language))
    if forms is None:
        return []
    places = []
    for match in forms.pattern.finditer(text):
        ends = match[0].endswith(".") and _END.match(text, match.end())
        places.append(Edit(match.start(), match.end() - 1 if ends else match.end(), forms.read(match[0])))
    return places


def ends_short_form(text: str, begin: int, position: int, language: str) -> bool:
    """Return whether the stop before a place is that of a short form within a sentence."""
    rules = language_of(language)
    forms, may_end = _forms(rules, kept=True), (*rules.short_forms.may_end, *rules.short_forms.kept)
    if forms is None:
        return False
    for match in forms.pattern.finditer(text, begin, position + forms.longest):
        if match.start() < position and not text[match.end() : position].strip():
            form = re.sub(_BLANK, " ", match[0])
            return form not in may_end or not text[position : position + 1].isupper()
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
    forms = language.short_forms
    spelled_forms = [*forms.before_numbers, *(form.removesuffix(".") for form in forms.read_before_numbers)]
    words = "|".join(f"(?i:{re.escape(word[0])}){re.escape(word[1:])}" for word in spelled_forms)
    return re.compile(rf"\b(?:{words})\.\s*$") if words else None


@functools.cache
def _ordinals(language: Language) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    """Return ordinals behind the words that stand before them, and months in capitals, before which a day stands."""
    words = "|".join(language.short_forms.before_ordinals)
    if not words:
        return None, None
    months = "|".join(re.escape(month.upper()) for month in language.months)
    return re.compile(rf"\b(?i:{words})\s\d{{1,3}}\.\s+$"), re.compile(rf"(?:{months or '(?!)'})\b")
