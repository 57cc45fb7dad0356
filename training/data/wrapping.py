"""Sentences of which a part stands in brackets, quotation marks or between other signs, on both sides.

Parallel text has few words behind signs. Here the links of a word aligner say which words of the translation are those
of a part.
"""

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from training.data.cleaning import Pair
from training.data.titles import in_frame, labels
from training.data.words import Words, words_of

Aligner = Callable[[list[str], list[str]], Sequence[Collection[tuple[int, int]]]]
"""Returns the links (source word, target word) of lines whose words are separated by spaces."""

_MOST_WORDS = 5
_TRIES = 8
_QUOTES = {"en": ('"', '"'), "fr": ("« ", " »"), "de": ("„", "“")}
_PLAIN_QUOTES = ('"', '"')
_SIGNS = [
    *6 * [("(", ")")], *3 * [("[", "]")], ("*", "*"), ("**", "**"), ("_", "_"), ("<", ">"), ("– ", " –"), ("~", "~"),
]  # fmt: skip
_BEHIND = [*3 * [" ({})"], " [{}]", *3 * ["/{}"], " / {}", " | {}", " – {} –"]
Span = tuple[int, int]
"""The first word, and the one behind the last."""


def wrapped(pairs: Sequence[Pair], languages: Pair, count: int, seed: int, align: Aligner) -> Iterator[Pair]:
    """Yield at most ``count`` pairs with a part in signs, or with a label in signs behind a part.

    A pair whose parts are not linked clearly gives none. The result depends only on the arguments.
    """
    draw = random.Random(seed)
    chosen = draw.sample(pairs, min(len(pairs), 4 * count))
    words = [(words_of(source), words_of(target)) for source, target in chosen]
    links = align([" ".join(source.texts) for source, _ in words], [" ".join(target.texts) for _, target in words])
    short = [pair for pair in labels(pairs, languages) if max(side.count(" ") for side in pair) < 2]
    made = (_wrapped(sides, found, languages, short, draw) for sides, found in zip(words, links, strict=True))
    for pair, _ in zip(filter(None, made), range(count), strict=False):
        yield pair


def _wrapped(
    sides: tuple[Words, Words],
    links: Collection[tuple[int, int]],
    languages: Pair,
    short: list[Pair],
    draw: random.Random,
) -> Pair | None:
    spans = linked_part(sides, links, draw)
    if spans is None:
        return None
    if short and draw.random() < 0.3:
        label, frame = draw.choice(short), draw.choice(_BEHIND)
        added = [("", in_frame(frame, text, language)) for text, language in zip(label, languages, strict=True)]
    else:
        added = _signs(languages, draw)
    source, target = (words.within(span, *signs) for words, span, signs in zip(sides, spans, added, strict=True))
    return source, target


def _signs(languages: Pair, draw: random.Random) -> list[tuple[str, str]]:
    """Return the signs of each side: the same, or the quotation marks of each language."""
    if draw.random() < 0.55:
        return 2 * [draw.choice(_SIGNS)]
    source, target = (_QUOTES.get(language, _PLAIN_QUOTES) for language in languages)
    return [_PLAIN_QUOTES if draw.random() < 0.4 else source, target]


def linked_part(
    sides: tuple[Words, Words], links: Collection[tuple[int, int]], draw: random.Random
) -> tuple[Span, Span] | None:
    """Return a random part of the source and the part of the target that is its translation, or None.

    All words of both are linked, and only with each other; a part has no marks in it, is not the whole sentence and not
    a small word alone.
    """
    source, target = sides
    for _ in range(_TRIES):
        length = draw.choice((1, 1, 1, 2, 2, 3, 3, 4, _MOST_WORDS))
        if length >= len(source.texts):
            continue
        first = draw.randrange(len(source.texts) - length + 1)
        span = first, first + length
        found = _translation(span, links)
        if (
            found
            and max(map(len, source.texts[slice(*span)])) > 3
            and source.can_stand_alone(span)
            and target.can_stand_alone(found)
        ):
            return span, found
    return None


def _translation(span: Span, links: Collection[tuple[int, int]]) -> Span | None:
    inside = partial(_is_in, span)
    targets = {target for source, target in links if inside(source)}
    if not targets or {source for source, _ in links if inside(source)} != set(range(*span)):
        return None
    found = min(targets), max(targets) + 1
    crossing = any(_is_in(found, target) and not inside(source) for source, target in links)
    return None if crossing or targets != set(range(*found)) else found


def _is_in(span: Span, at: int) -> bool:
    return span[0] <= at < span[1]
