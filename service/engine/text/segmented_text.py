"""A segmented text: cut into segments that the model takes, and joined again from their translations.

The functions have no side effects and read no clock; the translator decides when and where they run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from service.bundle.alignment import Links, links, white_space_words
from service.bundle.wrapping import Segment, Span, cut_sentence, join, outside, whole_text, wrap
from service.engine.attention import alignment
from service.engine.text.segmenter import split_sentences
from service.engine.text.sentence_quality import QualityOptions, with_quality
from service.engine.text.tokenizer import Decoded, Tokenizer, Tokenizers, check_text
from service.engine.text.valued_sentence import ValuedSentence, valued_sentence
from service.engine.types import FloatArray, Hypothesis, SentenceDetail, Token, Translation, ValuePath
from service.engine.values.constraints import ValueConstraints
from service.engine.values.finder import ValueRules, find_values
from service.engine.values.stand_ins import CUT_KINDS
from service.engine.values.terms import Glossary, with_terms
from service.engine.values.value import Kind, Value, shifted


@dataclass(frozen=True, slots=True)
class SegmentationOptions:
    """The options of segmentation; token counts include </s>."""

    language: str
    wrap_tokens: int  # longer sentences are wrapped
    max_tokens: int  # the model's limit
    split: bool = True  # False: the whole text is one sentence
    values: ValueRules | None = None  # how values are found and written; None: they are text as any other
    glossary: Glossary | None = None  # its terms are values too


@dataclass(frozen=True, slots=True)
class SegmentedText:
    """A text and its segments, which are translated; the text between them is copied."""

    text: str
    segments: tuple[Segment, ...]
    valued: Mapping[int, ValuedSentence] = field(default_factory=dict)  # the segments with values, by their number

    def constraints(self, number: int) -> ValueConstraints | None:
        """Return the values that the translation of a segment must hold, if it has any."""
        valued = self.valued.get(number)
        return None if valued is None else valued.constraints

    def source_tokens(self, number: int, tokenizer: Tokenizer) -> tuple[Token, ...]:
        """Return the tokens of a segment, located in the text."""
        segment = self.segments[number]
        if number in self.valued:
            return self.valued[number].source_tokens(tokenizer, segment.start)
        return tokenizer.tokens(self.text[segment.start : segment.end], segment.start)

    def is_well_placed(self, number: int, ids: Sequence[int], tokenizer: Tokenizer) -> bool:
        """Return whether a translation of a segment holds all of its values, none of them after its end."""
        return number not in self.valued or self.valued[number].is_well_placed(ids, tokenizer)

    def holds_all(self, number: int, ids: Sequence[int], tokenizer: Tokenizer) -> bool:
        """Return whether a translation of a segment holds all of its values."""
        return number not in self.valued or self.valued[number].holds_all(ids, tokenizer)

    def locate(self, number: int, ids: Sequence[int], tokenizer: Tokenizer, shift: int = 0) -> Decoded:
        """Return the text of a segment's translation and the range of each token; `shift` is added to every span."""
        if number in self.valued:
            return self.valued[number].locate(ids, tokenizer, shift)
        return tokenizer.locate(ids, shift)

    def reading_terms(self, number: int, tokenizers: Tokenizers) -> SegmentedText:
        """Return the same text, but the model reads target terms in a segment, in the places of the source terms."""
        segment, valued = self.segments[number], self.valued[number]
        other = valued_sentence(valued.text, valued.values, tokenizers.target, reads_targets=True)
        if not valued.has_terms or other is None:
            return self
        segments = list(self.segments)
        segments[number] = Segment(segment.start, segment.end, tokenizers.source.encode(other.read))
        return SegmentedText(self.text, tuple(segments), {**self.valued, number: other})

    def with_segment_of(self, other: SegmentedText, number: int) -> SegmentedText:
        """Return the same text with one segment as the other has it."""
        segments = (*self.segments[:number], other.segments[number], *self.segments[number + 1 :])
        return SegmentedText(self.text, segments, {**self.valued, number: other.valued[number]})

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


def segment_text(
    text: str, tokenizer: Tokenizer, segmentation: SegmentationOptions, target: Tokenizer | None = None
) -> SegmentedText:
    """Return a text with its segments of at most `max_tokens`; raise InvalidText for lone surrogates.

    `target` is the tokenizer of the other side, if that is another one.
    """
    check_text(text)
    values = () if segmentation.values is None else find_values(text, segmentation.values)
    if segmentation.glossary is not None:
        values = with_terms(values, segmentation.glossary.find(text, segmentation.language))
    if values:
        return _with_values(text, values, Tokenizers(tokenizer, target or tokenizer), segmentation)
    spans = split_sentences(text, segmentation.language) if segmentation.split else whole_text(text)
    segments = [
        segment
        for span in spans
        for segment in cut_sentence(text, span, tokenizer, segmentation.wrap_tokens, segmentation.max_tokens)
    ]
    return SegmentedText(text, tuple(segments))


def _with_values(
    text: str, values: Sequence[Value], tokenizers: Tokenizers, segmentation: SegmentationOptions
) -> SegmentedText:
    """Return a text with values and its segments; a segment of values alone is copied."""
    if segmentation.split:
        spans = split_sentences(text, segmentation.language, values)
    else:
        spans = outside(text, 0, len(text), ((v.start, v.end) for v in values if v.kind in CUT_KINDS))
    segments: list[Segment] = []
    valued: dict[int, ValuedSentence] = {}
    limits = segmentation.wrap_tokens, segmentation.wrap_tokens
    first = 0
    for start, end in spans:
        while first < len(values) and values[first].start < start:
            first += 1
        last = first
        while last < len(values) and values[last].end <= end:
            last += 1
        own = values[first:last]
        if not own:
            segments.extend(
                cut_sentence(text, (start, end), tokenizers.source, segmentation.wrap_tokens, segmentation.max_tokens)
            )
            continue
        for segment, sentence in _valued_segments(
            (text, own), (start, end), tokenizers, limits, segmentation.max_tokens
        ):
            if sentence is not None:
                valued[len(segments)] = sentence
            segments.append(segment)
    return SegmentedText(text, tuple(segments), valued)


def cut_at_values(
    segmented: SegmentedText, numbers: Collection[int], tokenizer: Tokenizer, segmentation: SegmentationOptions
) -> tuple[SegmentedText, list[int | str | None]]:
    """Return the text with some of its segments cut at their values, which are copied then.

    Also return for each segment of the result its number before, or None if it is a part of one that was cut, or its
    translation if it is a term.
    """
    segments: list[Segment] = []
    valued: dict[int, ValuedSentence] = {}
    before: list[int | str | None] = []
    for number, segment in enumerate(segmented.segments):
        if number not in numbers:
            if number in segmented.valued:
                valued[len(segments)] = segmented.valued[number]
            segments.append(segment)
            before.append(number)
            continue
        values = segmented.valued[number].values
        copied = ((value.start + segment.start, value.end + segment.start) for value in values)
        cut: list[tuple[Segment, str | None]] = [
            (part, None)
            for span in outside(segmented.text, segment.start, segment.end, copied)
            for part in cut_sentence(segmented.text, span, tokenizer, segmentation.wrap_tokens, segmentation.max_tokens)
        ]
        for value in values:
            if value.kind is Kind.TERM:
                start, end = value.start + segment.start, value.end + segment.start
                cut.append((Segment(start, end, tokenizer.encode(value.text)), value.written))
        cut.sort(key=lambda part: part[0].start)
        segments += [part for part, _ in cut]
        before += [written for _, written in cut]
    return SegmentedText(segmented.text, tuple(segments), valued), before


def _valued_segments(
    given: tuple[str, Sequence[Value]], span: Span, tokenizers: Tokenizers, limits: tuple[int, int], max_tokens: int
) -> Iterator[tuple[Segment, ValuedSentence | None]]:
    """Yield the segments of a range of a text with values; `limits` are as in `service.bundle.wrapping`."""
    text, values = given
    start, end = span
    own = [shifted(value, -start) for value in values if start <= value.start and value.end <= end]
    sentence = text[start:end]
    if not _has_words(sentence, own):
        return
    here, whole = limits
    if not own:
        for segment in cut_sentence(text, span, tokenizers.source, whole, max_tokens):
            yield segment, None
        return
    valued = valued_sentence(sentence, own, tokenizers.target)
    if valued is not None:
        ids = tokenizers.source.encode(valued.read)
        if len(ids) <= max(here, 2) or (here < whole and len(ids) <= max_tokens):
            yield Segment(start, end, ids), valued
            return
    parts = _wrapped(sentence, own, tokenizers.source, max(here - 1, 1), valued)
    if parts == [(0, len(sentence))]:
        here //= 2
    for begin, finish in parts:
        if here:
            yield from _valued_segments(given, (start + begin, start + finish), tokenizers, (here, whole), max_tokens)


def _wrapped(
    sentence: str, values: Sequence[Value], tokenizer: Tokenizer, limit: int, valued: ValuedSentence | None
) -> list[Span]:
    """Return the parts of a sentence that is too long or has too many values; no part ends inside a value."""
    if valued is None:
        middle = values[len(values) // 2]
        return outside(sentence, 0, len(sentence), [(middle.start, middle.end)])
    blank = sentence
    for value in values:
        blank = blank[: value.start] + "0" * (value.end - value.start) + blank[value.end :]
    spans = [(token.start, token.end) for token in valued.source_tokens(tokenizer) if token.special is None]
    return wrap(blank, spans, limit)


def _has_words(sentence: str, values: Sequence[Value]) -> bool:
    """Return whether there is anything to translate: a term, or a letter outside of values."""
    if any(value.kind is Kind.TERM for value in values):
        return True
    position = 0
    for value in values:
        if any(map(str.isalpha, sentence[position : value.start])):
            return True
        position = value.end
    return any(map(str.isalpha, sentence[position:]))


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
    located = [
        segmented.locate(number, result.hypotheses[0].ids, tokenizers.target) for number, result in enumerate(results)
    ]
    qualities = [
        quality.judge(segmented.text[segment.start : segment.end], decoded.text, len(segment.ids), result.logprobs)
        for segment, result, decoded in zip(segmented.segments, results, located, strict=True)
    ]
    joined = join(segmented.text, segmented.spans, [each.target_text for each in qualities])
    details = tuple(
        with_quality(
            _detail(segmented, number, result, joined.starts[number], tokenizers, threshold), qualities[number]
        )
        for number, result in enumerate(results)
        if result.weights is not None
    )
    others = _alternatives(segmented, results, located, tokenizers.target) if alternatives else []
    placed = tuple(replace(each, start=start) for each, start in zip(qualities, joined.starts, strict=True))
    others = [text for text in others if text != joined.text][:alternatives]
    return Translation(joined.text, tuple(others), details, qualities=placed)


def _alternatives(
    segmented: SegmentedText, results: Sequence[SegmentResult], best: Sequence[Decoded], tokenizer: Tokenizer
) -> list[str]:
    texts: list[list[str]] = []
    for number, (result, decoded) in enumerate(zip(results, best, strict=True)):
        others = (hypothesis.ids for hypothesis in result.hypotheses[1:])
        further = (
            segmented.locate(number, ids, tokenizer).text
            for ids in others
            if segmented.holds_all(number, ids, tokenizer)
        )
        texts.append(list(dict.fromkeys([decoded.text, *further])))
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
