"""Short forms that a model reads as the words they stand for: it has hardly seen *z. B.*, and often *zum Beispiel*.

The stop of such a form ends no sentence.
"""

import functools
import re
from collections.abc import Mapping

from service.bundle.wrapping import Span
from service.engine.values.locales import language_of

_SHORT_FORMS: Mapping[str, Mapping[str, str]] = {
    "de": {
        "bzw.": "beziehungsweise",
        "ca.": "etwa",
        "d. h.": "das heißt",
        "d.h.": "das heißt",
        "evtl.": "eventuell",
        "ggf.": "gegebenenfalls",
        "inkl.": "einschließlich",
        "Mio.": "Millionen",
        "Mrd.": "Milliarden",
        "Std.": "Stunden",
        "u. a.": "unter anderem",
        "u.a.": "unter anderem",
        "usw.": "und so weiter",
        "vgl.": "vergleiche",
        "z. B.": "zum Beispiel",
        "z.B.": "zum Beispiel",
        "zzgl.": "zuzüglich",
    },
    "en": {
        "approx.": "about",
        "e. g.": "for example",
        "e.g.": "for example",
        "i. e.": "that is",
        "i.e.": "that is",
        "incl.": "including",
        "vs.": "against",
    },
    "fr": {
        "c.-à-d.": "c'est-à-dire",
        "env.": "environ",
        "p. ex.": "par exemple",
        "p.ex.": "par exemple",
    },
}
_MAY_END = ("usw.", "u. a.", "u.a.")  # also at the end of a sentence
LONGEST = 8  # characters of a short form
_END = re.compile(r"\s*$")


@functools.cache
def _pattern(language: str) -> re.Pattern[str] | None:
    forms = _SHORT_FORMS.get(language)
    if forms is None:
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
    language = language_of(language)
    pattern = _pattern(language)
    if pattern is None:
        return []
    found = []
    for match in pattern.finditer(text):
        form = re.sub("[\u00a0\u202f]", " ", match[0])
        end = match.end() - 1 if _END.match(text, match.end()) else match.end()
        found.append(((match.start(), end), _SHORT_FORMS[language][form]))
    return found


def ends_short_form(text: str, begin: int, position: int, language: str) -> bool:
    """Return whether the stop before a place is that of a short form within a sentence."""
    pattern = _pattern(language_of(language))
    if pattern is None:
        return False
    for match in pattern.finditer(text, begin, position + LONGEST):
        if match.start() < position and not text[match.end() : position].strip():
            return match[0] not in _MAY_END or not text[position : position + 1].isupper()
    return False
