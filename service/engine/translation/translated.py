"""The translations of sentences, and the translation of a text that is joined from theirs.

The functions have no side effects and read no clock; the translator decides when and where they run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.bundle.confidence import signals_of
from service.bundle.wrapping import Joined, Span, join
from service.engine.attention.words import axis_of, links_of
from service.engine.cancellation import while_wanted
from service.engine.jobs import FloatArray, Hypothesis, ScoringResult, SearchTrace
from service.engine.text.reading import Reading
from service.engine.text.tokenizer import Tokenizer, Tokenizers
from service.engine.translation.losses import LOWERED, NOTHING, losses_of
from service.engine.translation.pair_model import PairModel
from service.engine.types import SentenceDetail, SentenceQuality, Token, Translation, TranslationOptions, ValuePath
from service.engine.values.finder import amounts_outside
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
class TranslatedSentence:
    """A sentence and its hypotheses, best first."""

    sentence: Reading
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
        spans = self.sentence.value_spans(self.ids, target.tokens)
        return replace(self.detail_of(*sides, threshold), values=self.values, value_spans=spans)

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


def judge(
    sentence: Reading, translation: str, logprobs: Sequence[float], pair: PairModel, options: TranslationOptions
) -> SentenceQuality:
    """Return the quality of a sentence's translation, whose place in the whole translation is not known yet."""
    source, info = sentence.text, pair.info
    signals = signals_of(source, translation, len(sentence.ids), logprobs)
    # It was fitted on the model's own words.
    confidence = pair.manifest.confidence if options.target_prefix is None else None
    quality = None if confidence is None else confidence.quality(signals)
    losses = losses_of(source, translation, sentence.values, (info.source_language, info.target_language))
    if quality is not None and losses is not NOTHING:
        quality *= LOWERED
    low = quality is not None and options.min_quality is not None and quality < options.min_quality
    kept = low and options.keeps_source
    own = NOTHING if kept else losses
    target = source if kept else translation
    return SentenceQuality(source, target, None, quality, signals, low, kept, own.lost, own.added)


def with_quality(detail: SentenceDetail, quality: SentenceQuality) -> SentenceDetail:
    """Return the details of a sentence with its quality; a sentence that keeps its source is aligned with itself."""
    if not quality.kept_source:
        return replace(detail, quality=quality.quality, lost=quality.lost, added=quality.added)
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
        quality=quality.quality,
        kept_source=True,
        values=None,
        value_spans=(),
    )


def assemble(
    text: str, results: Sequence[TranslatedSentence], pair: PairModel, options: TranslationOptions
) -> Translation:
    """Return the best hypotheses joined with the text between them, with details of sentences that were scored.

    The n-th alternative takes the n-th best hypothesis of every sentence that has one, and the best of the others.
    """
    tokenizers, alternatives = pair.tokenizers, options.alternatives
    best = [result.sentence.translated(result.ids, tokenizers.target) for result in while_wanted(results)]
    qualities = [
        judge(result.sentence, translation, result.logprobs, pair, options)
        for result, translation in zip(results, best, strict=True)
    ]
    spans = [(result.sentence.start, result.sentence.end) for result in results]
    amounts = amounts_outside(text, spans, pair.rules) if options.values == "localize" else []
    joined = _joined(text, spans, [quality.target_text for quality in qualities], amounts)
    details = tuple(
        with_quality(result.detail(tokenizers, pair.align.threshold, start), quality)
        for result, start, quality in zip(while_wanted(results), joined.starts, qualities, strict=True)
        if result.weights is not None
    )
    choices = _choices(results, best, tokenizers.target) if alternatives else []
    others = list(dict.fromkeys(_joined(text, spans, chosen, amounts).text for chosen in choices))
    placed = tuple(replace(quality, start=start) for quality, start in zip(qualities, joined.starts, strict=True))
    others = [alternative for alternative in others if alternative != joined.text][:alternatives]
    return Translation(joined.text, tuple(others), details, qualities=placed)


def _joined(text: str, spans: Sequence[Span], translations: Sequence[str], amounts: Sequence[Value]) -> Joined:
    """Return a text with translations in some ranges, and with amounts between them as the target language has them."""
    if not amounts:
        return join(text, spans, translations)
    parts = [(span, new, True) for span, new in zip(spans, translations, strict=True)]
    parts += [((amount.start, amount.end), amount.written, False) for amount in amounts]
    parts.sort(key=lambda part: part[0])
    joined = join(text, [span for span, _, _ in parts], [new for _, new, _ in parts])
    starts = zip(joined.starts, parts, strict=True)
    return Joined(joined.text, tuple(start for start, (_, _, is_sentence) in starts if is_sentence))


def _choices(results: Sequence[TranslatedSentence], best: Sequence[str], tokenizer: Tokenizer) -> list[list[str]]:
    """Return other translations of the sentences, the likeliest first."""
    texts: list[list[str]] = []
    for result, first in zip(while_wanted(results), best, strict=True):
        others = (hypothesis.ids for hypothesis in result.hypotheses[1:])
        sentence = result.sentence
        good = (ids for ids in others if tokenizer.writes_something(ids) and sentence.keeps_values(ids, tokenizer))
        further = (sentence.translated(ids, tokenizer) for ids in good)
        texts.append(list(dict.fromkeys([first, *further])))
    most = max(map(len, texts), default=0)
    return [[choices[rank if rank < len(choices) else 0] for choices in texts] for rank in range(1, most)]
