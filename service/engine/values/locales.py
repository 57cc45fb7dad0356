"""Numbers, amounts and times of day in each language, and their conversion from one to another.

Separators follow Unicode CLDR. A value that is ambiguous, or that its language would not write so, stays as it is:
"3.11" after a product's name, "1.5" in German, a time without a half of the day that could be either.
"""

import functools
import re
from typing import NamedTuple

SPACES = " \u00a0\u202f\u2009"
MOST_GROUPS = 12  # of three digits; without a limit, a search reads a long row of groups again from each of them


class Separators(NamedTuple):
    """The separator of thousands and that of decimals."""

    group: str
    decimal: str


def _languages(names: str) -> frozenset[str]:
    return frozenset(names.split())


_COMMA_POINT, _POINT_COMMA, _SPACE_COMMA = Separators(",", "."), Separators(".", ","), Separators(" ", ",")
_BY_LANGUAGE = {
    **dict.fromkeys(_languages("en ga he hi ja ko mt sw th zh"), _COMMA_POINT),
    **dict.fromkeys(_languages("ca da de el es eu gl hr id is it mk ms nl pt ro sl sr tr vi"), _POINT_COMMA),
    **dict.fromkeys(_languages("be bg cs et fi fr hu hy ka kk lt lv nb nn no pl ru sk sq sv uk"), _SPACE_COMMA),
}
_AFTER_NUMBER = _languages("bg ca cs da de el es et fi fr hr hu it lt lv nb no pl pt ro ru sk sl sr sv uk")
"""Languages that write the currency after the sum."""
_SPACED_PERCENT = _languages("bg ca cs da de es et eu fi fr hr lt lv nb no ro ru sk sl sv uk")


@functools.cache
def language_of(tag: str) -> str:
    """Return the language of a tag: en of en-GB."""
    return re.split("[-_]", tag.lower())[0]


def has_decimal_point(tag: str) -> bool:
    """Return whether a language writes 2.5 for two and a half; in others a version (3.11) looks like no number."""
    return _BY_LANGUAGE.get(language_of(tag)) == _COMMA_POINT


def numeral(language: str) -> str:
    """Return the pattern of an unsigned number as the language writes it, or as another one does."""
    separators = _BY_LANGUAGE.get(language_of(language))
    groups = f"'’\u00a0\u202f\u2009{'' if separators is None else separators.group}"
    grouped = rf"\d{{1,3}}(?:[{re.escape(groups)}]\d{{3}}(?!\d)){{1,{MOST_GROUPS}}}"
    return rf"{grouped}(?:[.,]\d+)?(?![.,]?\d)|\d+(?:[.,]\d+)?(?![.,]?\d)|\d+"


def number_in(text: str, source: str, target: str) -> str:
    """Return an unsigned number as the target language writes it; as it is if that is not certain."""
    ours, theirs = _BY_LANGUAGE.get(language_of(source)), _BY_LANGUAGE.get(language_of(target))
    if ours is None or theirs is None or text.isdecimal():
        return text
    whole, _, fraction = text.rpartition(ours.decimal) if ours.decimal in text else (text, "", "")
    groups = re.split(rf"[{re.escape(SPACES + ours.group)}'’]", whole)
    grouped = len(groups) > 1
    well_formed = all(group.isdecimal() for group in groups) and (not fraction or fraction.isdecimal())
    if not well_formed or (grouped and any(len(group) != 3 for group in groups[1:])):
        return text
    written = theirs.group.join(groups)
    return written + theirs.decimal + fraction if fraction else written


def percent_in(number: str, target: str) -> str:
    """Return a share as the target language writes it."""
    return f"{number} %" if language_of(target) in _SPACED_PERCENT else f"{number}%"


def amount_in(number: str, currency: str, target: str) -> str:
    """Return a sum of money as the target language writes it; the number is written already."""
    if language_of(target) in _AFTER_NUMBER:
        return f"{number} {currency}"
    return f"{currency} {number}" if currency.isalpha() else f"{currency}{number}"


def time_in(hour: int, minute: int | None, target: str) -> str | None:
    """Return a time of day on the 24-hour clock as the target language writes it; None if that is not certain."""
    language = language_of(target)
    if hour > 24 or (minute or 0) > 59:
        return None
    if language == "fr":
        return f"{hour} h" if minute is None else f"{hour} h {minute:02}"
    if language == "de":
        return f"{hour} Uhr" if minute is None else f"{hour}:{minute:02} Uhr"
    if language == "en":
        # From 1 to 12 the half of the day may stand elsewhere in the sentence ("8 Uhr abends").
        if minute is None:
            return f"{hour - 12} pm" if 12 < hour < 24 else None
        return f"{hour - 12}:{minute:02} pm" if 12 < hour < 24 else f"{hour}:{minute:02}"
    return f"{hour}:{minute or 0:02}"


def on_24_hours(hour: int, afternoon: bool) -> int:
    """Return an hour of the 12-hour clock on the 24-hour one."""
    return hour % 12 + (12 if afternoon else 0)
