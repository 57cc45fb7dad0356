"""Finds the sentences of a text that are translated; the text between them is copied.

Text is never altered: sentences are ranges over it, and all text outside of them is copied as it is: spaces, line
breaks, tabs, list markers, emoji at its ends, bare numbers, addresses (models of subwords misspell them), and words
with more than 30 combining marks in a row. A line break or a tab always ends a sentence, and so does an address. Within
a line `sentencex` decides, except that no sentence ends inside a word. The functions have no side effects.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

import sentencex

from service.bundle.wrapping import LINK, WORD, Span, may_hold_link, outside
from service.engine.text.nfc import has_long_run
from service.engine.values.stand_ins import CUT_KINDS
from service.engine.values.value import Value

_LINE = re.compile(r"[^\n\r\v\f\t\x1c-\x1e\x85\u2028\u2029]+")
_MARKER = re.compile(r"\s*(?:[-*+•·–—>#]{1,6}|\(?\d{1,3}[.)])(?=\s)")
_NUMBER_FOLLOWS = re.compile(
    r"\b(?:[Vv]ol|[Aa]rt|[Ss]ect?|[Cc]h|[Ee]q|[Nn]r|[Nn]o|[Ff]ig|[Pp]p?|[Cc]a|[Cc]f|approx)\.\s*$"
)
_FULL_WIDTH_ENDS = frozenset("。！？｡．…؟।॥」』）”")


def split_sentences(text: str, language: str, values: Sequence[Value] | None = None) -> list[Span]:
    """Return the ranges of the translatable sentences, in order, without white space at their ends.

    No sentence ends inside one of the `values`, and those of CUT_KINDS are left out. None: addresses are left out.
    """
    spans: list[Span] = []
    of_line = values
    for line in _LINE.finditer(text):
        start, end = line.span()
        if values is not None:
            of_line = values[bisect_left(values, start, key=_start) : bisect_left(values, end, key=_start)]
        spans.extend(_sentences_of_line(text, (list_marker(text, start, end), end), language, of_line))
    return spans


def list_marker(text: str, start: int = 0, end: int | None = None) -> int:
    """Return the end of the bullet or number of a list at the beginning of a line; `start` if there is none."""
    marker = _MARKER.match(text, start, len(text) if end is None else end)
    return marker.end() if marker else start


def _sentences_of_line(text: str, line_span: Span, language: str, values: Sequence[Value] | None) -> list[Span]:
    start, end = line_span
    line = text[start:end]
    parts = sentencex.segment(language, line) if line.strip() else []
    if "".join(parts) != line:  # not known to happen; but a lost character would be worse than a long sentence
        parts = [line]
    spans: list[Span] = []
    begin = position = start
    for part in parts:
        position += len(part)
        if position == end or (_may_end(text, begin, position) and not _is_inside(position, values)):
            spans.extend(outside(text, begin, position, _left_alone(text, begin, position, values)))
            begin = position
    return spans


def _start(value: Value) -> int:
    return value.start


def _is_inside(position: int, values: Sequence[Value] | None) -> bool:
    return any(value.start < position < value.end for value in values or ())


def _left_alone(text: str, start: int, end: int, values: Sequence[Value] | None) -> list[Span]:
    """Return the parts that stay as they are: addresses, and words with too many combining marks in a row."""
    if values is None:
        links = [link.span() for link in LINK.finditer(text, start, end)] if may_hold_link(text) else []
    else:
        links = [(v.start, v.end) for v in values if v.kind in CUT_KINDS and start <= v.start and v.end <= end]
    if not has_long_run(text[start:end]):
        return links
    words = [word.span() for word in WORD.finditer(text, start, end) if has_long_run(word[0])]
    within = [link for link in links if not any(word[0] <= link[0] < word[1] for word in words)]
    return sorted([*words, *within])


def _may_end(text: str, begin: int, position: int) -> bool:
    """Return whether a sentence may end before `position`: not inside a word, not before the number of "Vol. 3"."""
    if text[position].isdigit() and _NUMBER_FOLLOWS.search(text, begin, position):
        return False
    return text[position - 1].isspace() or text[position - 1] in _FULL_WIDTH_ENDS
