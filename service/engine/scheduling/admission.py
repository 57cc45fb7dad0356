"""Whether more may wait for a model, and what who may not is told. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from service.engine.errors import NotReady, Overloaded

LEAST_RETRY, MOST_RETRY = 1.0, 60.0  # seconds a refused caller is told to wait
LATER = 0.5  # which part of the queue should have gone by then
LONGEST_WAIT = 0.5  # the share of its time a request may wait: the measured throughput may be wrong by half


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """How much waits for a model."""

    full: bool = False  # there is no place for more
    seconds: float | None = None  # until what waits now has left the queue; None: nothing waits, or it is not known


def require_running(model: str, state: str) -> None:
    """Raise NotReady unless a worker in this stage of its life takes work."""
    if state == "restarting":
        raise NotReady(f"The engine process of the model {model} is being restarted; send the request again soon.")
    if state != "running":
        what = {"dead": "has failed", "new": "is not ready"}.get(state, "is stopping")
        raise NotReady(f"The model {model} {what} and takes no work.")


def refusal(model: str, queue_status: QueueStatus, deadline: float | None, now: float) -> Overloaded | None:
    """Say why no more may wait, if so: there is no place, or it comes up too late for a deadline at the same clock."""
    wait = queue_status.seconds
    too_slow = deadline is not None and wait is not None and wait > LONGEST_WAIT * (deadline - now)
    return overloaded(model, wait) if queue_status.full or too_slow else None


def overloaded(model: str, wait: float | None) -> Overloaded:
    """Return the error of a caller who has to come again; `wait` are the seconds that the queue will take."""
    seconds = min(max(LATER * (wait or 0.0), LEAST_RETRY), MOST_RETRY)
    return Overloaded(f"Too much is waiting for the model {model}; try again later.", retry_after=seconds)
