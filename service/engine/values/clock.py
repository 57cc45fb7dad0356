"""Times of day: whether figures are one, and how the target language writes it.

"14:30" may be a time, but "John 3:16" is a verse, "1:45" of a video a length, and "10:15" the score of a match. So
figures with nothing but a colon are a time only if the words beside them say so; otherwise they stay as they are, which
is right in every language. With "pm" or a sign of the language they are always a time.
"""

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from service.engine.values.locales import on_24_hours, time_in
from service.languages import Language, language_of

WINDOW = 64  # characters on each side that are read, so that a long text takes time in proportion
_LIST = r"(?:\d{1,2}:[0-5]\d(?:\s?[ap]\.?m\.?)?\s?(?:,|-|–|/|&|\w{1,5})\s?){0,4}"  # earlier times: from 9:30 to
_UPPER = r"A-Z\u00c0-\u00d6\u00d8-\u00de"
_SMALL = re.compile(rf"(?:^|[^\w\s]\s?|\s)(?:[^\W\d_{_UPPER}]\w*|[{_UPPER}]\w{{0,3}})\s$")  # no name: The, an early
_HOURS: Sequence[str] = ("hour", "hour2", "hour3", "hour4", "hour5", "hour6")
_MINUTES: Sequence[str] = ("minute", "minute2", "minute3", "minute5")


@dataclass(frozen=True, slots=True)
class _Context:
    """What stands beside times of day in a language, and beside other figures."""

    before: re.Pattern[str]
    after: re.Pattern[str]
    not_before: re.Pattern[str]
    not_after: re.Pattern[str]
    halves: re.Pattern[str]
    half_of_range: re.Pattern[str]
    since: re.Pattern[str]
    ranges: re.Pattern[str]
    lengths: re.Pattern[str]
    follows: re.Pattern[str]  # the other end of a range of whole hours
    precedes: re.Pattern[str]


@functools.cache
def _context(language: Language) -> _Context:
    clock = language.clock
    days = [rf"{re.escape(day)}s?" for day in language.days]
    to = _any(["-", "–", *clock.to])
    return _Context(
        before=_pattern(rf"(?:^|[^\w]){_any([*clock.before, *days, *clock.day_words])}[,:(]?\s?\(?{_LIST}$"),
        after=re.compile(rf"(?:\s?(?:,|-|–|&|\w{{1,5}})\s?\d{{1,2}}:[0-5]\d){{0,3}}\s?{_any(clock.after)}"),
        not_before=_pattern(rf"\b{_any(clock.not_before)}\b[^.!?;]{{0,24}}$"),
        not_after=_pattern(rf"\s?{_any(clock.not_after)}\b|\s?[-–]\s?\d+(?![:.]?\d)"),
        halves=_pattern(rf"\s{_any(clock.halves)}\b"),
        half_of_range=re.compile(rf"\s?{to}\s?(?P<hour>\d{{1,2}})(?:[:.][0-5]\d)?\s?(?P<half>[AaPp])\.?[Mm]\b"),
        since=_pattern(rf"\b{_any(clock.since)}\s$"),
        ranges=_pattern(rf"\b{_any(clock.ranges)}\s$"),
        lengths=re.compile(rf"\s{_any(clock.lengths)}"),
        follows=re.compile(rf"\s?{to}\s?\d"),
        precedes=re.compile(rf"\d\s?(?:{clock.sign})?\s?{to}\s?$"),
    )


def _any(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(words) or '(?!)'})"


def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def is_time_of_day(match: re.Match[str], language: str) -> bool:
    """Return whether a match of the pattern of times is one, by its own letters or the words beside it."""
    rules = language_of(language)
    before = match.string[max(0, match.start() - WINDOW) : match.start()]
    after = match.string[match.end() : match.end() + WINDOW]
    if match["hour6"]:
        return _is_whole_hour(before, after, rules)
    if not match["minute2"] or match["named"]:
        return True
    context = _context(rules)
    if int(match["hour2"]) > 24 or context.not_before.search(before) or context.not_after.match(after):
        return False
    if _half_of_range(match, context) or context.before.search(before):
        return True
    return context.after.match(after) is not None and (not before or bool(_SMALL.search(before)))


def _is_whole_hour(before: str, after: str, language: Language) -> bool:
    """Return whether "10 h" is a time of day: "à 10 h" is one, "10 h" and "un trajet de 10 h" are lengths of time."""
    context = _context(language)
    if not language.clock.sign or (context.lengths.match(after) and not context.halves.match(after)):
        return False
    if context.since.search(before):
        return context.follows.match(after) is not None
    return context.before.search(before) is not None or context.precedes.search(before) is not None


def hours_in(match: re.Match[str], source: str, target: str) -> str | None:
    """Return "10 h" as a length of time in the target language; None if it is not certain to be one."""
    words = language_of(target).clock.hours
    if not words or not language_of(source).clock.sign:
        return None
    return f"{match['hour6']} {words[int(match['hour6']) != 1]}"


def follows_time_words(before: str, language: str) -> bool:
    """Return whether a text ends with words that stand before a time of day."""
    return _context(language_of(language)).before.search(before[-WINDOW:]) is not None


def is_beside_length(match: re.Match[str], language: str) -> bool:
    """Return whether a time in words may be an end of a range or a length of time, by the words beside it."""
    context, before = _context(language_of(language)), match.string[max(0, match.start() - WINDOW) : match.start()]
    return context.ranges.search(before) is not None or context.lengths.match(match.string, match.end()) is not None


def written_time(match: re.Match[str], source: str, target: str) -> str:
    """Return a time of day as the target language writes it; as it is if that is not certain."""
    context, clock = _context(language_of(source)), language_of(target).clock
    parts = match.groupdict()
    hour = next(int(parts[name]) for name in _HOURS if parts[name])
    minutes = next((int(parts[name]) for name in _MINUTES if parts[name]), None)
    if parts["second"] or parts["second2"]:
        return match[0]
    half = parts["half"][0].lower() if parts["half"] else _half_of_range(match, context)
    if half:
        if not 1 <= hour <= 12 or clock.afternoon:
            return match[0]
        hour = on_24_hours(hour, half == "p")
    elif minutes is None and clock.morning_whole and 1 <= hour <= 12:
        # A model that writes "am" or "pm" guesses; where the text says it, only the figure is kept: 8 Uhr abends.
        named = context.halves.match(match.string, match.end())
        return match[0] if named else clock.morning_whole.format(hour=hour)
    return time_in(hour, minutes, target) or match[0]


def _half_of_range(match: re.Match[str], context: _Context) -> str:
    """Return "a" or "p" for a time whose half of the day stands after the other end: 3:30 to 4:30 pm."""
    if not match["minute2"] or not 1 <= int(match["hour2"]) <= 12:
        return ""
    end = context.half_of_range.match(match.string, match.end())
    if end is None or not 1 <= int(end["hour"]) <= 12:
        return ""
    half = end["half"].lower()
    return half if int(match["hour2"]) % 12 <= int(end["hour"]) % 12 else "ap"[half == "a"]
