"""A segmented text: cut into segments that the model takes, and joined again from their translations.

The functions have no side effects and read no clock; the translator decides when and where they run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from service.bundle.alignment import Links, links, white_space_words
from service.bundle.wrapping import Segment, Span, cut_sentence, join, whole_text
from service.engine.attention import alignment
from service.engine.text.segmenter import split_sentences
from service.engine.text.tokenizer import Decoded, Tokenizer, Tokenizers, check_text
from service.engine.types import FloatArray, Hypothesis, SentenceDetail, Token, Translation


@dataclass(frozen=True, slots=True)
class SegmentationOptions:
    """The options of segmentation; token counts include </s>."""

    language: str
    wrap_tokens: int  # longer sentences are wrapped
    max_tokens: int  # the model's limit
    split: bool = True  # False: the whole text is one sentence


@dataclass(frozen=True, slots=True)
class SegmentedText:
    """A text and its segments, which are translated; the text between them is copied."""

    text: str
    segments: tuple[Segment, ...]

    @property
    def spans(self) -> list[Span]:
        """Return the ranges of the segments."""
        return [(segment.start, segment.end) for segment in self.segments]


@dataclass(frozen=True, slots=True)
class SegmentResult:
    """The hypotheses of one segment, best first."""

    hypotheses: tuple[Hypothesis, ...]
    weights: FloatArray | None = None  # [T, S] of the alignment head for the best one, if details were requested


def segment_text(text: str, tokenizer: Tokenizer, segmentation: SegmentationOptions) -> SegmentedText:
    """Return a text with its segments of at most `max_tokens`; raise InvalidText for lone surrogates."""
    check_text(text)
    spans = split_sentences(text, segmentation.language) if segmentation.split else whole_text(text)
    segments = [
        segment
        for span in spans
        for segment in cut_sentence(text, span, tokenizer, segmentation.wrap_tokens, segmentation.max_tokens)
    ]
    return SegmentedText(text, tuple(segments))


def assemble(
    segmented: SegmentedText,
    results: Sequence[SegmentResult],
    tokenizers: Tokenizers,
    threshold: float | None,
    alternatives: int,
) -> Translation:
    """Return the best hypotheses joined with the text between them, with details if there are `weights`.

    The n-th alternative takes the n-th best hypothesis of every segment that has one, and the best of the others.
    """
    located = [tokenizers.target.locate(result.hypotheses[0].ids) for result in results]
    joined = join(segmented.text, segmented.spans, [decoded.text for decoded in located])
    details = tuple(
        _detail(segmented, segment, result, joined.starts[number], tokenizers, threshold)
        for number, (segment, result) in enumerate(zip(segmented.segments, results, strict=True))
        if result.weights is not None
    )
    others = _alternatives(segmented, results, located, tokenizers.target) if alternatives else []
    return Translation(joined.text, tuple(text for text in others if text != joined.text)[:alternatives], details)


def _alternatives(
    segmented: SegmentedText, results: Sequence[SegmentResult], best: Sequence[Decoded], tokenizer: Tokenizer
) -> list[str]:
    texts: list[list[str]] = []
    for result, decoded in zip(results, best, strict=True):
        further = (tokenizer.decode(hypothesis.ids) for hypothesis in result.hypotheses[1:])
        texts.append(list(dict.fromkeys([decoded.text, *further])))
    most = max(map(len, texts), default=0)
    ranked = ([choices[rank if rank < len(choices) else 0] for choices in texts] for rank in range(1, most))
    joined = (join(segmented.text, segmented.spans, chosen) for chosen in ranked)
    return list(dict.fromkeys(whole.text for whole in joined))


def _detail(
    segmented: SegmentedText,
    segment: Segment,
    result: SegmentResult,
    target_start: int,
    tokenizers: Tokenizers,
    threshold: float | None,
) -> SentenceDetail:
    best, weights = result.hypotheses[0], result.weights
    assert weights is not None
    source_text = segmented.text[segment.start : segment.end]
    source = tokenizers.source.tokens(source_text, segment.start)
    target = tokenizers.target.locate(best.ids, target_start)
    return SentenceDetail(
        source_text=source_text,
        target_text=target.text,
        source_start=segment.start,
        target_start=target_start,
        source_tokens=source,
        target_tokens=target.tokens,
        score=best.score,
        token_logprobs=best.logprobs,
        alignment=token_links(weights, source, target.tokens, threshold),
        finish_reason=best.finish_reason,
        word_alignment=word_links(
            weights,
            (source_text, source, segment.start),
            (target.text, target.tokens, target_start),
            threshold,
        ),
    )


Side = tuple[str, Sequence[Token], int]  # a text, its tokens, and the position of the text in the text of the tokens


def token_links(
    weights: FloatArray, source: Sequence[Token], target: Sequence[Token], threshold: float | None
) -> Links:
    """Return the links between tokens, without special ones."""
    return links(weights, alignment.plain_groups(source), alignment.plain_groups(target), threshold)


def word_links(weights: FloatArray, source: Side, target: Side, threshold: float | None) -> Links:
    """Return the links between words, which white space separates.

    Weights of subwords are summed over a source word and averaged over a target word.
    """
    sources, targets = (
        alignment.group(tokens, white_space_words(text), shift) for text, tokens, shift in (source, target)
    )
    return links(weights, sources, targets, threshold)
