"""The messages between the HTTP process and an engine process: all can be pickled, none holds text.

The frequent ones are pickled as their fields: every request has a Translate and a Done, every step a few events. An
engine process receives pickled messages, one after the other; it sends lists of them, each after its length.

`worker` is the number of a model in a process, `number` that of a call, which Done or Failed answers.
"""

import struct
from dataclasses import dataclass

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

LENGTH = struct.Struct(">Q")  # the length of a pickled list of messages, sent before it


@dataclass(frozen=True, slots=True)
class Open:
    """Load a bundle and return its placement; `again`: it was lost, and is loaded only if its files are the same."""

    number: int
    worker: int
    bundle: Bundle
    settings: EngineSettings
    again: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """End a worker and free its model after `drain` seconds for its requests; without a number at once, unanswered."""

    worker: int
    drain: float = 0.0
    number: int | None = None


@sent_as_fields
@dataclass(frozen=True, slots=True)
class Translate:
    """Translate the sentences of one request, all or none; a job may request scores, which its answer then has."""

    worker: int
    numbers: tuple[int, ...]
    jobs: tuple[SentenceJob, ...]


@dataclass(frozen=True, slots=True)
class ScoreGiven:
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


@sent_as_fields
@dataclass(frozen=True, slots=True)
class Done:
    """A call is done."""

    number: int
    result: SentenceResult | ScoringResult | Placement | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Failed:
    """A call has failed."""

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


ToEngine = Open | Stop | Providers | Translate | ScoreGiven | Cancel
FromEngine = Done | Failed | StatusReport | EventReport
