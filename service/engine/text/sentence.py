"""The sentences of a text as the model reads them, and the translation that is joined from theirs.

The functions have no side effects and read no clock; the translator decides when and where they run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.bundle.confidence import Confidence, signals_of
from service.bundle.wrapping import Span, join
from service.engine.attention.words import axis_of, links_of
from service.engine.cancellation import while_wanted
from service.engine.jobs import FloatArray, Hypothesis, ScoringResult, SearchTrace
from service.engine.text.respelling import respelled
from service.engine.text.short_strings import short_string
from service.engine.text.spelling import Spelling
from service.engine.text.tokenizer import Decoded, Tokenizer, Tokenizers
from service.engine.text.valued_sentence import TermReading, ValuedSentence, valued_sentence
from service.engine.types import SentenceDetail, SentenceQuality, Token, Translation, ValuePath
from service.engine.values.constraints import ValueConstraints
from service.engine.values.value import Value

Side = tuple[str, Sequence[Token], int]  # a text, its tokens, and the position of the text in the text of the tokens


LIKELIER = 0.1
"""Nats by which a text as it is written must be likelier than in small letters. With 0.7 of 300 single words 13 into
French differ from the same in small letters, and not 27, but labels are wrong (*Save*, *Close*, *Home* into German)."""
REPEATED = 0.5
"""Nats more if the translation repeats the text: *Risk* is no name, but the model has seen few other words so."""


def likeliest(logprobs: Sequence[float], *, repeated: bool) -> int:
    """Return the reading that is taken, by the log-probability of the translation of each; the first is as written.

    `repeated`: whether the first translation repeats the text.
    """
    lead = LIKELIER + REPEATED if repeated else LIKELIER
    return max(range(len(logprobs)), key=lambda number: logprobs[number] - (lead if number == 0 else 0.0))


@dataclass(frozen=True, slots=True)
class Sentence:
    """A range of a text that the model translates by itself, and what it reads there."""

    text: str  # of the range
    start: int
    ids: tuple[int, ...]  # what the model reads, the end token last
    valued: ValuedSentence | None = None  # with its values in what is read
    short: Spelling | None = None  # it is read in another spelling, and its translation is written in the first
    rivals: tuple[Sentence, ...] = ()  # other readings of the same range; the likeliest translation of all is taken

    @property
    def readings(self) -> tuple[Sentence, ...]:
        """Return all readings of the range, each without rivals."""
        return (replace(self, rivals=()), *self.rivals) if self.rivals else (self,)

    @property
    def end(self) -> int:
        """Return the end of the range."""
        return self.start + len(self.text)

    @property
    def is_checked(self) -> bool:
        """Return whether what the search finds is not final: it has values, or is written in another spelling."""
        return self.valued is not None or self.short is not None

    @property
    def values(self) -> Sequence[Value]:
        """Return its values, at their places in it."""
        read = () if self.valued is None else self.valued.values
        if self.short is None:
            return read
        spans = [self.short.span(value.start, value.end) for value in read]
        return [replace(value, start=start, end=end) for value, (start, end) in zip(read, spans, strict=True)]

    @property
    def constraints(self) -> ValueConstraints | None:
        """Return the values that its translation must hold, if it has any."""
        return None if self.valued is None else self.valued.constraints

    def source_tokens(self, tokenizer: Tokenizer) -> tuple[Token, ...]:
        """Return the tokens that the model reads, located in the whole text."""
        shift = self.start if self.short is None else 0
        if self.valued is not None:
            tokens = self.valued.source_tokens(tokenizer, shift)
        else:
            tokens = tokenizer.tokens(self.text if self.short is None else self.short.read, shift)
        return tokens if self.short is None else self.short.source_tokens(tokens, self.start)

    def is_well_placed(self, ids: Sequence[int], tokenizer: Tokenizer) -> bool:
        """Return whether a translation holds all of its values, none of them after its end."""
        return self.valued is None or self.valued.is_well_placed(ids, tokenizer)

    def holds_all(self, ids: Sequence[int], tokenizer: Tokenizer) -> bool:
        """Return whether a translation holds all of its values."""
        return self.valued is None or self.valued.holds_all(ids, tokenizer)

    def locate(self, ids: Sequence[int], tokenizer: Tokenizer, shift: int = 0) -> Decoded:
        """Return the text of a translation and the range of each token; `shift` is added to every span."""
        own = shift if self.short is None else 0
        decoded = tokenizer.locate(ids, own) if self.valued is None else self.valued.locate(ids, tokenizer, own)
        return decoded if self.short is None else self.short.write(decoded, shift)

    def translated(self, ids: Sequence[int], tokenizer: Tokenizer) -> str:
        """Return the text of a translation: that of `locate`."""
        return self.locate(ids, tokenizer).text if self.is_checked else tokenizer.decode(ids)

    def read_target(self, text: str, tokenizer: Tokenizer, languages: tuple[str, str]) -> Decoded:
        """Return a given translation of the text, in the tokens that the tokenizer makes of what the model would write.

        That has stand-ins where this sentence has them, and small letters in the place of capitals. `languages` are
        those of the source and of the translation. Tokens are located in `text`.
        """
        valued, short, spelled = self.valued, self.short, None
        if short is not None and (short.capitals or short.mark or short.tail):
            read_as = short_string if short.mark or short.tail else respelled
            held = valued.held_in(text) if valued else {}
            spelled = read_as(text, languages[::-1], tokenizer, [*held.values()])
        read = text if spelled is None else spelled.read
        if short is not None and short.capital and short.read[:1].islower() and len(read[:1].lower()) == 1:
            read = read[:1].lower() + read[1:]
        tokens = tokenizer.tokens(read) if valued is None else valued.target_tokens(read, tokenizer)
        return Decoded(text, tokens if spelled is None else spelled.source_tokens(tokens))

    def reading_terms(self, tokenizers: Tokenizers, terms: TermReading) -> Sentence:
        """Return the same sentence, but the model reads something else in the places of source terms or codes."""
        if self.valued is None or not (self.valued.has_terms or terms == "codes"):
            return self
        other = valued_sentence(self.valued.text, self.valued.values, tokenizers.target, terms)
        return self if other is None else replace(self, ids=tokenizers.source.encode(other.read), valued=other)

    def moved(self, by: int) -> Sentence:
        """Return the sentence at a place that is `by` further on."""
        return replace(self, start=self.start + by, rivals=tuple(rival.moved(by) for rival in self.rivals))


@dataclass(frozen=True, slots=True)
class Translated:
    """A sentence and its hypotheses, best first."""

    sentence: Sentence
    hypotheses: tuple[Hypothesis, ...]
    logprobs: tuple[float, ...]  # of the best one, from the search: the hypothesis may have those of scoring
    weights: FloatArray | None = None  # [T, S] of the alignment head for the best one, if it was scored
    scores: ScoringResult | None = None
    trace: SearchTrace | None = None
    values: ValuePath | None = None  # how its values were kept

    @property
    def ids(self) -> tuple[int, ...]:
        """Return the tokens of the best hypothesis."""
        return self.hypotheses[0].ids

    def detail(self, tokenizers: Tokenizers, threshold: float | None, start: int) -> SentenceDetail:
        """Return the sentence with all details; its translation begins at `start`."""
        target = self.sentence.locate(self.ids, tokenizers.target, start)
        source = self.sentence.source_tokens(tokenizers.source)
        sides = (self.sentence.text, source, self.sentence.start), (target.text, target.tokens, start)
        return replace(self.detail_of(*sides, threshold), values=self.values)

    def detail_of(self, source: Side, target: Side, threshold: float | None) -> SentenceDetail:
        """Return the details of two texts with these tokens."""
        assert self.weights is not None
        best = self.hypotheses[0]
        sides = source, target
        read, written = (axis_of(text, tokens, "subword", start) for text, tokens, start in sides)
        source_words, target_words = (axis_of(text, tokens, "word", start).plain for text, tokens, start in sides)
        return SentenceDetail(
            source_text=source[0],
            target_text=target[0],
            source_start=source[2],
            target_start=target[2],
            source_tokens=tuple(source[1]),
            target_tokens=tuple(target[1]),
            score=best.score,
            token_logprobs=best.logprobs,
            alignment=links_of(self.weights, read, written, threshold),
            finish_reason=best.finish_reason,
            source_words=tuple(word.text for word in source_words.shown),
            target_words=tuple(word.text for word in target_words.shown),
            word_alignment=links_of(self.weights, source_words, target_words, threshold),
            scores=self.scores,
        )


@dataclass(frozen=True, slots=True)
class QualityOptions:
    """The computation of a sentence's quality, and the answer for sentences below `min_quality`."""

    confidence: Confidence | None = None  # None: the model gives no quality
    min_quality: float | None = None
    keep_source: bool = False

    def judge(self, source: str, translation: str, source_tokens: int, logprobs: Sequence[float]) -> SentenceQuality:
        """Return the quality of a sentence's translation, whose place in the whole translation is not known yet."""
        signals = signals_of(source, translation, source_tokens, logprobs)
        quality = None if self.confidence is None else self.confidence.quality(signals)
        low = quality is not None and self.min_quality is not None and quality < self.min_quality
        kept = low and self.keep_source
        return SentenceQuality(source, source if kept else translation, None, quality, signals, low, kept)


def with_quality(detail: SentenceDetail, found: SentenceQuality) -> SentenceDetail:
    """Return the details of a sentence with its quality; a sentence that keeps its source is aligned with itself."""
    if not found.kept_source:
        return replace(detail, quality=found.quality)
    shift = detail.target_start - detail.source_start
    tokens = tuple(replace(token, start=token.start + shift, end=token.end + shift) for token in detail.source_tokens)
    plain = [place for place, token in enumerate(tokens) if token.special is None]
    return replace(
        detail,
        target_text=detail.source_text,
        target_tokens=tokens,
        token_logprobs=(),
        alignment=tuple((place, place) for place in plain),
        target_words=detail.source_words,
        word_alignment=tuple((place, place) for place in range(len(detail.source_words))),
        quality=found.quality,
        kept_source=True,
        values=None,
    )


def assemble(
    text: str,
    results: Sequence[Translated],
    tokenizers: Tokenizers,
    threshold: float | None,
    alternatives: int,
    quality: QualityOptions,
) -> Translation:
    """Return the best hypotheses joined with the text between them, with details of sentences that were scored.

    The n-th alternative takes the n-th best hypothesis of every sentence that has one, and the best of the others.
    """
    best = [result.sentence.translated(result.ids, tokenizers.target) for result in while_wanted(results)]
    qualities = [
        quality.judge(result.sentence.text, translation, len(result.sentence.ids), result.logprobs)
        for result, translation in zip(results, best, strict=True)
    ]
    spans = [(result.sentence.start, result.sentence.end) for result in results]
    joined = join(text, spans, [each.target_text for each in qualities])
    details = tuple(
        with_quality(result.detail(tokenizers, threshold, start), found)
        for result, start, found in zip(while_wanted(results), joined.starts, qualities, strict=True)
        if result.weights is not None
    )
    others = _alternatives(text, spans, results, best, tokenizers.target) if alternatives else []
    placed = tuple(replace(each, start=start) for each, start in zip(qualities, joined.starts, strict=True))
    others = [other for other in others if other != joined.text][:alternatives]
    return Translation(joined.text, tuple(others), details, qualities=placed)


def _alternatives(
    text: str, spans: Sequence[Span], results: Sequence[Translated], best: Sequence[str], tokenizer: Tokenizer
) -> list[str]:
    texts: list[list[str]] = []
    for result, first in zip(while_wanted(results), best, strict=True):
        others = (hypothesis.ids for hypothesis in result.hypotheses[1:])
        sentence = result.sentence
        good = (ids for ids in others if tokenizer.writes_something(ids) and sentence.is_well_placed(ids, tokenizer))
        further = (sentence.translated(ids, tokenizer) for ids in good)
        texts.append(list(dict.fromkeys([first, *further])))
    most = max(map(len, texts), default=0)
    ranked = ([choices[rank if rank < len(choices) else 0] for choices in texts] for rank in range(1, most))
    return list(dict.fromkeys(join(text, spans, chosen).text for chosen in ranked))
