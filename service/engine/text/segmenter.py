"""Finds the sentences of a text that are translated; the text between them is copied.

Text is never altered: sentences are ranges over it, and all text outside of them is copied as it is: spaces, line
breaks, tabs, list markers, emoji at its ends, bare numbers, addresses (models of subwords misspell them), and words
with more than 30 combining marks in a row. A tab always ends a sentence, and so do an address and a line break, unless
the sentence goes on in the next line. Within a line `sentencex` decides, except that no sentence ends inside a word.
The functions have no side effects.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

import sentencex

from service.bundle.line_breaks import joined_lines
from service.bundle.wrapping import LINK, WORD, Span, may_hold_link, outside
from service.engine.cancellation import check_wanted
from service.engine.text.line_parts import length_of_tags, points, separators, within_marks
from service.engine.text.nfc import has_long_run
from service.engine.text.short_forms import ends_before_number, ends_ordinal, ends_short_form
from service.engine.values.stand_ins import CUT_KINDS
from service.engine.values.value import Value, within

_LINE = re.compile(r"[^\n\r\v\f\t\x1c-\x1e\x85\u2028\u2029]+")
_MARKER = re.compile(
    r"\s*(?:[-*+•·–—>#]{1,6}|\(?\d{1,3}[.)]|\(?(?:[a-zA-Z]|[ivx]{1,5}|[IVX]{1,5})\)"
    r"|(?:[a-h]|[IVX]{1,5}|[ivx]{2,5})\.(?=\s[A-Z]\w))(?=\s)"
)
_FULL_WIDTH_ENDS = frozenset("。！？｡．…؟।॥」』）”")
LONGEST = 4000  # characters that `sentencex` reads at once: it takes a time that grows with their square


def split_sentences(text: str, language: str, values: Sequence[Value] | None = None) -> list[Span]:
    """Return the ranges of the translatable sentences, in order, without white space at their ends.

    No sentence ends inside one of the `values`, and those of CUT_KINDS are left out. None: addresses are left out.
    """
    parts = parts_of(text, values)
    return [sentence for part in parts for sentence in sentences_of(text, part, language, values)]


def parts_of(text: str, values: Sequence[Value] | None = None) -> list[Span]:
    """Return the parts of a text that may hold sentences: its lines without list markers, and the parts of lines."""
    parts: list[Span] = []
    for start, end in joined_lines(text, [line.span() for line in _LINE.finditer(text)]):
        inside = within(values or (), start, end)
        begin = list_marker(text, start, end)
        end -= length_of_tags(text, begin, end, inside)
        between = points(text, (start, begin), end) or separators(text, begin, end, inside)
        parts += [within_marks(text, part) for part in outside(text, begin, end, between)]
    return parts


def list_marker(text: str, start: int = 0, end: int | None = None) -> int:
    """Return the end of the bullet or number of a list at the beginning of a line; `start` if there is none."""
    marker = _MARKER.match(text, start, len(text) if end is None else end)
    return marker.end() if marker else start


def sentences_of(text: str, part: Span, language: str, values: Sequence[Value] | None = None) -> list[Span]:
    """Return the sentences in a part of a text."""
    begin, end = part
    inside = None if values is None else within(values, begin, end)
    spans: list[Span] = []
    while begin < end:
        check_wanted()
        stop = _end_of_window(text, begin, end, inside)
        ends = _ends(text, (begin, stop), language, inside)
        for position in ends if ends and stop < end else [*ends, stop]:
            spans.extend(outside(text, begin, position, _left_alone(text, begin, position, inside)))
            begin = position
    return spans


def _end_of_window(text: str, begin: int, end: int, values: Sequence[Value] | None) -> int:
    """Return the end of the next LONGEST characters of a line: between words if it has any, and outside of values."""
    stop = begin + LONGEST
    if stop >= end:
        return end
    stop = max(text.rfind(" ", begin, stop), begin + LONGEST // 2 - 1) + 1
    for value in _overlapping(values or (), stop, stop):
        stop = value.end
    return stop


def _ends(text: str, span: Span, language: str, values: Sequence[Value] | None) -> list[int]:
    """Return the places in a part of a line at which sentences end, without the end of the part."""
    begin, end = span
    line = text[begin:end].replace("\n", " ").replace("\r", " ")  # a sentence may run over several lines
    parts = sentencex.segment(language, line) if line.strip() else []
    if "".join(parts) != line:  # not known to happen; but a lost character would be worse than a long sentence
        return []
    ends: list[int] = []
    for position in list(accumulate(map(len, parts), initial=begin))[1:-1]:
        within_value = _overlapping(values or (), position, position)
        if not within_value and _may_end(text, ends[-1] if ends else begin, position, language):
            ends.append(position)
    return ends


def _start(value: Value) -> int:
    return value.start


def _overlapping(values: Sequence[Value], start: int, end: int) -> Sequence[Value]:
    """Return the values that have a character on both sides of `start` or of `end`, or lie between them."""
    first = bisect_right(values, start, key=lambda value: value.end)
    return values[first : bisect_left(values, end, key=_start)]


def _left_alone(text: str, start: int, end: int, values: Sequence[Value] | None) -> list[Span]:
    """Return the parts that stay as they are: addresses, and words with too many combining marks in a row."""
    part = text[start:end]
    if values is None:
        links = [link.span() for link in LINK.finditer(text, start, end)] if may_hold_link(part) else []
    else:
        overlapping = _overlapping(values, start, end)
        links = [(value.start, value.end) for value in overlapping if value.kind in CUT_KINDS and start <= value.start]
    if not has_long_run(part):
        return links
    words = [word.span() for word in WORD.finditer(text, start, end) if has_long_run(word[0])]
    others = [link for link in links if not any(word[0] <= link[0] < word[1] for word in words)]
    return sorted([*words, *others])


def _may_end(text: str, begin: int, position: int, language: str) -> bool:
    """Return whether a sentence may end before `position`: not inside a word, nor in "Vol. 3" or "5. MAI"."""
    before = max(begin, position - 40)
    within = (
        ends_before_number(text, before, position, language)
        or ends_ordinal(text, before, position, language)
        or ends_short_form(text, before, position, language)
    )
    return not within and (text[position - 1].isspace() or text[position - 1] in _FULL_WIDTH_ENDS)
