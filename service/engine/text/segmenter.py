"""Finds the sentences of a text that are translated; the text between them is copied.

Text is never altered: sentences are ranges over it, and all text outside of them is copied as it is: spaces, line
breaks, tabs, list markers, emoji, bare numbers, addresses (models of subwords misspell them), and words with more
than 30 combining marks in a row. A line break or a tab always ends a sentence, and so does an address. Within a line
`sentencex` decides, except that no sentence ends inside a word. The functions have no side effects.
"""

from __future__ import annotations

import re

import sentencex

from service.bundle.wrapping import LINK, WORD, Span, outside
from service.engine.text.nfc import has_long_run

_LINE = re.compile(r"[^\n\r\v\f\t\x1c-\x1e\x85\u2028\u2029]+")
_MARKER = re.compile(r"\s*(?:[-*+•·–—>#]{1,6}|\(?\d{1,3}[.)])(?=\s)")
_NUMBER_FOLLOWS = re.compile(
    r"\b(?:[Vv]ol|[Aa]rt|[Ss]ect?|[Cc]h|[Ee]q|[Nn]r|[Nn]o|[Ff]ig|[Pp]p?|[Cc]a|[Cc]f|approx)\.\s*$"
)
_FULL_WIDTH_ENDS = frozenset("。！？｡．…؟।॥」』）”")


def split_sentences(text: str, language: str) -> list[Span]:
    """Return the ranges of the translatable sentences, in order, without white space at their ends."""
    spans: list[Span] = []
    for line in _LINE.finditer(text):
        start, end = line.span()
        marker = _MARKER.match(text, start, end)
        if marker:
            start = marker.end()
        spans.extend(_sentences_of_line(text, start, end, language))
    return spans


def _sentences_of_line(text: str, start: int, end: int, language: str) -> list[Span]:
    line = text[start:end]
    parts = sentencex.segment(language, line) if line.strip() else []
    if "".join(parts) != line:  # not known to happen; but a lost character would be worse than a long sentence
        parts = [line]
    spans: list[Span] = []
    begin = position = start
    for part in parts:
        position += len(part)
        if position == end or _may_end(text, begin, position):
            spans.extend(outside(text, begin, position, _left_alone(text, begin, position)))
            begin = position
    return spans


def _left_alone(text: str, start: int, end: int) -> list[re.Match[str]]:
    """Return the parts that stay as they are: addresses, and words with too many combining marks in a row."""
    links = list(LINK.finditer(text, start, end))
    if not has_long_run(text[start:end]):
        return links
    words = [word for word in WORD.finditer(text, start, end) if has_long_run(word[0])]
    within = [link for link in links if not any(word.start() <= link.start() < word.end() for word in words)]
    return sorted([*words, *within], key=lambda match: match.start())


def _may_end(text: str, begin: int, position: int) -> bool:
    """Return whether a sentence may end before `position`: not inside a word, not before the number of "Vol. 3"."""
    if text[position].isdigit() and _NUMBER_FOLLOWS.search(text, begin, position):
        return False
    return text[position - 1].isspace() or text[position - 1] in _FULL_WIDTH_ENDS
