"""The plain values of the engine's interface: requests and results.

All are frozen; none holds a thread, a session or a file. Spans are half-open ranges of Unicode code points in the
caller's text. Log-probabilities are natural logarithms.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from service.bundle.manifest import EarlyStopping, Step
from service.engine.fields import TextFields, ValueHandling
from service.engine.jobs import (
    MAX_BEAM_SIZE,
    AttentionScores,
    AttentionStage,
    FinishReason,
    FloatArray,
    ScoringResult,
    SearchTrace,
    Selector,
)
from service.engine.values.terms import Glossary

# occlusion: no attention, but what each target token loses if a source word is removed; shown beside it
ViewKind = Literal["cross", "encoder", "decoder", "occlusion"]
MapKind = Literal["cross", "encoder", "decoder", "occlusion"]
# search: the tokens that a search chose; ids: given ones; canonical: those that the tokenizer makes of a given
# translation, which are not always the ones that a search chooses
TargetPath = Literal["search", "canonical", "ids"]
# search: written in the search; retry: in another one; copied: the sentence was cut at them, and they were copied
ValuePath = Literal["search", "retry", "copied"]
TokenKind = Literal["subword", "word"]
Effort = Literal["usual", "best"]
Specials = Literal["keep", "drop", "renormalise"]
# Log-probabilities a token of sources, given their translations: (translation, source) pairs and a deadline.
BackScores = Callable[[Sequence[tuple[str, str]], float | None], Awaitable[Sequence[float]]]
TERMS_OF_A_HYPOTHESIS = 100  # characters of a glossary that are as much work as a hypothesis


@dataclass(frozen=True, kw_only=True)
class TranslationOptions(TextFields):
    """How to search; None: as the model's manifest says."""

    values: ValueHandling = "localize"
    glossary: Glossary | None = None  # how its terms are translated
    details: bool = False  # also return tokens, scores and word alignment of each sentence
    early_stopping: EarlyStopping | None = None  # when a search ends, as in transformers (ADR 6)
    back: BackScores | None = None  # by a model of the other direction, to choose among all hypotheses by them, too
    # how the translation of the one sentence begins, and alternatives differ from it after that; None: as it likes
    target_prefix: str | None = None

    @classmethod
    def of(cls, given: object, **more: Any) -> TranslationOptions:
        """Return the options that a request, a job or a call has under the same names, and more.

        None leaves the default.
        """
        own, values = cls.__dataclass_fields__, {**vars(given), **more}
        return cls(**{name: value for name, value in values.items() if value is not None and name in own})

    @property
    def keeps_source(self) -> bool:
        """Return whether sentences below min_quality are not translated."""
        return self.below_min_quality == "keep_source"

    @property
    def weight(self) -> int:
        """Return how much work the text of a sentence is, in that of one hypothesis without a glossary."""
        terms = 0 if self.glossary is None else self.glossary.size
        hypotheses = 1 + self.alternatives if self.back is None else MAX_BEAM_SIZE
        return hypotheses * (1 + terms // TERMS_OF_A_HYPOTHESIS)


@dataclass(frozen=True, slots=True)
class Token:
    """One vocabulary entry of a text and its range in the caller's own text."""

    id: int
    piece: str  # the vocabulary's own spelling
    text: str  # exactly text[start:end]; empty for special tokens
    start: int
    end: int
    special: str | None = None  # "</s>" for the end token

    @property
    def ids(self) -> tuple[int, ...]:
        """Return the id, as a word has the ids of its tokens."""
        return (self.id,)


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text, by the rule of service.engine.attention.words, and its range in the caller's own text."""

    ids: tuple[int, ...]  # of its tokens
    piece: str  # their spellings, joined
    text: str
    start: int
    end: int
    special: str | None = None  # a special token is a word of its own


TokenOrWord = Token | Word  # what a view shows, by its TokenKind


@dataclass(frozen=True, slots=True)
class SentenceDetail:
    """One translated sentence with all details."""

    source_text: str
    target_text: str
    source_start: int  # of this sentence in the caller's text
    target_start: int  # of this sentence in Translation.text
    source_tokens: tuple[Token, ...]
    target_tokens: tuple[Token, ...]
    score: float
    token_logprobs: tuple[float, ...]
    alignment: tuple[tuple[int, int], ...]  # (source token, target token)
    finish_reason: FinishReason
    source_words: tuple[str, ...] = ()
    target_words: tuple[str, ...] = ()
    word_alignment: tuple[tuple[int, int], ...] = ()  # (source word, target word)
    values: ValuePath | None = None  # how its values were kept; None: it has none
    quality: float | None = None  # the probability that a reader would call it usable; None: the model gives none
    kept_source: bool = False  # its quality is too low, so the target is its source, without log-probabilities
    lost: tuple[str, ...] = ()  # numbers, values, months, days and names that the translation lacks
    added: tuple[str, ...] = ()  # numbers that the source lacks
    # Of the path from the tokens of its source to those of its target, closed by </s>; in this process only.
    scores: ScoringResult | None = field(default=None, compare=False, repr=False)
    # The range of each value in the caller's text, and in Translation.text; in this process only.
    value_spans: tuple[tuple[tuple[int, int], tuple[int, int]], ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SentenceQuality:
    """The quality of one sentence of a translation."""

    source_text: str
    target_text: str
    start: int | None  # of target_text in Translation.text; None in HTML
    quality: float | None  # 0 to 1; None: the model's manifest has no coefficients
    signals: tuple[float, ...]  # the values of service.bundle.confidence.SIGNALS
    low: bool = False  # below min_quality
    kept_source: bool = False
    lost: tuple[str, ...] = ()  # numbers, values, months, days and names that the translation lacks
    added: tuple[str, ...] = ()  # numbers that the source lacks


@dataclass(frozen=True, slots=True)
class PivotText:
    """The text between the two legs of a translation through a pivot language."""

    language: str
    text: str
    model: str  # of the first leg
    digest: str
    sentences: tuple[SentenceDetail, ...] = ()  # of the first leg, if details were requested


def mean_quality(parts: Iterable[tuple[float | None, int]]) -> float | None:
    """Return the mean of the qualities that are known, by the lengths beside them; None if none is."""
    judged = [(quality, length) for quality, length in parts if quality is not None]
    total = sum(length for _, length in judged)
    return sum(quality * length for quality, length in judged) / total if total else None


@dataclass(frozen=True, slots=True)
class Translation:
    """The translation of one text; `sentences` is filled only if details were requested."""

    text: str
    alternatives: tuple[str, ...] = ()
    sentences: tuple[SentenceDetail, ...] = ()  # their source is the caller's text, or that of `pivot` if there is one
    pivot: PivotText | None = None
    qualities: tuple[SentenceQuality, ...] = ()  # of every sentence that was translated

    @property
    def quality(self) -> float | None:
        """Return the share of the text that is expected to be usable, over its sentences by length; None: not known."""
        return mean_quality((quality.quality, len(quality.source_text)) for quality in self.qualities)


@dataclass(frozen=True, slots=True)
class AttentionOptions:
    """The attention weights to return, and their tokens."""

    kind: ViewKind = "cross"
    layer: Selector = "align"
    head: Selector = "align"
    tokens: TokenKind = "subword"
    specials: Specials = "keep"
    translation: TranslationOptions = field(default_factory=TranslationOptions)
    stage: AttentionStage = "weights"
    trace: bool = False  # also the search that found the translation, which must be the model's own
    target_ids: tuple[int, ...] = ()  # the tokens of a given translation: exactly this path to it is scored
    source_ids: tuple[int, ...] = ()  # what the model read when it chose them; none: what a translation reads
    member: str | None = None  # of an ensemble: the model whose weights are returned; None: the first


@dataclass(frozen=True, slots=True, eq=False)
class AttentionMap:
    """Attention weights of one sentence pair, with named axes and located tokens."""

    kind: MapKind
    layer: Selector
    head: Selector
    axes: tuple[str, ...]  # e.g. ("target", "source"), with "layer" and "head" in front for `all`
    weights: FloatArray  # NaN in a row that no step of the decoder belongs to; for occlusion log-probabilities lost
    source_text: str
    target_text: str
    source_tokens: tuple[TokenOrWord, ...]
    target_tokens: tuple[TokenOrWord, ...]
    score: float
    token_logprobs: tuple[float, ...]
    token_ranks: tuple[int, ...]  # 1: the model's first choice
    alignment: tuple[tuple[int, int], ...]
    digest: str
    model: str  # whose weights these are
    # Tokens of the last axis: source_tokens, or for kind "decoder" <s> and the target tokens that had been read, or
    # for kind "occlusion" the source tokens that were removed.
    column_tokens: tuple[TokenOrWord, ...] = ()
    step: Step | None = "produce"  # the decoder step of a row; None for rows of the encoder
    scores: AttentionScores | None = None  # with stage "scores"
    quality: float | None = None  # of the model's own translation; None: it gives none, or the translation was given
    search: RecordedSearch | None = None  # with `trace`
    path: TargetPath = "search"  # how the tokens of the target were chosen
    ensemble: str | None = None  # the model is a member of it, whose translation, scores and digest these are


@dataclass(frozen=True, slots=True)
class RecordedSearch:
    """A recorded search as callers see it."""

    trace: SearchTrace
    pieces: Mapping[int, str]  # the vocabulary's spelling of every token of the trace
    beam_size: int
    length_penalty: float
    shortlist: bool  # whether probabilities are over the tokens of a shortlist instead of the whole vocabulary
