"""A text on its way through the engine: cut into pieces that the model takes, and put together from their results.

Everything here is pure and free of clocks; the translator decides when and where it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from service.engine.attention import alignment
from service.engine.text.segmenter import (
    Span,
    is_translatable,
    join,
    split_sentences,
    whole_text,
    without_long_words,
    wrap,
)
from service.engine.text.tokenizer import Decoded, Tokenizer, check_text
from service.engine.types import FloatArray, Hypothesis, SentenceDetail, Token, Translation


@dataclass(frozen=True, slots=True)
class Cutting:
    """How texts are cut; token counts include </s>."""

    language: str
    wrap_tokens: int  # a sentence of more is wrapped
    max_tokens: int  # what the model takes at all
    split: bool = True  # False: a text is one sentence, however many full stops it has


@dataclass(frozen=True, slots=True)
class Piece:
    """One range of a text that the model translates by itself."""

    start: int
    end: int
    ids: tuple[int, ...]  # ends with </s>


@dataclass(frozen=True, slots=True)
class Passage:
    """A text and the pieces of it that are translated; all the rest is copied."""

    text: str
    pieces: tuple[Piece, ...]

    @property
    def spans(self) -> list[Span]:
        """Give the ranges of the pieces."""
        return [(piece.start, piece.end) for piece in self.pieces]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the worker found for one piece; `reading` is where the best hypothesis aligns, when that was asked for."""

    hypotheses: tuple[Hypothesis, ...]
    reading: FloatArray | None = None  # [T, S]; see alignment.reading


def cut_text(text: str, tokenizer: Tokenizer, cutting: Cutting) -> Passage:
    """Cut a text into pieces of at most `max_tokens`; raises InvalidText for lone surrogates."""
    check_text(text)
    spans = split_sentences(text, cutting.language) if cutting.split else whole_text(text)
    pieces = [
        piece for start, end in spans for piece in _pieces(text, start, end, tokenizer, cutting, cutting.wrap_tokens)
    ]
    return Passage(text, tuple(pieces))


def _pieces(
    text: str, start: int, end: int, tokenizer: Tokenizer, cutting: Cutting, wrap_tokens: int
) -> Iterator[Piece]:
    """Yield one piece, or several when it is too long; a part alone may need more tokens than within its sentence."""
    sentence = text[start:end]
    ids = tokenizer.encode(sentence)
    if len(ids) <= max(wrap_tokens, 2) or (wrap_tokens < cutting.wrap_tokens and len(ids) <= cutting.max_tokens):
        yield Piece(start, end, ids)
        return
    tokens = [(token.start, token.end) for token in tokenizer.tokens(sentence)[:-1]]
    limit = max(wrap_tokens - 1, 1)
    parts = without_long_words(sentence, tokens, limit)
    if parts == [(0, len(sentence))]:
        parts = [span for span in wrap(sentence, tokens, limit) if is_translatable(sentence[slice(*span)])]
        wrap_tokens //= 2
        if parts == [(0, len(sentence))]:  # one character of more tokens than the model takes
            return
    for begin, finish in parts:
        yield from _pieces(text, start + begin, start + finish, tokenizer, cutting, wrap_tokens)


def assemble(
    passage: Passage, outcomes: Sequence[Outcome], tokenizer: Tokenizer, threshold: float | None, alternatives: int
) -> Translation:
    """Join the best hypotheses and what lies between them; details where attention was asked for.

    The n-th alternative takes the n-th best of every piece that has so many, and the best of the others.
    """
    located = [tokenizer.locate(outcome.hypotheses[0].ids) for outcome in outcomes]
    joined = join(passage.text, passage.spans, [decoded.text for decoded in located])
    details = tuple(
        _detail(passage, piece, outcome, joined.starts[number], tokenizer, threshold)
        for number, (piece, outcome) in enumerate(zip(passage.pieces, outcomes, strict=True))
        if outcome.reading is not None
    )
    others = _alternatives(passage, outcomes, located, tokenizer) if alternatives else []
    return Translation(joined.text, tuple(text for text in others if text != joined.text)[:alternatives], details)


def _alternatives(
    passage: Passage, outcomes: Sequence[Outcome], best: Sequence[Decoded], tokenizer: Tokenizer
) -> list[str]:
    texts: list[list[str]] = []
    for outcome, decoded in zip(outcomes, best, strict=True):
        further = (tokenizer.decode(hypothesis.ids) for hypothesis in outcome.hypotheses[1:])
        texts.append(list(dict.fromkeys([decoded.text, *further])))
    most = max(map(len, texts), default=0)
    joined = (
        join(passage.text, passage.spans, [choices[rank] if rank < len(choices) else choices[0] for choices in texts])
        for rank in range(1, most)
    )
    return list(dict.fromkeys(whole.text for whole in joined))


def _detail(
    passage: Passage, piece: Piece, outcome: Outcome, target_start: int, tokenizer: Tokenizer, threshold: float | None
) -> SentenceDetail:
    best, reading = outcome.hypotheses[0], outcome.reading
    assert reading is not None
    source_text = passage.text[piece.start : piece.end]
    source = tokenizer.tokens(source_text, piece.start)
    target = tokenizer.locate(best.ids, target_start)
    return SentenceDetail(
        source_text=source_text,
        target_text=target.text,
        source_start=piece.start,
        target_start=target_start,
        source_tokens=source,
        target_tokens=target.tokens,
        score=best.score,
        token_logprobs=best.logprobs,
        alignment=token_links(reading, source, target.tokens, threshold),
        finish_reason=best.finish_reason,
        word_alignment=word_links(
            reading, (source_text, source, piece.start), (target.text, target.tokens, target_start), threshold
        ),
    )


Side = tuple[str, Sequence[Token], int]  # a text, its tokens, and where the text begins in the text of the tokens


def token_links(
    reading: FloatArray, source: Sequence[Token], target: Sequence[Token], threshold: float | None
) -> alignment.Links:
    """Align tokens, special ones left out."""
    return alignment.links(reading, alignment.plain_groups(source), alignment.plain_groups(target), threshold)


def word_links(reading: FloatArray, source: Side, target: Side, threshold: float | None) -> alignment.Links:
    """Align the words that white space separates: weights of their pieces summed over source, averaged over target."""
    sources, targets = (
        alignment.group(tokens, alignment.white_space_words(text), shift) for text, tokens, shift in (source, target)
    )
    return alignment.links(reading, sources, targets, threshold)
