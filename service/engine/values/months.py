"""Months beside a number, in whose places the model reads one that it knows: *May* and *March* are words, too."""

import functools
import re
from collections.abc import Iterator

from service.engine.values.value import Kind, Value
from service.languages import Language, language_of

KNOWN = (5, 9, 10)  # June, October and November are no other words
_DIGIT = re.compile(r"\d")
_BLANK = "[ \u00a0\u202f]"


def find_months(sentence: str, source: str, target: str) -> Iterator[Value]:
    """Yield the months of a sentence behind a day or before a number, while there are known ones that stand in."""
    ours, theirs = language_of(source), language_of(target)
    if not ours.months or not theirs.months or _DIGIT.search(sentence) is None:
        return
    free = [number for number in KNOWN if ours.months[number].lower() not in sentence.lower()]
    for match in _months(ours).finditer(sentence):
        if match.start() == match.start("month") and not match["before"]:
            continue  # no number stands beside it
        if not free:
            return
        month = next(number for number, name in enumerate(ours.months) if name.lower() == match["month"].lower())
        candidate = free.pop(0)
        stand_in = (ours.months[candidate], theirs.months[candidate])
        yield Value(Kind.MONTH, *match.span("month"), match["month"], theirs.months[month], stand_in=stand_in)


@functools.cache
def _months(language: Language) -> re.Pattern[str]:
    spellings = dict.fromkeys(form for name in language.months for form in (name, name.capitalize(), name.upper()))
    names = "|".join(map(re.escape, spellings))
    return re.compile(rf"(?:\b\d{{1,2}}(?:\.|[a-z]{{2,3}})?{_BLANK})?\b(?P<month>{names})\b(?P<before>{_BLANK}\d)?")
