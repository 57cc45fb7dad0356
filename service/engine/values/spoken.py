"""Times of day in words (half past eight), which a model reads as a whole hour: its translation says the time.

A model that has not been trained on them writes another hour ("halb acht" for *half past eight*), or the parts twice.
"""

import functools
import re

from service.bundle.spoken_clock import HOURS, phrases, spoken
from service.engine.values.clock import LENGTH, follows_time_words
from service.engine.values.locales import language_of
from service.engine.values.value import Kind, Value

_SIGNS = {
    "en": re.compile(rf"clock|[ -]past| (?:to|after) (?:{'|'.join(HOURS['en'])})"),
    "fr": re.compile("heure"),
    "de": re.compile(rf"[Uu]hr|alb | (?:vor|nach) (?:{'|'.join(HOURS['de'])})"),
}
_CERTAIN = re.compile("clock|quarter|half|uhr|viertel|halb|moins", re.I)  # others may be ranges or lengths of time
_RANGE = re.compile(r"\b(?:from|between|de|depuis|entre)\s$", re.I)
_PLAIN_HOURS = range(2, 12)  # "at one o'clock" reads like "on the hour", and noon and midnight have words of their own
_USUAL_HOUR = 9


def may_be_spoken(text: str, language: str) -> bool:
    """Return whether a text may have a time in words, which is one look at it."""
    signs = _SIGNS.get(language_of(language))
    return signs is not None and signs.search(text) is not None


@functools.cache
def spoken_pattern(language: str) -> re.Pattern[str]:
    """Return the pattern of times in words, with the number of the phrase in the name of the group."""
    language = language_of(language)
    words = "|".join([*sorted(HOURS.get(language, ()), key=len, reverse=True), "ein"])
    spellings = [
        _spellings(phrase, f"(?P<m{number}>{words}{'|1[0-2]|[1-9]' if number or language == 'fr' else ''})")
        for number, phrase in sorted(enumerate(phrases(language)), key=lambda each: -len(each[1]))
    ]
    return re.compile(rf"\b(?<!-)(?:{'|'.join(spellings) or '(?!)'})(?!\w|[:.,]\d)", re.IGNORECASE)


def _spellings(phrase: str, hour: str) -> str:
    phrase = phrase.replace("a quarter", "(?:a )?quarter").replace("heures", "heures?").replace("'", "['’]")
    phrase = re.sub("[ -]", "[ \u00a0-]", phrase.replace(" past", " (?:past|after)"))
    return phrase.replace("@", hour).replace("+", hour)


def whole_hour(hour: int, source: str, target: str) -> tuple[str, ...]:
    """Return what a model reads for a time of day and what it writes then; nothing if a language has no rules."""
    said = spoken(hour if hour in _PLAIN_HOURS else _USUAL_HOUR, 0)
    known = [said[language] for language in map(language_of, (source, target)) if language in said]
    return tuple(known) if len(known) == 2 else ()


def spoken_value(match: re.Match[str], source: str, target: str) -> Value | None:
    """Return the time of a match; None if it may be something else or the target language has no rules."""
    source, target = language_of(source), language_of(target)
    (start, end), text, group = match.span(), match.string, str(match.lastgroup)
    if target not in HOURS or match[0].isupper():
        return None
    before = text[:start]
    if not _CERTAIN.search(match[0]) and (
        not follows_time_words(before, source) or _RANGE.search(before) or LENGTH.match(text, end)
    ):
        return None
    number, word = int(group[1:]), match[group].lower()
    named = int(word) if word.isdecimal() else [*HOURS[source], "ein"].index(word) % 12 + 1
    hour = (named - 2) % 12 + 1 if "+" in phrases(source)[number] else named
    written = spoken(hour, 5 * number)[target]
    if not number and word.isdecimal():
        written = written.replace(HOURS[target][hour - 1], word)
    return Value(Kind.SPOKEN_TIME, start, end, match[0], written, stand_in=whole_hour(named, source, target))
