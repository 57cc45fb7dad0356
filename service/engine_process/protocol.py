"""The messages between the HTTP process and an engine process: all can be pickled, none holds text.

The frequent ones are pickled as their fields: every request has a Translate and a Done, every step a few events.

`worker` is the number of a model in a process, `number` that of a job.
"""

from dataclasses import dataclass
from typing import Literal

from service.bundle.load import Bundle
from service.engine import (
    EngineError,
    EngineEvent,
    EngineSettings,
    Placement,
    ScoringRequest,
    ScoringResult,
    SentenceJob,
    SentenceResult,
    WorkerStatus,
    sent_as_fields,
)


@dataclass(frozen=True, slots=True)
class Open:
    """Load a bundle; `again` means that it was lost, and is loaded only if its files are the same."""

    worker: int
    bundle: Bundle
    settings: EngineSettings
    again: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """What the worker is to do; "close" frees its memory, "retire" removes it, and no result is needed any more.

    The answer to "stop" and "close" is Stopped.
    """

    worker: int
    what: Literal["start", "stop", "close", "retire"]
    drain: float = 0.0  # of "stop": seconds for its requests to finish


@sent_as_fields
@dataclass(frozen=True, slots=True)
class Translate:
    """Translate the sentences of one request, all or none; a job may request scores, which its answer then has."""

    worker: int
    numbers: tuple[int, ...]
    jobs: tuple[SentenceJob, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """Score a given translation."""

    worker: int
    number: int
    job: ScoringRequest


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel a job."""

    worker: int
    number: int


@dataclass(frozen=True, slots=True)
class Providers:
    """Return the names of the devices of the installed ONNX Runtime, as the result of a Done."""

    number: int


@dataclass(frozen=True, slots=True)
class Opened:
    """The bundle is loaded and runs there."""

    worker: int
    placement: Placement


@dataclass(frozen=True, slots=True)
class Refused:
    """The bundle could not be loaded."""

    worker: int
    error: EngineError


@dataclass(frozen=True, slots=True)
class Stopped:
    """The worker has ended."""

    worker: int


@sent_as_fields
@dataclass(frozen=True, slots=True)
class Done:
    """A job is done."""

    number: int
    result: SentenceResult | ScoringResult | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """A job has failed."""

    number: int
    error: EngineError


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The state of a worker at this moment."""

    worker: int
    status: WorkerStatus


@sent_as_fields
@dataclass(frozen=True, slots=True)
class EventReport:
    """An event of a worker, for its listener."""

    worker: int
    event: EngineEvent


ToEngine = Open | Order | Providers | Translate | Score | Cancel
FromEngine = Opened | Refused | Stopped | Done | Failed | StatusReport | EventReport
