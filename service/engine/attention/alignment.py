"""From attention weights to readable ones: tokens without the special ones, words.

Weights are [..., R, C]: rows attend, columns are attended to. `service.bundle.alignment`, which training uses too,
reads links from them.
"""

import unicodedata
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from service.bundle.alignment import Groups, Links, Span, word_groups
from service.engine.jobs import FloatArray
from service.engine.types import Specials, Token


def limit_specials(
    weights: FloatArray, rows: Sequence[Token], columns: Sequence[Token], specials: Specials
) -> FloatArray:
    """Keep the rows and columns of special tokens, remove them, or remove them and rescale the rows to sum to 1.

    A row that attends only to special tokens (a decoder's first) has nothing to rescale and stays zero.
    """
    if specials == "keep":
        return weights
    kept: FloatArray = weights[..., [not t.special for t in rows], :][..., [not t.special for t in columns]]
    if specials == "drop":
        return kept
    total = kept.sum(axis=-1, keepdims=True)
    scaled: FloatArray = np.divide(kept, total, out=np.zeros_like(kept), where=total > 0)
    return scaled


def plain_groups(tokens: Sequence[Token]) -> Groups:
    """Return a group for each token; those of special tokens are empty, so that no link leads to them."""
    return [[] if token.special else [number] for number, token in enumerate(tokens)]


def without_specials(found: Links, sources: Sequence[Token], targets: Sequence[Token]) -> Links:
    """Return links between tokens with their positions among the tokens that are not special."""
    source, target = _plain_positions(sources), _plain_positions(targets)
    return tuple((source[i], target[j]) for i, j in found)


def _plain_positions(tokens: Sequence[Token]) -> list[int]:
    """Return the number of tokens before each one that are not special."""
    return list(accumulate((not token.special for token in tokens), initial=0))


def words(text: str, tokens: Sequence[Token]) -> list[Span]:
    """Return the ranges of the words for readers.

    Rule: white space separates words; within, letters, digits and marks make one word, with an apostrophe, hyphen or
    full stop between two of them; every other character (punctuation, emoji) is a word of its own. A token that spans
    several of these makes them one.
    """
    inside = {place for token in tokens for place in range(token.start + 1, token.end)}
    spans: list[Span] = []
    begin: int | None = None
    for place, character in enumerate(text):
        if begin is not None and (character.isspace() or not (place in inside or _continues(text, place, begin))):
            spans.append((begin, place))
            begin = None
        if begin is None and not character.isspace():
            begin = place
    if begin is not None:
        spans.append((begin, len(text)))
    return spans


def _continues(text: str, place: int, begin: int) -> bool:
    before, here = text[place - 1], text[place]
    if _attaches(here) or before == "\u200d":
        return True
    if _is_letter(here):
        return _is_letter(before) or (before in "'’-.·" and place - 2 >= begin and _is_letter(text[place - 2]))
    return here in "'’-.·" and _is_letter(before) and place + 1 < len(text) and _is_letter(text[place + 1])


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M"


def _attaches(character: str) -> bool:
    """Return whether a character only modifies the previous one: marks, joiners, skin tones, style selectors."""
    return unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf") or "\U0001f3fb" <= character <= "\U0001f3ff"


def group(tokens: Sequence[Token], spans: Sequence[Span], shift: int = 0) -> Groups:
    """Return the indices of the tokens of each word, not of special ones; the text of the spans begins at `shift`."""
    return word_groups([None if token.special else token.start - shift for token in tokens], spans)


def with_specials(groups: Groups, tokens: Sequence[Token]) -> Groups:
    """Return the groups with one more for every special token, by their first token, without empty groups."""
    own = [[number] for number, token in enumerate(tokens) if token.special]
    return sorted([group for group in groups if group] + own)


def word_tokens(tokens: Sequence[Token], groups: Groups, text: str) -> tuple[Token, ...]:
    """Return one token for each group, which spans its subwords, with the id of the first and all pieces joined."""
    merged = []
    for indices in groups:
        first, last = tokens[indices[0]], tokens[indices[-1]]
        start = min((tokens[i].start for i in indices if tokens[i].start < tokens[i].end), default=first.start)
        end = max(last.end, start)
        piece = "".join(tokens[i].piece for i in indices)
        merged.append(Token(first.id, piece, text[start:end], start, end, first.special))
    return tuple(merged)
