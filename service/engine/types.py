"""The plain values of the engine's interface: requests and results.

All are frozen; none holds a thread, a session or a file. Spans are half-open ranges of Unicode code points in the
caller's text. Log-probabilities are natural logarithms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from service.bundle.manifest import EarlyStopping, Step
from service.engine.values.constraints import ValueConstraints
from service.engine.values.terms import Glossary

FinishReason = Literal["eos", "length"]
ModelStateName = Literal[
    "ready", "closed", "opening", "starting", "restarting", "hanging", "failed", "stopping", "refused"
]  # the first three accept requests
AttentionKind = Literal["cross", "encoder", "decoder"]
# occlusion: no attention, but what each target token loses if a source word is removed; shown beside it
ViewKind = Literal["cross", "encoder", "decoder", "occlusion"]
MapKind = Literal["cross", "encoder", "decoder", "occlusion", "sentence"]  # sentence: hops (service.embedding)
# localize: kept, and written as the target language does; keep: kept as they are; off: text as any other
ValueHandling = Literal["localize", "keep", "off"]
# search: the tokens that a search chose; ids: given ones; canonical: those that the tokenizer makes of a given
# translation, which are not always the ones that a search chooses
TargetPath = Literal["search", "canonical", "ids"]
# search: written in the search; retry: in a wider one; copied: the sentence was cut at them, and they were copied
ValuePath = Literal["search", "retry", "copied"]
AttentionStage = Literal["weights", "scores"]  # after the softmax; before it
ScoreFunction = Literal["dot", "scaled_dot", "additive", "other"]
# What makes weights of scores: a softmax; one in a window around a centre; the choice of the largest.
Normalisation = Literal["softmax", "local", "hard"]
TokenKind = Literal["subword", "word"]
Specials = Literal["keep", "drop", "renormalise"]
Selector = Literal["align", "mean", "all"] | int
FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
# Gets each chosen token, its log-probability and its row of the aligning head, [S], if the job asks for the rows and
# the model's steps return them; in the worker's thread, so it must only pass them on.
TokenListener = Callable[[int, float, FloatArray | None], None]

MAX_BEAM_SIZE = 8
MAX_LENGTH_PENALTY = 5.0


@dataclass(frozen=True, slots=True)
class TranslationOptions:
    """How to search; None: as the model's manifest says."""

    beam_size: int | None = None  # hypotheses kept in parallel, 1 (greedy) to 8
    length_penalty: float | None = None  # 0: plain sum of log-probabilities; 1: their mean; more favours longer output
    max_length: int | None = None  # most tokens of a sentence, </s> counted; None: a limit that depends on its source
    min_length: int = 0  # least tokens of a sentence, </s> not counted
    alternatives: int = 0  # number of further translations, best first, all different
    values: ValueHandling = "localize"  # what becomes of numbers, addresses, placeholders and other values
    glossary: Glossary | None = None  # how its terms are translated
    details: bool = False  # also return tokens, scores and word alignment of each sentence
    min_quality: float | None = None  # sentences below it are marked; None: no sentence is
    keep_source: bool = False  # sentences below min_quality are not translated
    early_stopping: EarlyStopping | None = None  # when a search ends, as in transformers (ADR 7)
    repetition_guard: bool | None = None  # whether endless repetition is stopped


@dataclass(frozen=True, slots=True)
class Token:
    """One vocabulary entry of a text and its range in the caller's own text."""

    id: int
    piece: str  # the vocabulary's own spelling
    text: str  # exactly text[start:end]; empty for special tokens
    start: int
    end: int
    special: str | None = None  # "</s>" for the end token


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
    word_alignment: tuple[tuple[int, int], ...] = ()  # the same for words, which white space separates
    values: ValuePath | None = None  # how its values were kept; None: it has none
    quality: float | None = None  # the probability that a reader would call it usable; None: the model gives none
    kept_source: bool = False  # its quality is too low, so the target is its source, without log-probabilities
    # Of the path from the tokens of its source to those of its target, closed by </s>; in this process only.
    scores: ScoringResult | None = field(default=None, compare=False, repr=False)


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

    def placed(self, start: int) -> SentenceQuality:
        """Return the same quality with the place of its sentence; every sentence of every request needs it."""
        signals, low, kept = self.signals, self.low, self.kept_source
        return SentenceQuality(self.source_text, self.target_text, start, self.quality, signals, low, kept)


@dataclass(frozen=True, slots=True)
class PivotText:
    """The text between the two legs of a translation through a pivot language."""

    language: str
    text: str
    model: str  # of the first leg
    digest: str
    sentences: tuple[SentenceDetail, ...] = ()  # of the first leg, if details were requested


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
        """Return the share of the text that is expected to be usable: the mean over its sentences, by their length.

        None if nothing was translated, or if the model gives no quality.
        """
        known = [(each.quality, len(each.source_text)) for each in self.qualities if each.quality is not None]
        total = sum(length for _, length in known)
        return sum(quality * length for quality, length in known) / total if total else None


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


@dataclass(frozen=True, slots=True, eq=False)
class AttentionScores:
    """The scores that attention weights are made of, and the parts of each score for one head."""

    scores: FloatArray  # [R, C], or [L, H, R, C]: -inf where a position is masked, NaN in a row that no step reads
    function: ScoreFunction
    normalisation: Normalisation
    scale: float = 1.0  # a score of a product is scale times the sum of its terms
    queries: FloatArray | None = None  # [R, D] of one head; None for several heads, or if the score has no such parts
    keys: FloatArray | None = None  # [C, D]
    energy: FloatArray | None = None  # [D], v of the additive score vᵀ tanh(q + k)

    def terms(self, row: int, column: int) -> FloatArray | None:
        """Return the summands of a score by dimension, [D]: q_d k_d, or v_d tanh(q_d + k_d)."""
        if self.queries is None or self.keys is None:
            return None
        query, key = self.queries[row], self.keys[column]
        summands = query * key if self.energy is None else self.energy * np.tanh(query + key)
        return np.asarray(summands, np.float32)


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
    source_tokens: tuple[Token, ...]
    target_tokens: tuple[Token, ...]
    score: float
    token_logprobs: tuple[float, ...]
    token_ranks: tuple[int, ...]  # 1: the model's first choice
    alignment: tuple[tuple[int, int], ...]
    digest: str
    model: str
    # Tokens of the last axis: source_tokens, or for kind "decoder" <s> and the target tokens that had been read, or
    # for kind "occlusion" the source tokens that were removed.
    column_tokens: tuple[Token, ...] = ()
    step: Step | None = "produce"  # the decoder step of a row; None for rows of the encoder
    scores: AttentionScores | None = None  # with stage "scores"
    quality: float | None = None  # of the model's own translation; None: it gives none, or the translation was given
    search: Search | None = None  # with `trace`
    path: TargetPath = "search"  # how the tokens of the target were chosen


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The description of a loaded model."""

    name: str
    version: str
    architecture: str
    source_language: str  # of the pair it serves here; the first one if no pair was requested
    target_language: str
    digest: str  # "sha256:…" of its manifest
    precision: str  # of the graphs that run: int8, fp16, fp32
    device: str  # where it runs: cpu or cuda
    device_wanted: str  # the requested device: cpu, cuda or auto
    provider: str  # ONNX Runtime's name of the device
    source_tokens: int  # limits, </s> counted
    target_tokens: int
    attention: Mapping[str, Any]  # the manifest's own section: layers, heads and the aligning head
    card: Mapping[str, Any]  # the manifest's own model card
    source_languages: tuple[str, ...] = ()  # all source languages, if there are several
    target_languages: tuple[str, ...] = ()
    confidence: Mapping[str, Any] | None = None  # the manifest's own section; None: it gives no quality
    gallery: bool = False  # a small model for teaching: it translates only if it is named

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return every (source, target) it translates."""
        return tuple((source, target) for source in self.sources for target in self.targets if source != target)

    @property
    def sources(self) -> tuple[str, ...]:
        """Return every source language, at least one."""
        return self.source_languages or (self.source_language,)

    @property
    def targets(self) -> tuple[str, ...]:
        """Return every target language, at least one."""
        return self.target_languages or (self.target_language,)


@dataclass(frozen=True, slots=True)
class ModelState:
    """One model of the folder: the state of a served one, or the reason why it was refused."""

    name: str
    version: str  # empty for a bundle that was refused
    state: ModelStateName
    reason: str  # a sentence for people; empty when it is ready
    last_used: float | None = None  # seconds since 1970; None: no request so far

    @property
    def ready(self) -> bool:
        """Return whether it accepts requests now."""
        return self.state in ("ready", "closed", "opening")


class WorkerState(StrEnum):
    """The states of a worker; only a running one accepts requests."""

    NEW = "new"
    RUNNING = "running"
    DRAINING = "draining"  # it finishes its requests
    STOPPED = "stopped"
    DEAD = "dead"  # it has failed permanently
    RESTARTING = "restarting"  # it failed, or its engine process ended, and it is loaded again


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Decoding options of one sentence, checked and complete; lengths are in tokens."""

    beam_size: int = 1
    length_penalty: float = 1.0
    max_length: int = 256  # </s> counted
    min_length: int = 0  # </s> not counted
    n_best: int = 1  # hypotheses wanted; at most beam_size are found
    early_stopping: EarlyStopping | None = None  # when the search ends; None: by our own rule
    repetition_guard: bool = True  # whether endless repetition is stopped


@dataclass(frozen=True, slots=True)
class SentenceJob:
    """One sentence for a worker: its token ids (ending with </s>), search options and deadline."""

    source_ids: tuple[int, ...]
    search: SearchOptions
    deadline: float | None = None  # on the worker's clock (time.monotonic); None: no deadline
    listener: TokenListener | None = field(default=None, compare=False)  # greedy search only; not for the last token
    score: WeightSelection | None = None  # score the best translation too, and return these weights
    values: ValueConstraints | None = None  # the translation must hold these
    fresh: bool = False  # to be translated now, never answered from the cache: the sentences of a warm-up
    trace: bool = False  # record the search
    step_weights: bool = False  # record the aligning head's weights at each step; greedy search only


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One finished candidate; `ids` ends with </s> exactly when finish_reason is "eos"."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]  # one per id
    score: float  # sum(logprobs) / len(ids) ** length_penalty
    finish_reason: FinishReason


Outcome = Literal["live", "finished", "pruned"]  # of a hypothesis at the step that considered it


class TracedHypothesis(NamedTuple):
    """A hypothesis that a search considered: another one and one more token."""

    parent: int  # index in the trace; -1 for the empty hypothesis
    token: int
    logprob: float  # of the token, as the search saw it: over the shortlist, if there is one
    total: float  # the sum of its log-probabilities
    outcome: Outcome
    following: tuple[tuple[int, float], ...] = ()  # likeliest next tokens: id, log-probability; of live ones


@dataclass(frozen=True, slots=True)
class SearchTrace:
    """A whole beam search; index 0 is the empty hypothesis."""

    hypotheses: tuple[TracedHypothesis, ...]
    best: tuple[int, ...]  # the way to the best one: T + 1 indices, 0 first


@dataclass(frozen=True, slots=True)
class Search:
    """A recorded search as callers see it."""

    trace: SearchTrace
    pieces: Mapping[int, str]  # the vocabulary's spelling of every token of the trace
    beam_size: int
    length_penalty: float
    shortlist: bool  # whether probabilities are over the tokens of a shortlist instead of the whole vocabulary


@dataclass(frozen=True, slots=True)
class SentenceResult:
    """The result of a SentenceJob, best hypothesis first; never empty."""

    hypotheses: tuple[Hypothesis, ...]
    queue_seconds: float
    compute_seconds: float
    encode_seconds: float = 0.0  # the first part of compute_seconds
    scores: ScoringResult | None = None  # of the best hypothesis closed by </s>, if the job requests them
    score_seconds: float = 0.0  # from the end of compute_seconds to the end of scoring
    trace: SearchTrace | None = None  # if the job requests it
    # [T, S] of the aligning head, if the job requests it and the model's steps return them
    step_weights: FloatArray | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class StreamedPivot:
    """The first leg of a stream through a pivot language is complete; the sentences are those of its text."""

    pivot: PivotText


@dataclass(frozen=True, slots=True)
class StreamedSentence:
    """A sentence of a stream begins."""

    number: int  # from 0
    source_text: str
    source_tokens: tuple[Token, ...]  # places in the caller's text
    gap: str  # the text between this sentence and the translation before it


@dataclass(frozen=True, slots=True, eq=False)
class StreamedToken:
    """One token of the translation, as soon as it is chosen."""

    sentence: int
    token: Token  # its place is in the whole translation
    text: str  # the text that the token adds; empty until a character of several tokens is complete
    logprob: float
    attention: FloatArray  # [S], of the step that produced it: the aligning layer and head


@dataclass(frozen=True, slots=True)
class StreamedEnd:
    """The stream is complete."""

    text: str  # the whole translation
    qualities: tuple[float | None, ...] = ()  # of each sentence; None: the model gives none


StreamEvent = StreamedSentence | StreamedToken | StreamedEnd


@dataclass(frozen=True, slots=True)
class WeightLimit:
    """The most attention weights that one answer may have."""

    kind: AttentionKind
    maps: int  # layers times heads of the view
    most: int


@dataclass(frozen=True, slots=True)
class WeightSelection:
    """The weights of a scored translation to return: all of them would be megabytes for a long sentence."""

    align: tuple[int, int]  # layer and head of cross-attention that are always returned
    view: tuple[AttentionKind, Selector, Selector] | None = None  # kind, layer and head; none of them is "align"
    limit: WeightLimit | None = None  # checked once the translation is known, before it is scored
    stage: AttentionStage = "weights"  # "scores": those of the view too


@dataclass(frozen=True, slots=True)
class ScoringRequest:
    """A sentence and its given translation to be scored; both id sequences end with </s>."""

    source_ids: tuple[int, ...]
    target_ids: tuple[int, ...]
    deadline: float | None = None
    wanted: WeightSelection | None = None  # None: everything


@dataclass(frozen=True, slots=True, eq=False)
class ScoringResult:
    """Scores and attention of a given translation, cut to its true lengths (S source, T target, </s> counted)."""

    logprobs: FloatArray  # [T]
    ranks: IntArray  # [T], 1: the model's first choice
    cross_attention: (
        FloatArray  # [L, H, T, S], row t: the step that produces target token t; [1, 1, T, S] with a selection
    )
    encoder_attention: FloatArray | None  # [L, H, S, S], None where the architecture has none
    decoder_attention: FloatArray | None  # [L, H, T, T]
    selected: FloatArray | None = None  # the view of WeightSelection, if there is one
    scores: AttentionScores | None = None  # of the view, if it asks for them
