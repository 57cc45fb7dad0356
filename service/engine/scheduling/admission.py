"""Admission control: decides whether a request may be queued, by the length and the speed of the queue."""

import math
from dataclasses import dataclass

from service.engine.errors import NotReady, Overloaded
from service.engine.model_info import WorkerState

LEAST_RETRY, MOST_RETRY = 1.0, 60.0  # seconds after which a refused caller should try again
LATER = 0.5  # the part of the queue that should have left it by then
LONGEST_WAIT = 0.5  # the share of its time that a request may wait: the measured throughput may be wrong by half
MEMORY_SECONDS = 10.0  # after this time a measurement of the throughput counts a third
LEAST_SECONDS = 0.5  # time with a queue that is needed before its throughput is known
REFUSING = {
    WorkerState.DRAINING: "is stopping",
    WorkerState.STOPPED: "is stopping",
    WorkerState.DEAD: "has failed",
}


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """The state of a model's queue."""

    full: bool = False  # there is no room for more
    seconds: float | None = None  # until the present queue is empty; None: the queue is empty, or the time is not known


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """What a worker says about itself at one moment; the heartbeat is on the machine's monotonic clock."""

    state: WorkerState  # only a running one accepts requests
    alive: bool  # whether it is working: started, not stopped, and none of its threads has ended
    heartbeat: float  # about a second old at most, unless a run hangs
    queue: QueueStatus = QueueStatus()


def require_running(model: str, state: WorkerState) -> None:
    """Raise NotReady unless a worker in this state accepts requests."""
    if state is WorkerState.RESTARTING:
        raise NotReady(f"The model {model} is being restarted; send the request again.")
    if state is not WorkerState.RUNNING:
        raise NotReady(f"The model {model} {REFUSING[state]} and accepts no requests.")


def admission_error(model: str, queue_status: QueueStatus, deadline: float | None, now: float) -> Overloaded | None:
    """Return the error of a request that may not be queued: the queue is full, or too slow for the deadline."""
    wait = queue_status.seconds
    too_slow = deadline is not None and wait is not None and wait > LONGEST_WAIT * (deadline - now)
    return overloaded(model, wait) if queue_status.full or too_slow else None


def overloaded(model: str, wait: float | None) -> Overloaded:
    """Return the error of a caller that has to try again; `wait` is the time that the queue takes, in seconds."""
    seconds = min(max(LATER * (wait or 0.0), LEAST_RETRY), MOST_RETRY)
    return Overloaded(f"The queue of the model {model} is full; try again later.", retry_after=seconds)


class ThroughputEstimator:
    """Estimates the speed of a queue: the tokens that leave it, divided by the time.

    It measures only while the queue is not empty: only a full batch shows a model's capacity. It reads no clock.
    """

    def __init__(self) -> None:
        self._tokens = self._seconds = 0.0
        self._since: float | None = None  # the last time at which the queue was known not to be empty

    @property
    def is_measuring(self) -> bool:
        """Return whether the queue was not empty in the last round."""
        return self._since is not None

    def round(self, now: float, left: int, waiting: int) -> None:
        """Record that `left` tokens have left the queue just now and that `waiting` tokens remain."""
        if self._since is not None:
            seconds = max(now - self._since, 0.0)
            share = math.exp(-seconds / MEMORY_SECONDS)
            self._tokens = share * self._tokens + left
            self._seconds = share * self._seconds + seconds
        self._since = now if waiting else None

    def seconds_for(self, tokens: int) -> float | None:
        """Return the time that so many waiting tokens need to leave the queue; None if it is not known yet."""
        if self._seconds < LEAST_SECONDS or self._tokens < 1:
            return None
        return tokens * self._seconds / self._tokens
