"""The events that the engine reports to its listeners while it runs.

No event carries text. `model` is a bundle's name; seconds are durations; token counts include </s>.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from service.engine.jobs import FinishReason, sent_as_fields


@sent_as_fields
@dataclass(frozen=True, slots=True)
class LoadChanged:
    """The numbers of running rows and sentences, or of waiting sentences, have changed."""

    model: str
    rows: int
    sentences: int
    queued: int


@sent_as_fields
@dataclass(frozen=True, slots=True)
class StepDone:
    """One decoder step is done."""

    model: str
    rows: int
    seconds: float


@sent_as_fields
@dataclass(frozen=True, slots=True)
class SentenceFinished:
    """The translation of a sentence is complete."""

    model: str
    source_tokens: int
    target_tokens: int
    queue_seconds: float
    compute_seconds: float
    score: float
    finish_reason: FinishReason
    mean_logprob: float  # of its tokens, a natural logarithm
    repeats: bool  # four tokens in a row occur twice in it


@dataclass(frozen=True, slots=True)
class SentencesCancelled:
    """Callers disconnected: their sentences were dropped, queued or running."""

    model: str
    sentences: int


@dataclass(frozen=True, slots=True)
class RequestRejected:
    """A request was refused or ran out of time."""

    model: str
    reason: str  # the code of its error


@dataclass(frozen=True, slots=True)
class RunFailed:
    """A run of the model failed, and so did the sentences in it."""

    model: str


@sent_as_fields
@dataclass(frozen=True, slots=True)
class StageDone:
    """A stage of the work is complete, between two times of time.monotonic.

    It is a stage of one call, and reported in the call's task, or one that a thread of the engine has done for several
    calls together. Each of these then has its part of it too, with `measured` false: its seconds were reported before.
    """

    model: str | None  # None: no model took part
    stage: str  # accept, tokenize, queue, encode, decode, score, detokenize, view
    began: float
    ended: float
    figures: Mapping[str, int] = field(default_factory=dict)  # counts
    measured: bool = True


@dataclass(frozen=True, slots=True)
class Measured:
    """A translation was judged, 0 to 1: by its quality, or, if its attention was requested, by what that covers."""

    model: str
    what: Literal["sentence_quality", "source_coverage"]
    value: float


@dataclass(frozen=True, slots=True)
class SentencesLookedUp:
    """The sentences of a call were looked up in the cache."""

    model: str
    hits: int  # finished before
    shared: int  # equal to another one of the call
    misses: int  # given to the model


EngineEvent = (
    StepDone
    | LoadChanged
    | SentenceFinished
    | SentencesCancelled
    | RequestRejected
    | RunFailed
    | StageDone
    | Measured
    | SentencesLookedUp
)

# Called in the engine's threads, so it must be quick and must not raise.
EventListener = Callable[[EngineEvent], None]


def ignore_event(_event: EngineEvent) -> None:
    """Ignore an event; this is the default listener."""
