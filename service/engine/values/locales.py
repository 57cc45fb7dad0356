"""Numbers, amounts and times of day in each language, and their conversion from one to another.

Separators follow Unicode CLDR. A value that is ambiguous, or that its language would not write so, stays as it is:
"3.11" after a product's name, "1.5" in German, a time without a half of the day that could be either.
"""

import re

from service.languages import Language, language_of

SPACES = " \u00a0\u202f\u2009"
MOST_GROUPS = 12  # of three digits; without a limit, a search reads a long row of groups again from each of them


def has_decimal_point(tag: str) -> bool:
    """Return whether a language writes 2.5 for two and a half; in others a version (3.11) looks like no number."""
    return language_of(tag).numbers.decimal == "."


def numeral(language: Language) -> str:
    """Return the pattern of an unsigned number as the language writes it, or as another one does."""
    groups = f"'’\u00a0\u202f\u2009{language.numbers.group}"
    grouped = rf"\d{{1,3}}(?:[{re.escape(groups)}]\d{{3}}(?!\d)){{1,{MOST_GROUPS}}}"
    return rf"{grouped}(?:[.,]\d+)?(?![.,]?\d)|\d+(?:[.,]\d+)?(?![.,]?\d)|\d+"


def number_in(text: str, source: str, target: str) -> str:
    """Return an unsigned number as the target language writes it; as it is if that is not certain."""
    ours, theirs = language_of(source).numbers, language_of(target).numbers
    if not ours.decimal or not theirs.decimal or text.isdecimal():
        return text
    whole, _, fraction = text.rpartition(ours.decimal) if ours.decimal in text else (text, "", "")
    groups = re.split(rf"[{re.escape(SPACES + ours.group)}'’]", whole)
    grouped = len(groups) > 1
    well_formed = all(group.isdecimal() for group in groups) and (not fraction or fraction.isdecimal())
    if not well_formed or (grouped and any(len(group) != 3 for group in groups[1:])):
        return text
    written = theirs.group.join(groups)
    return written + theirs.decimal + fraction if fraction else written


def ordinal_endings(number: str, target: str) -> tuple[str, ...]:
    """Return the ending of a number as an ordinal, and then all endings of the target language; none if it has none."""
    ordinals = language_of(target).numbers.ordinals
    fitting = (ending for ending, figures in ordinals if re.search(figures, number))
    return (*fitting, *(ending for ending, _ in ordinals)) if number.isdecimal() else ()


def percent_in(number: str, target: str) -> str:
    """Return a share as the target language writes it."""
    return f"{number} %" if language_of(target).numbers.percent_blank else f"{number}%"


def amount_in(number: str, currency: str, target: str) -> str:
    """Return a sum of money as the target language writes it; the number is written already."""
    if language_of(target).numbers.currency_after:
        return f"{number} {currency}"
    return f"{currency} {number}" if currency.isalpha() else f"{currency}{number}"


def time_in(hour: int, minute: int | None, target: str) -> str | None:
    """Return a time of day on the 24-hour clock as the target language writes it; None if that is not certain."""
    clock = language_of(target).clock
    if hour > 24 or (minute or 0) > 59:
        return None
    if not clock.afternoon:
        return clock.whole.format(hour=hour) if minute is None else clock.minutes.format(hour=hour, minute=minute)
    # From 1 to 12 the half of the day may stand elsewhere in the sentence ("8 in the evening").
    late = 12 < hour < 24
    if minute is None:
        return clock.afternoon_whole.format(hour=hour - 12) if late else None
    written, hour = (clock.afternoon, hour - 12) if late else (clock.minutes, hour)
    return written.format(hour=hour, minute=minute)


def on_24_hours(hour: int, afternoon: bool) -> int:
    """Return an hour of the 12-hour clock on the 24-hour one."""
    return hour % 12 + (12 if afternoon else 0)
