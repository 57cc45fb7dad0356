"""Which parts of a text are translated, and how the parts and what lies between them become one text again.

Text is never altered: sentences are ranges over it, and all that lies outside them (spaces, line breaks, tabs, list
markers, emoji, bare numbers, addresses, which a model of subwords would misspell, and words with more than 30 combining
marks in a row) is copied as it is. A line break or a tab always ends a sentence, and so does an address; within a line
`sentencex` decides, except that no sentence ends inside a word. Everything here is pure.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sentencex

from service.engine.text.nfc import has_long_run

Span = tuple[int, int]

_LINE = re.compile(r"[^\n\r\v\f\t\x1c-\x1e\x85\u2028\u2029]+")
_MARKER = re.compile(r"\s*(?:[-*+•·–—>#]{1,6}|\(?\d{1,3}[.)])(?=\s)")
_WORD = re.compile(r"\S+")
_LINK = re.compile(
    r"""(?:(?:https?|ftp)://|\bwww\.)[^\s<>"]*[^\s<>".,;:!?)'\]}»…]"""
    r"""|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"""
)
_NUMBER_FOLLOWS = re.compile(
    r"\b(?:[Vv]ol|[Aa]rt|[Ss]ect?|[Cc]h|[Ee]q|[Nn]r|[Nn]o|[Ff]ig|[Pp]p?|[Cc]a|[Cc]f|approx)\.\s*$"
)
_FULL_WIDTH_ENDS = frozenset("。！？｡．…؟।॥」』）”")
_CLAUSE_ENDS = frozenset(",;:)]}–—…،؛")
_FULL_WIDTH_CLAUSE_ENDS = frozenset("，、；：。！？）」』")
_JOINER, _EMOJI_STYLE = "\u200d", "\ufe0f"


@dataclass(frozen=True, slots=True)
class Joined:
    """A text put together from translations and gaps, and where each translation begins in it."""

    text: str
    starts: tuple[int, ...]


def split_sentences(text: str, language: str) -> list[Span]:
    """Return the ranges of the sentences that are worth translating, in order, without white space at their ends."""
    spans: list[Span] = []
    for line in _LINE.finditer(text):
        start, end = line.span()
        marker = _MARKER.match(text, start, end)
        if marker:
            start = marker.end()
        spans.extend(_sentences_of_line(text, start, end, language))
    return spans


def whole_text(text: str) -> list[Span]:
    """Return the text as one sentence, without white space at its ends; nothing if it holds nothing to translate."""
    return _trimmed(text, 0, len(text))


def is_translatable(text: str) -> bool:
    """Return whether there is anything to translate: a letter, outside of an address."""
    return any(map(str.isalpha, _LINK.sub("", text) if "." in text else text))


def join(text: str, spans: Sequence[Span], translations: Sequence[str]) -> Joined:
    """Put each translation in the place of its range and leave all the rest of the text as it is."""
    parts: list[str] = []
    starts: list[int] = []
    length = position = 0
    for (start, end), translation in zip(spans, translations, strict=True):
        gap = text[position:start]
        parts += (gap, translation)
        starts.append(length + len(gap))
        length += len(gap) + len(translation)
        position = end
    parts.append(text[position:])
    return Joined("".join(parts), tuple(starts))


def without_long_words(text: str, tokens: Sequence[Span], limit: int) -> list[Span]:
    """Return the ranges of a sentence between those words that alone have more than `limit` tokens.

    Such a word is an address, a key or encoded data, and stays as it is. Scripts that write words without spaces
    have none.
    """
    starts = [start for start, _ in tokens]

    def is_long(word: re.Match[str]) -> bool:
        too_long = bisect_left(starts, word.end()) - bisect_left(starts, word.start()) > limit
        return too_long and not any(unicodedata.category(character) == "Lo" for character in word[0])

    return _outside(text, 0, len(text), filter(is_long, _WORD.finditer(text)))


def wrap(text: str, tokens: Sequence[Span], limit: int) -> list[Span]:
    """Cut one sentence into ranges of at most `limit` tokens and about the same size.

    `tokens` are the ranges of its tokens. Cuts fall after a clause, else between words; a word is cut only when it
    alone is too long, and then never inside a character that is written with several code points.
    """
    starts = [start for start, _ in tokens]
    spans: list[Span] = []
    begin = first = 0
    while len(starts) - first > limit and begin + 1 < len(text):
        cut = _best_cut(text, starts, begin, first, limit)
        spans.extend(_stripped(text, begin, cut))
        begin = cut
        first = bisect_left(starts, cut)
    spans.extend(_stripped(text, begin, len(text)))
    return spans


def _sentences_of_line(text: str, start: int, end: int, language: str) -> list[Span]:
    line = text[start:end]
    parts = sentencex.segment(language, line) if line.strip() else []
    if "".join(parts) != line:  # never seen; a text that lost a character would be worse than a long sentence
        parts = [line]
    spans: list[Span] = []
    begin = position = start
    for part in parts:
        position += len(part)
        if position == end or _may_end(text, begin, position):
            spans.extend(_outside(text, begin, position, _left_alone(text, begin, position)))
            begin = position
    return spans


def _left_alone(text: str, start: int, end: int) -> list[re.Match[str]]:
    """Return what stays as it is: addresses, and words with more combining marks in a row than any language writes."""
    links = list(_LINK.finditer(text, start, end))
    if not has_long_run(text[start:end]):
        return links
    words = [word for word in _WORD.finditer(text, start, end) if has_long_run(word[0])]
    within = [link for link in links if not any(word.start() <= link.start() < word.end() for word in words)]
    return sorted([*words, *within], key=lambda match: match.start())


def _outside(text: str, start: int, end: int, left_alone: Iterable[re.Match[str]]) -> list[Span]:
    """Return what is worth translating of a range between these parts of it, which stay as they are."""
    spans: list[Span] = []
    for part in left_alone:
        spans.extend(_trimmed(text, start, part.start()))
        start = part.end()
    return [*spans, *_trimmed(text, start, end)]


def _may_end(text: str, begin: int, position: int) -> bool:
    """Return whether a sentence may end before `position`: not inside a word, not before the number of "Vol. 3"."""
    if text[position].isdigit() and _NUMBER_FOLLOWS.search(text, begin, position):
        return False
    return text[position - 1].isspace() or text[position - 1] in _FULL_WIDTH_ENDS


def _trimmed(text: str, start: int, end: int) -> list[Span]:
    """Narrow a range to what is worth translating: no white space or emoji at its ends; empty if nothing is left."""
    while start < end and _is_decoration(text[start]):
        start += 1
    while end > start and _is_decoration(text[end - 1]):
        end -= 1
    return [(start, end)] if is_translatable(text[start:end]) else []


def _is_decoration(character: str) -> bool:
    if character < "\u0080":
        return character.isspace()
    return (
        character.isspace()
        or unicodedata.category(character) == "So"
        or character in (_JOINER, _EMOJI_STYLE)
        or _is_skin_tone(character)
    )


def _is_skin_tone(character: str) -> bool:
    return "\U0001f3fb" <= character <= "\U0001f3ff"


def _stripped(text: str, start: int, end: int) -> list[Span]:
    part = text[start:end]
    inner = part.strip()
    if not inner:
        return []
    start += len(part) - len(part.lstrip())
    return [(start, start + len(inner))]


def _best_cut(text: str, starts: Sequence[int], begin: int, first: int, limit: int) -> int:
    """Choose where to end a range that begins at `begin`, whose first token is `first`: a position in the text."""
    left = len(starts) - first
    target = first + math.ceil(left / math.ceil(left / limit))
    last = max(starts[first + limit], begin + 1)
    cuts: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for position in range(last, begin, -1):
        rank = _cut_rank(text, position)
        if rank is not None:
            cuts[rank].append(position)
    clauses = [position for position in cuts[2] if bisect_left(starts, position) - first >= limit // 4]
    for candidates in (clauses, cuts[2] + cuts[1]):
        if candidates:
            return min(candidates, key=lambda position: abs(bisect_left(starts, position) - target))
    return cuts[0][0] if cuts[0] else last


def _cut_rank(text: str, position: int) -> int | None:
    """Rate a cut: 2 after a clause, 1 between words, 0 inside a word, None inside a character."""
    before, after = text[position - 1], text[position]
    if before in _FULL_WIDTH_CLAUSE_ENDS:
        return 2
    if after.isspace():
        return 2 if before in _CLAUSE_ENDS else 1
    joined = (
        _JOINER in (before, after) or unicodedata.category(after)[0] == "M" or "\U0001f3fb" <= after <= "\U0001f3ff"
    )
    return None if joined else 0
