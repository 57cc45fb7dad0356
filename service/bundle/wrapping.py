"""Finds the parts of a sentence that are translated, and cuts sentences that are too long for a model.

A text is never altered: parts are ranges over it, and all text outside of them is copied as it is.
"""

import math
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

Span = tuple[int, int]

WORD = re.compile(r"\S+")
LINK = re.compile(
    r"""(?:(?:https?|ftp)://|\bwww\.)[^\s<>"]*[^\s<>".,;:!?)'\]}»…]"""
    r"""|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"""
)
_CLAUSE_ENDS = frozenset(",;:)]}–—…،؛")
_FULL_WIDTH_CLAUSE_ENDS = frozenset("，、；：。！？）」』")
_JOINER, _EMOJI_STYLE = "\u200d", "\ufe0f"


class SentenceTokenizer(Protocol):
    """The part of a model's tokenizer that is needed to cut a sentence."""

    def encode(self, text: str) -> Sequence[int]:
        """Return the ids of a text, the end token last."""

    def knows_letters(self, ids: Sequence[int]) -> bool:
        """Return whether a token is a piece with a letter: letters in bytes, or unknown, mean nothing to a model."""

    def token_spans(self, text: str) -> list[Span]:
        """Return the range of each token's text, without the end token and without white space before it."""


@dataclass(frozen=True, slots=True)
class TextSegment:
    """One range of a text that the model translates by itself."""

    start: int
    end: int
    ids: tuple[int, ...]  # the end token last


@dataclass(frozen=True, slots=True)
class Joined:
    """A text joined from translations and gaps, and the start of each translation in it."""

    text: str
    starts: tuple[int, ...]


def whole_text(text: str) -> list[Span]:
    """Return the text as one sentence, without white space at its ends; none if there is nothing to translate."""
    return trimmed(text, 0, len(text))


def is_translatable(text: str) -> bool:
    """Return whether there is anything to translate: a letter outside of an address."""
    return any(map(str.isalpha, LINK.sub("", text) if may_hold_link(text) else text))


def may_hold_link(text: str) -> bool:
    """Return whether a text has what every address has: a search for LINK takes twenty times as long."""
    return "://" in text or "@" in text or "www." in text


def join(text: str, spans: Sequence[Span], translations: Sequence[str]) -> Joined:
    """Replace each range by its translation and keep the rest of the text as it is.

    A space comes between words that only a sign kept apart, which its translation lacks: « l'|Écosse ».
    """
    parts: list[str] = []
    starts: list[int] = []
    length = position = 0

    def write(piece: str, place: int) -> int:
        """Write a piece that stands at a place of the text, and return where it begins."""
        glued = parts and piece and parts[-1][-1].isalnum() and piece[0].isalnum()
        blank = " " if glued and not text[place - 1 : place + 1].isalnum() else ""
        parts.extend(filter(None, (blank, piece)))
        return length + len(blank)

    for (start, end), translation in zip(spans, translations, strict=True):
        gap = text[position:start]
        length = write(gap, position) + len(gap)
        starts.append(write(translation, start))
        length = starts[-1] + len(translation)
        position = end
    write(text[position:], position)
    return Joined("".join(parts), tuple(starts))


def cut_sentence(
    text: str, span: Span, tokenizer: SentenceTokenizer, wrap_tokens: int, max_tokens: int
) -> Iterator[TextSegment]:
    """Yield the sentence in a range of a text as one segment, or as several if it has more than `wrap_tokens`.

    A part may need more tokens alone than within its sentence: it is cut again only above `max_tokens`. Counts include
    the end token. One without a letter that the vocabulary knows, as in another script, is left out.
    """
    yield from _segments(text, span, tokenizer, (wrap_tokens, wrap_tokens), max_tokens)


def _segments(
    text: str, span: Span, tokenizer: SentenceTokenizer, limits: tuple[int, int], max_tokens: int
) -> Iterator[TextSegment]:
    """Yield the segments of a range; `limits` are those for this range and for whole sentences."""
    start, end = span
    here, whole = limits
    sentence = text[start:end]
    ids = tokenizer.encode(sentence)
    if len(ids) <= max(here, 2) or (here < whole and len(ids) <= max_tokens):
        if tokenizer.knows_letters(ids):
            yield TextSegment(start, end, tuple(ids))
        return
    tokens = tokenizer.token_spans(sentence)
    limit = max(here - 1, 1)
    parts = without_long_words(sentence, tokens, limit)
    if parts == [(0, len(sentence))]:
        parts = [part for part in wrap(sentence, tokens, limit) if is_translatable(sentence[slice(*part)])]
        here //= 2
        if parts == [(0, len(sentence))]:  # one character has more tokens than the model accepts
            return
    for begin, finish in parts:
        yield from _segments(text, (start + begin, start + finish), tokenizer, (here, whole), max_tokens)


def without_long_words(text: str, tokens: Sequence[Span], limit: int) -> list[Span]:
    """Return the ranges of a sentence between those words that alone have more than `limit` tokens.

    Such a word is an address, a key or encoded data, and stays as it is. Scripts that write words without spaces
    have none.
    """
    starts = [start for start, _ in tokens]

    def is_long(word: re.Match[str]) -> bool:
        too_long = bisect_left(starts, word.end()) - bisect_left(starts, word.start()) > limit
        return too_long and not any(unicodedata.category(character) == "Lo" for character in word[0])

    return outside(text, 0, len(text), (word.span() for word in filter(is_long, WORD.finditer(text))))


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


def outside(text: str, start: int, end: int, left_alone: Iterable[Span]) -> list[Span]:
    """Return the translatable ranges between these parts of a range, which stay as they are."""
    spans: list[Span] = []
    for part in left_alone:
        spans.extend(trimmed(text, start, part[0]))
        start = part[1]
    return [*spans, *trimmed(text, start, end)]


def trimmed(text: str, start: int, end: int) -> list[Span]:
    """Return the translatable part of a range, without white space or emoji at its ends; none if it is empty."""
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
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # a skin tone
        or "\U000e0020" <= character <= "\U000e007f"  # the tags of a region's flag
    )


def _stripped(text: str, start: int, end: int) -> list[Span]:
    part = text[start:end]
    inner = part.strip()
    if not inner:
        return []
    start += len(part) - len(part.lstrip())
    return [(start, start + len(inner))]


def _best_cut(text: str, starts: Sequence[int], begin: int, first: int, limit: int) -> int:
    """Return the position in the text where a range that begins at `begin`, with the token `first`, should end."""
    left = len(starts) - first
    target = first + math.ceil(left / math.ceil(left / limit))
    last = min(max(starts[first + limit], begin + 1), len(text) - 1)  # a token of no character is at the end
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
