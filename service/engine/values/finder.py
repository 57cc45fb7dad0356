"""Finds the values of a text, and writes each as the target language does."""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from service.engine.cancellation import check_wanted
from service.engine.values.clock import hours_in, is_time_of_day, written_time
from service.engine.values.locales import amount_in, has_decimal_point, number_in, ordinal_endings, percent_in
from service.engine.values.patterns import HAS_DIGIT, MAY_HOLD_VALUES, TRIGGERS, scanner, unit_pattern
from service.engine.values.spoken import may_be_spoken, spoken_value, whole_hour
from service.engine.values.value import Kind, Value, shifted
from service.languages import Language, language_of

WINDOW = 4000  # characters that are searched at once, in which no other thread runs; and the next ones, for their ends
_NAME = re.compile(r"(?<=[\w,;] )[A-Z]\w*\s$")
ROW = 3  # codes with nothing but spaces between them, such as the moves of a game of chess
_TIGHT = re.compile(r"\.{0,3}|[:^'\"°~-]+| ?(?:[=+*/<>≤≥]|->|<-) ?")  # within a word or a formula
_REST = re.compile(r"\w*")  # what is left of "2x", whose "2" is a number with a unit
_NUMBERED = re.compile(r"\.{1,3} ")  # "2. Nf3"


@dataclass(frozen=True, slots=True)
class ValueRules:
    """The languages of a translation, and whether values are written as the target language does."""

    source: str
    target: str
    localized: bool = True


def find_values(text: str, rules: ValueRules) -> tuple[Value, ...]:
    """Return the values of a text, in order; they do not overlap."""
    values: list[Value] = []
    begin, size, spoken = 0, WINDOW, may_be_spoken(text, rules.source)
    while begin < len(text) and (spoken or MAY_HOLD_VALUES.search(text, begin)):
        check_wanted()
        first, stop, end = begin, begin + size, min(begin + 2 * size, len(text))
        begin, size = stop, WINDOW
        for value in _values(text, (first, end), rules):
            if value.start >= stop:
                break
            if value.end == end < len(text):  # it may continue
                begin, size = value.start, 2 * (end - value.start)
                break
            values.append(value)
            begin = max(begin, value.end)
    return _joined_codes(text, values)


def amounts_outside(text: str, spans: Sequence[tuple[int, int]], rules: ValueRules) -> list[Value]:
    """Return the sums of money and the shares outside of some ranges of a text, written as the target language does.

    Other numbers that stand alone stay as they are: 1.1 may be a heading.
    """
    amounts: list[Value] = []
    for start, end in zip([0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text)], strict=True):
        if HAS_DIGIT.search(text, start, end):
            values = find_values(text[start:end], rules)
            amounts += [
                shifted(value, start)
                for value in values
                if value.written != value.text and (value.kind is Kind.AMOUNT or "%" in value.text)
            ]
    return amounts


def _values(text: str, part: tuple[int, int], rules: ValueRules) -> Iterator[Value]:
    """Yield the values of a part of a text."""
    has_digit = HAS_DIGIT.search(text, *part) is not None
    patterns = [
        (kind, pattern)
        for kind, pattern in scanner(language_of(rules.source)).items()
        if (TRIGGERS[kind].search(text, *part) if kind in TRIGGERS else has_digit)
    ]
    coming: list[re.Match[str] | None] = [pattern.search(text, *part) for _, pattern in patterns]
    while True:
        ranked = [(match.start(), rank, match) for rank, match in enumerate(coming) if match is not None]
        if not ranked:
            return
        _, rank, match = min(ranked, key=lambda entry: entry[:2])
        kind = patterns[rank][0]
        value = _value(kind, match, rules)
        if value is None:
            coming[rank] = patterns[rank][1].search(text, match.end(), part[1])
            continue
        yield value
        end = value.end
        for number, (_, pattern) in enumerate(patterns):
            waiting = coming[number]
            if waiting is not None and (waiting.start() < end or number == rank):
                coming[number] = pattern.search(text, end, part[1])


def _value(kind: Kind, match: re.Match[str], rules: ValueRules) -> Value | None:
    """Return the value of a match; None if it is no value of this kind."""
    start, end = match.span()
    text = match.string
    if kind is Kind.SPOKEN_TIME:
        return spoken_value(match, rules.source, rules.target)
    if kind is Kind.CODE and not (_is_code(match[0], rules.source) and not _is_grouped(match[0], rules.source)):
        return None
    if kind is Kind.ENTITY:
        start, end = _whole_word(text, start, end)
        if (start, end) != match.span():
            kind = Kind.CODE
    if kind is Kind.TIME and not is_time_of_day(match, rules.source):
        length = hours_in(match, rules.source, rules.target) if match["hour6"] and rules.localized else None
        end = match.end("hour6") if match["hour6"] and length is None else end
        return Value(Kind.NUMBER, start, end, text[start:end], length or text[start:end])
    if kind is Kind.TIME and _is_left_as_it_is(match, rules):
        hour = "hour6" if match["hour6"] else "hour4"
        kind, end = (Kind.TIME, match.end("minute2")) if match["minute2"] else (Kind.NUMBER, match.end(hour))
        return Value(kind, start, end, text[start:end], text[start:end])
    written = text[start:end]
    if kind in _WRITTEN and rules.localized:
        written = _WRITTEN[kind](match, rules)
    stand_in: tuple[str, ...] = ()
    if kind is Kind.TIME and match["half"]:  # models read "p.m." as the end of a sentence
        stand_in = whole_hour(int(match["hour"]), rules.source, rules.target)
    endings = ordinal_endings(written, rules.target) if kind is Kind.NUMBER else ()
    return Value(kind, start, end, text[start:end], written, endings=endings, stand_in=stand_in)


def _is_left_as_it_is(match: re.Match[str], rules: ValueRules) -> bool:
    """Return whether a time keeps its digits while its sign is translated: 8 Uhr abends."""
    if not match["hour4"] and not match["hour6"] and not match["named"]:
        return False
    figures = match[0].removesuffix(language_of(rules.source).clock.certain_sign).rstrip()
    return not rules.localized or _time(match, rules) in (match[0], figures)


def _is_code(text: str, language: str) -> bool:
    """Return whether letters and digits are a code: not a number with a unit (500mg) or words (mid-2024)."""
    number = re.match(r"\d+", text)
    if number and unit_pattern(language_of(language)).fullmatch(text, number.end()):
        return False
    return re.fullmatch(r"[a-z]{2,}-\d+\w?|\d+(?:-[a-z]{2,})+", text) is None


def _is_grouped(text: str, language: str) -> bool:
    """Return whether figures between points are one number, as a language writes thousands: 1.234.567."""
    return not has_decimal_point(language) and re.fullmatch(r"\d{1,3}(?:\.\d{3}){2,}", text) is not None


def _whole_word(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range of the word that an entity is a part of: caf&eacute;."""
    word = re.compile(r"(?:\w|&#?\w{1,31};)*")
    while start > 0 and text[start - 1].isalnum():
        start -= 1
    following = word.match(text, end)
    return start, following.end() if following else end


def _number(match: re.Match[str], rules: ValueRules) -> str:
    if match["product"]:
        written = _FACTOR.sub(lambda factor: number_in(factor[0], rules.source, rules.target), match["product"])
        return percent_in(written, rules.target) if match["percent"] else written
    digits = match["signed"] or match["number"]
    is_heading = not match.start() and _HEADING.match(match.string) is not None
    before = match.string[max(match.start() - 64, 0) : match.start()]
    named = _numbered_word(language_of(rules.source)).search(before) or (
        has_decimal_point(rules.source) and _NAME.search(before)
    )
    as_it_is = not match["percent"] and "." in digits and (named or is_heading)
    written = digits if as_it_is else number_in(digits, rules.source, rules.target)
    written = (match["sign"] or "") + written
    return percent_in(written, rules.target) if match["percent"] else written


_HEADING = re.compile(r"\d{1,2}\.\d{1,2} [A-Z]")  # 1.1 Introduction
_FACTOR = re.compile(r"\d+(?:[.,]\d+)?")
_PROGRAMS = (
    r"Android|Chrome|CUDA|Debian|Django|Docker|Edge|Firefox|Go|iOS|iPadOS|Java|JavaScript|Kubernetes|LibreOffice|Linux|macOS|"
    r"MySQL|Node(?:\.js)?|Office|PHP|PostgreSQL|Python|PyTorch|React|Ruby|Rust|Safari|TypeScript|Ubuntu|Windows|watchOS"
)
"""Names before a version at the start of a sentence, where every word has a capital."""


@functools.cache
def _numbered_word(language: Language) -> re.Pattern[str]:
    """Return what stands before a number that is a name: chapter 2.1, Python 3.11."""
    words = "|".join(language.numbers.numbered) or "(?!)"
    programs = rf"\b(?:{_PROGRAMS})\s(?:\d{{1,4}}\.\d{{1,4}}(?:,| \w{{2,3}}) ){{0,3}}"
    return re.compile(rf"\b(?:{words})\s?$|§\s?$|{programs}$", re.IGNORECASE)


@functools.cache
def _magnitude(language: Language) -> re.Pattern[str]:
    words = "|".join(language.numbers.magnitudes) or "(?!)"
    return re.compile(rf"[ \u00a0\u202f-]?(?:{words})\w{{0,3}}\b", re.IGNORECASE)


def _amount(match: re.Match[str], rules: ValueRules) -> str:
    if _magnitude(language_of(rules.source)).match(match.string, match.end()):
        return match[0]
    number = number_in(match["sum"] or match["sum2"], rules.source, rules.target)
    return amount_in(number, match["code"] or match["before"] or match["after"], rules.target)


def _time(match: re.Match[str], rules: ValueRules) -> str:
    return written_time(match, rules.source, rules.target)


_WRITTEN = {Kind.NUMBER: _number, Kind.AMOUNT: _amount, Kind.TIME: _time}


def _joined_codes(text: str, values: Sequence[Value]) -> tuple[Value, ...]:
    """Return the values of a text, those that are parts of one code as one value."""
    if len(values) < 2 or all(value.kind is not Kind.CODE for value in values):
        return tuple(values)
    codes: list[Value] = []
    for value in values:
        if codes and _is_tight(text, codes[-1], value):
            codes[-1] = _joined(text, codes[-1], value)
        else:
            codes.append(value)
    rows: list[Value] = []
    at = 0
    while at < len(codes):
        end = _end_of_row(text, codes, at)
        is_row = sum(value.kind is Kind.CODE for value in codes[at:end]) >= ROW
        rows.append(_joined(text, codes[at], codes[end - 1]) if is_row else codes[at])
        at = end if is_row else at + 1
    return tuple(rows)


def _is_tight(text: str, one: Value, second: Value) -> bool:
    kinds = {one.kind, second.kind}
    return (
        Kind.CODE in kinds
        and kinds <= {Kind.CODE, Kind.NUMBER}
        and _TIGHT.fullmatch(text, one.end, second.start) is not None
    )


def _end_of_row(text: str, values: Sequence[Value], start: int) -> int:
    """Return the end of the row of codes that begins with a value; a number belongs to the code behind its stop."""
    end = start
    while end < len(values) and (end == start or text[values[end - 1].end : values[end].start] == " "):
        code = end
        if values[end].kind is Kind.NUMBER and end + 1 < len(values):
            is_marker = not text[: values[end].start].rpartition("\n")[2].strip()  # of a list, which stays before it
            code += not is_marker and _NUMBERED.fullmatch(text, values[end].end, values[end + 1].start) is not None
        if values[code].kind is not Kind.CODE:
            break
        end = code + 1
    return max(end, start + 1)


def _joined(text: str, first: Value, last: Value) -> Value:
    end = _REST.match(text, last.end)
    assert end is not None, "it may be empty"
    code = text[first.start : end.end()]
    return Value(Kind.CODE, first.start, end.end(), code, code)
