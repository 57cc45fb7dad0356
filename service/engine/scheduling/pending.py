"""The capacity of a worker, and the requests that it has accepted."""

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from service.engine.jobs import MAX_BEAM_SIZE, ScoringRequest, ScoringResult, SentenceJob, SentenceResult
from service.engine.scheduling.scheduler import Budget
from service.engine.scheduling.scoring_queue import SCORING_LIMITS, BatchLimits

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The capacity of a worker, and the number of failures after which it ends."""

    budget: Budget = field(default_factory=Budget)  # divided among the decode threads
    inter_threads: int = 0  # decode threads, each with its own batches; 0: chosen by device, or 1
    first_rows: int = 0  # a decode thread gets so many rows before the next one gets any; 0: all get equal parts
    scoring: BatchLimits = SCORING_LIMITS  # of one run
    failures: int = 3  # consecutive failures after which the worker is dead

    def __post_init__(self) -> None:
        """Raise ValueError if a decode thread could not run the widest beam."""
        if self.budget.rows and not 0 <= self.inter_threads <= self.budget.rows // MAX_BEAM_SIZE:
            raise ValueError(
                f"{self.inter_threads} decode threads need {MAX_BEAM_SIZE} rows each, but rows is {self.budget.rows}"
            )


@dataclass(slots=True, eq=False)
class PendingRequest(Generic[Job, Result]):
    """An accepted request; times are on the worker's clock."""

    id: int
    job: Job
    submitted: float
    encode_seconds: float = 0.0
    memory: tuple[Any, int] | None = None  # the encoder's output for several sentences, and the index of this one
    joined: float = 0.0
    future: Future[Result] = field(default_factory=Future)


PendingSentence = PendingRequest[SentenceJob, SentenceResult]
PendingScoring = PendingRequest[ScoringRequest, ScoringResult]
AnyRequest = PendingRequest[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class QueuedScoring:
    """A translation that waits for scoring, and the request that is answered after it."""

    request: AnyRequest
    job: ScoringRequest
    queued: float
    translation: SentenceResult | None = None  # set if the request needs both a translation and its scores
