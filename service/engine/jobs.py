"""What travels between a translator and its worker: sentences to search or score, and the results.

All values are frozen; none holds a thread, a session or a file. Log-probabilities are natural logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from service.bundle.manifest import EarlyStopping
from service.bundle.scores import Normalisation, ScoreFunction
from service.engine.values.constraints import ValueConstraints

FinishReason = Literal["eos", "length"]
AttentionKind = Literal["cross", "encoder", "decoder"]
AttentionStage = Literal["weights", "scores"]  # after the softmax; before it
Selector = Literal["align", "mean", "all"] | int
FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
MAX_BEAM_SIZE = 8
Class = TypeVar("Class")


def sent_as_fields(kind: type[Class]) -> type[Class]:
    """Let the objects of a frozen data class be pickled as their fields, in half the time of its own way."""
    content: Any = kind
    fields = attrgetter(*content.__match_args__)
    content.__reduce__ = lambda value: (content, fields(value))
    return kind


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


@sent_as_fields
@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Decoding options of one sentence, checked and complete; lengths are in tokens."""

    beam_size: int = 1
    length_penalty: float = 1.0
    max_length: int = 256  # </s> counted
    n_best: int = 1  # hypotheses wanted; at most beam_size are found
    early_stopping: EarlyStopping | None = None  # when the search ends; None: by our own rule
    repetition_guard: bool = True  # whether endless repetition is stopped
    prefix: tuple[int, ...] = ()  # every hypothesis begins with these tokens, which are certain: log-probability 0


@sent_as_fields
@dataclass(frozen=True, slots=True)
class SentenceJob:
    """One sentence for a worker: its token ids (ending with </s>), search options and deadline."""

    source_ids: tuple[int, ...]
    search: SearchOptions
    deadline: float | None = None  # on the worker's clock (time.monotonic); None: no deadline
    score: WeightSelection | None = None  # score the best translation too, and return these weights
    values: ValueConstraints | None = None  # the translation must hold these
    fresh: bool = False  # to be translated now, never answered from the cache: the sentences of a warm-up
    trace: bool = False  # record the search


@sent_as_fields
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


@sent_as_fields
@dataclass(frozen=True, slots=True)
class SentenceResult:
    """The result of a SentenceJob, best hypothesis first; never empty."""

    hypotheses: tuple[Hypothesis, ...]
    queue_seconds: float = 0.0
    compute_seconds: float = 0.0
    encode_seconds: float = 0.0  # the first part of compute_seconds
    scores: ScoringResult | None = None  # of the best hypothesis closed by </s>, if the job requests them
    score_seconds: float = 0.0  # from the end of compute_seconds to the end of scoring
    trace: SearchTrace | None = None  # if the job requests it


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
    member: int = 0  # of an ensemble: whose weights


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
    others: tuple[ScoringResult, ...] = ()  # with the attention of the other members of an ensemble

    def of_member(self, member: int) -> ScoringResult:
        """Return the result with the attention of one member alone."""
        return replace(self.others[member - 1] if member and self.others else self, others=())
