"""Cuts sentences that are too long for a model as the service does, so that what is evaluated is what is served.

``tests/contract/test_wrapping.py`` holds this to the service's rule. The service also copies addresses, and emoji
at the ends; here they are translated with the rest.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tokenizers import Tokenizer

WRAP_TOKENS = 128
"""Sentences of more tokens, the end token counted, are translated in parts where a manifest says nothing else."""

_CLAUSE_ENDS = frozenset(",;:)]}–—…،؛")
_FULL_WIDTH_CLAUSE_ENDS = frozenset("，、；：。！？）」』")
_JOINER = "\u200d"
_QUARTER = 4


class Segment(NamedTuple):
    """A range of a sentence that is translated by itself, with its ids (no end token)."""

    start: int
    end: int
    ids: list[int]


def segments(tokenizer: Tokenizer, sentence: str, wrap_tokens: int, max_tokens: int) -> list[Segment]:
    """Return the parts of a sentence, in order; one part if it has at most ``wrap_tokens``, the end token counted.

    What has no letter is no part: nothing in it is to be translated. A part may need more tokens alone than within its
    sentence: it is cut again only above ``max_tokens``.
    """
    if not _has_letter(sentence):
        return []
    start = len(sentence) - len(sentence.lstrip())
    return list(_pieces(tokenizer, sentence, (start, len(sentence.rstrip())), (wrap_tokens, wrap_tokens), max_tokens))


def _pieces(
    tokenizer: Tokenizer, text: str, span: tuple[int, int], wrap: tuple[int, int], max_tokens: int
) -> Iterator[Segment]:
    """``wrap``: the limit for this range, and the one for whole sentences."""
    begin, end = span
    here, whole = wrap
    encoding = tokenizer.encode(text[begin:end])
    tokens = len(encoding.ids) + 1
    if tokens <= max(here, 2) or (here < whole and tokens <= max_tokens):
        if encoding.ids:
            yield Segment(begin, end, encoding.ids)
        return
    starts = [_first_visible(text[begin:end], *offsets) for offsets in encoding.offsets]
    limit, everything = max(here - 1, 1), [(0, end - begin)]
    parts = without_long_words(text[begin:end], starts, limit)
    if parts == everything:
        parts, here = wrapped(text[begin:end], starts, limit), here // 2
        if parts == everything:  # one character of more tokens than the model takes
            return
    for first, last in parts:
        if _has_letter(text[begin + first : begin + last]):
            yield from _pieces(tokenizer, text, (begin + first, begin + last), (here, whole), max_tokens)


def join(sentence: str, parts: Sequence[Segment], translations: Sequence[str]) -> str:
    """Return the translations in the places of their parts; all the rest of the sentence stays as it is."""
    ends = [0, *(part.end for part in parts)]
    starts = [*(part.start for part in parts), len(sentence)]
    gaps = [sentence[end:start] for end, start in zip(ends, starts, strict=True)]
    return "".join(text for pair in zip(gaps, [*translations, ""], strict=True) for text in pair)


def without_long_words(text: str, starts: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Return the ranges between words that alone have more than ``limit`` tokens: keys and codes, which are copied.

    Scripts that write words without spaces have none.
    """
    spans, position = [], 0
    for word in re.finditer(r"\S+", text):
        tokens = bisect_left(starts, word.end()) - bisect_left(starts, word.start())
        if tokens > limit and not any(unicodedata.category(character) == "Lo" for character in word[0]):
            spans += _stripped(text, position, word.start())
            position = word.end()
    return spans + _stripped(text, position, len(text))


def wrapped(text: str, starts: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Cut a sentence into ranges of at most ``limit`` tokens and about the same size; ``starts``: of its tokens.

    Cuts fall after a clause, else between words; a word is cut only when it alone is too long.
    """
    spans = []
    begin = first = 0
    while len(starts) - first > limit and begin + 1 < len(text):
        cut = _best_cut(text, starts, (begin, first), limit)
        spans += _stripped(text, begin, cut)
        begin = cut
        first = bisect_left(starts, cut)
    return spans + _stripped(text, begin, len(text))


def _best_cut(text: str, starts: Sequence[int], at: tuple[int, int], limit: int) -> int:
    """Return where to end a range that begins ``at`` a position and the token that stands there."""
    begin, first = at
    left = len(starts) - first
    target = first + math.ceil(left / math.ceil(left / limit))
    last = max(starts[first + limit], begin + 1)
    cuts: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for position in range(last, begin, -1):
        rank = _cut_rank(text, position)
        if rank is not None:
            cuts[rank].append(position)
    clauses = [position for position in cuts[2] if bisect_left(starts, position) - first >= limit // _QUARTER]
    for candidates in (clauses, cuts[2] + cuts[1]):
        if candidates:
            return min(candidates, key=lambda position: abs(bisect_left(starts, position) - target))
    return cuts[0][0] if cuts[0] else last


def _cut_rank(text: str, position: int) -> int | None:
    """2 after a clause, 1 between words, 0 inside a word, None inside a character."""
    before, after = text[position - 1], text[position]
    if before in _FULL_WIDTH_CLAUSE_ENDS:
        return 2
    if after.isspace():
        return 2 if before in _CLAUSE_ENDS else 1
    joined = (
        _JOINER in (before, after) or unicodedata.category(after)[0] == "M" or "\U0001f3fb" <= after <= "\U0001f3ff"
    )
    return None if joined else 0


def _stripped(text: str, start: int, end: int) -> list[tuple[int, int]]:
    inner = text[start:end].strip()
    if not inner:
        return []
    start += len(text[start:end]) - len(text[start:end].lstrip())
    return [(start, start + len(inner))]


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))


def _first_visible(text: str, start: int, end: int) -> int:
    """Return where a token's text begins, spaces before it left out."""
    return next((place for place in range(start, end) if not text[place].isspace()), start)
