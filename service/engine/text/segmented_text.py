"""A segmented text: its segments, and the translation that is joined from theirs.

The functions have no side effects and read no clock; the translator decides when and where they run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from service.bundle.alignment import Links, links, white_space_words
from service.bundle.wrapping import Segment, Span, join
from service.engine.attention import alignment
from service.engine.text.sentence_quality import QualityOptions, with_quality
from service.engine.text.short_strings import ShortString
from service.engine.text.tokenizer import Decoded, Tokenizer, Tokenizers
from service.engine.text.valued_sentence import TermReading, ValuedSentence, valued_sentence
from service.engine.types import FloatArray, Hypothesis, SentenceDetail, Token, Translation, ValuePath
from service.engine.values.constraints import ValueConstraints


@dataclass(frozen=True, slots=True)
class SegmentedText:
    """A text and its segments, which are translated; the text between them is copied."""

    text: str
    segments: tuple[Segment, ...]
    valued: Mapping[int, ValuedSentence] = field(default_factory=dict)  # the segments with values, by their number
    short: Mapping[int, ShortString] = field(
        default_factory=dict
    )  # the segments whose values are those of what is read

    def constraints(self, number: int) -> ValueConstraints | None:
        """Return the values that the translation of a segment must hold, if it has any."""
        valued = self.valued.get(number)
        return None if valued is None else valued.constraints

    def source_tokens(self, number: int, tokenizer: Tokenizer) -> tuple[Token, ...]:
        """Return the tokens of a segment, located in the text."""
        segment, short = self.segments[number], self.short.get(number)
        shift = segment.start if short is None else 0
        if number in self.valued:
            tokens = self.valued[number].source_tokens(tokenizer, shift)
        elif short is not None:
            tokens = tokenizer.tokens(short.read)
        else:
            return tokenizer.tokens(self.text[segment.start : segment.end], shift)
        return tokens if short is None else short.source_tokens(tokens, segment.start)

    def is_well_placed(self, number: int, ids: Sequence[int], tokenizer: Tokenizer) -> bool:
        """Return whether a translation of a segment holds all of its values, none of them after its end."""
        return number not in self.valued or self.valued[number].is_well_placed(ids, tokenizer)

    def holds_all(self, number: int, ids: Sequence[int], tokenizer: Tokenizer) -> bool:
        """Return whether a translation of a segment holds all of its values."""
        return number not in self.valued or self.valued[number].holds_all(ids, tokenizer)

    def locate(self, number: int, ids: Sequence[int], tokenizer: Tokenizer, shift: int = 0) -> Decoded:
        """Return the text of a segment's translation and the range of each token; `shift` is added to every span."""
        short, valued = self.short.get(number), self.valued.get(number)
        own = shift if short is None else 0
        decoded = tokenizer.locate(ids, own) if valued is None else valued.locate(ids, tokenizer, own)
        return decoded if short is None else short.write(decoded, shift)

    def translated(self, number: int, ids: Sequence[int], tokenizer: Tokenizer) -> str:
        """Return the text of a segment's translation: that of `locate`."""
        plain = number not in self.short and number not in self.valued
        return tokenizer.decode(ids) if plain else self.locate(number, ids, tokenizer).text

    def reading_terms(self, number: int, tokenizers: Tokenizers, terms: TermReading = "target") -> SegmentedText:
        """Return the same text, but the model reads something else in the places of a segment's source terms."""
        segment, valued = self.segments[number], self.valued[number]
        other = valued_sentence(valued.text, valued.values, tokenizers.target, terms)
        if not valued.has_terms or other is None:
            return self
        segments = list(self.segments)
        segments[number] = Segment(segment.start, segment.end, tokenizers.source.encode(other.read))
        return replace(self, segments=tuple(segments), valued={**self.valued, number: other})

    def with_segment_of(self, other: SegmentedText, number: int) -> SegmentedText:
        """Return the same text with one segment as the other has it."""
        segments = (*self.segments[:number], other.segments[number], *self.segments[number + 1 :])
        return replace(self, segments=segments, valued={**self.valued, number: other.valued[number]})

    def only(self, number: int) -> SegmentedText:
        """Return the same text with one of its segments alone."""
        valued = {0: self.valued[number]} if number in self.valued else {}
        short = {0: self.short[number]} if number in self.short else {}
        return SegmentedText(self.text, (self.segments[number],), valued, short)

    def is_checked(self, number: int) -> bool:
        """Return whether what the search finds for a segment is not final: it has values, or is a short string."""
        return number in self.valued or number in self.short

    @property
    def spans(self) -> list[Span]:
        """Return the ranges of the segments."""
        return [(segment.start, segment.end) for segment in self.segments]


@dataclass(frozen=True, slots=True)
class SegmentResult:
    """The hypotheses of one segment, best first."""

    hypotheses: tuple[Hypothesis, ...]
    weights: FloatArray | None = None  # [T, S] of the alignment head for the best one, if details were requested
    values: ValuePath | None = None  # how the values of the segment were kept
    logprobs: tuple[float, ...] = ()  # of the best one, from the search: the hypothesis may have those of scoring


def assemble(
    segmented: SegmentedText,
    results: Sequence[SegmentResult],
    tokenizers: Tokenizers,
    threshold: float | None,
    alternatives: int,
    quality: QualityOptions,
) -> Translation:
    """Return the best hypotheses joined with the text between them, with details if there are `weights`.

    The n-th alternative takes the n-th best hypothesis of every segment that has one, and the best of the others.
    """
    best = [
        segmented.translated(number, result.hypotheses[0].ids, tokenizers.target)
        for number, result in enumerate(results)
    ]
    qualities = [
        quality.judge(segmented.text[segment.start : segment.end], translation, len(segment.ids), result.logprobs)
        for segment, result, translation in zip(segmented.segments, results, best, strict=True)
    ]
    joined = join(segmented.text, segmented.spans, [each.target_text for each in qualities])
    details = tuple(
        with_quality(
            _detail(segmented, number, result, joined.starts[number], tokenizers, threshold), qualities[number]
        )
        for number, result in enumerate(results)
        if result.weights is not None
    )
    others = _alternatives(segmented, results, best, tokenizers.target) if alternatives else []
    placed = tuple(each.placed(start) for each, start in zip(qualities, joined.starts, strict=True))
    others = [text for text in others if text != joined.text][:alternatives]
    return Translation(joined.text, tuple(others), details, qualities=placed)


def _alternatives(
    segmented: SegmentedText, results: Sequence[SegmentResult], best: Sequence[str], tokenizer: Tokenizer
) -> list[str]:
    texts: list[list[str]] = []
    for number, (result, text) in enumerate(zip(results, best, strict=True)):
        others = (hypothesis.ids for hypothesis in result.hypotheses[1:])
        further = (
            segmented.translated(number, ids, tokenizer)
            for ids in others
            if segmented.is_well_placed(number, ids, tokenizer)
        )
        texts.append(list(dict.fromkeys([text, *further])))
    most = max(map(len, texts), default=0)
    ranked = ([choices[rank if rank < len(choices) else 0] for choices in texts] for rank in range(1, most))
    joined = (join(segmented.text, segmented.spans, chosen) for chosen in ranked)
    return list(dict.fromkeys(whole.text for whole in joined))


def _detail(
    segmented: SegmentedText,
    number: int,
    result: SegmentResult,
    target_start: int,
    tokenizers: Tokenizers,
    threshold: float | None,
) -> SentenceDetail:
    segment, best, weights = segmented.segments[number], result.hypotheses[0], result.weights
    assert weights is not None
    source_text = segmented.text[segment.start : segment.end]
    source = segmented.source_tokens(number, tokenizers.source)
    target = segmented.locate(number, best.ids, tokenizers.target, target_start)
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
        values=result.values,
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
