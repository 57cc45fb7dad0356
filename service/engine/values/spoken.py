"""Times of day in words (half past eight), which a model reads as a whole hour: its translation says the time.

A model that has not been trained on them writes another hour ("halb acht" for *half past eight*), or the parts twice.
"""

import functools
import re

from service.bundle.spoken_clock import said_in
from service.engine.values.clock import WINDOW, follows_time_words, is_beside_length
from service.engine.values.value import Kind, Value
from service.languages import Language, language_of

_PLAIN_HOURS = range(2, 12)  # "at one o'clock" reads like "on the hour", and noon and midnight have words of their own
_USUAL_HOUR = 9


def may_be_spoken(text: str, language: str) -> bool:
    """Return whether a text may have a time in words, which is one look at it."""
    return _signs(language_of(language)).search(text) is not None


@functools.cache
def _signs(language: Language) -> re.Pattern[str]:
    clock = language.spoken_clock
    hours = f"(?:{'|'.join(clock.hours)})"
    return re.compile("|".join(sign.replace("@", hours) for sign in clock.signs) or "(?!)")


@functools.cache
def _certain(language: Language) -> re.Pattern[str]:
    return re.compile("|".join(language.spoken_clock.certain) or "(?!)", re.IGNORECASE)


@functools.cache
def spoken_pattern(language: Language) -> re.Pattern[str]:
    """Return the pattern of times in words, with the number of the phrase in the name of the group."""
    clock = language.spoken_clock
    words = "|".join([*sorted(clock.hours, key=len, reverse=True), *clock.other_hours])
    phrases = sorted(enumerate(clock.phrases), key=lambda numbered: -len(numbered[1]))
    spellings = []
    for number, phrase in phrases:
        figures = "|1[0-2]|[1-9]" if number or clock.hour_in_figures else ""
        for part, read in clock.read.items():
            phrase = phrase.replace(part, read)
        phrase = re.sub("[ -]", "[ \u00a0-]", phrase.replace("'", "['’]"))
        spellings.append(re.sub("[@+]", f"(?P<m{number}>{words}{figures})", phrase))
    return re.compile(rf"\b(?<!-)(?:{'|'.join(spellings) or '(?!)'})(?!\w|[:.,]\d)", re.IGNORECASE)


def whole_hour(hour: int, source: str, target: str) -> tuple[str, ...]:
    """Return what a model reads for a time of day and what it writes then; nothing if a language has no rules."""
    languages = language_of(source), language_of(target)
    if not all(language.spoken_clock.phrases for language in languages):
        return ()
    return tuple(said_in(language, hour if hour in _PLAIN_HOURS else _USUAL_HOUR, 0) for language in languages)


def spoken_value(match: re.Match[str], source: str, target: str) -> Value | None:
    """Return the time of a match; None if it may be something else or the target language has no rules."""
    ours, theirs = language_of(source).spoken_clock, language_of(target).spoken_clock
    (start, end), group = match.span(), str(match.lastgroup)
    before = match.string[max(0, start - WINDOW) : start]
    if not theirs.phrases or match[0].isupper():
        return None
    certain = _certain(language_of(source)).search(match[0])
    if not certain and (not follows_time_words(before, source) or is_beside_length(match, source)):
        return None
    number, word = int(group[1:]), match[group].lower()
    named = int(word) if word.isdecimal() else ours.other_hours.get(word) or ours.hours.index(word) + 1
    hour = (named - 2) % 12 + 1 if "+" in ours.phrases[number] else named
    written = said_in(language_of(target), hour, 5 * number)
    if not number and word.isdecimal():
        written = written.replace(theirs.hours[hour - 1], word)
    return Value(Kind.SPOKEN_TIME, start, end, match[0], written, stand_in=whole_hour(named, source, target))
