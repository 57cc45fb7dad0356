"""The states of an engine process and of the models in it: what each event makes of them, in two tables.

An event that has no line in a table changes nothing.
"""

from enum import Enum, auto

from service.engine import WorkerState

STABLE_SECONDS = 60.0  # of running, after which a start counts as a success
FIRST_DELAY, MOST_DELAY = 0.1, 30.0  # seconds
MOST_IN_A_ROW = 6


class ProcessState(Enum):
    """The state of an engine process."""

    RUNNING = auto()
    ENDED = auto()  # it will be started again
    GIVEN_UP = auto()
    CLOSED = auto()


class ModelStage(Enum):
    """The state of a model in its process."""

    OPENING = auto()  # it is loaded for the first time, and refused if that fails
    RUNNING = auto()
    LOST = auto()  # its process has ended; the next one will load it
    RELOADING = auto()
    DRAINING = auto()
    STOPPED = auto()
    DEAD = auto()


class Event(Enum):
    """What happens to a process, or to a model in it."""

    STARTED = auto()  # the process
    ENDED = auto()
    GIVEN_UP = auto()
    CLOSED = auto()
    LOADED = auto()  # the model
    NOT_LOADED = auto()  # it could not be loaded, or not in time
    FAILED = auto()  # while its process goes on
    FAILED_AGAIN = auto()
    DRAIN = auto()
    STOP = auto()


PROCESS = {
    (ProcessState.RUNNING, Event.ENDED): ProcessState.ENDED,
    (ProcessState.ENDED, Event.STARTED): ProcessState.RUNNING,
    (ProcessState.ENDED, Event.GIVEN_UP): ProcessState.GIVEN_UP,
    (ProcessState.RUNNING, Event.CLOSED): ProcessState.CLOSED,
    (ProcessState.ENDED, Event.CLOSED): ProcessState.CLOSED,
    (ProcessState.GIVEN_UP, Event.CLOSED): ProcessState.CLOSED,
}
MODEL = {
    (ModelStage.OPENING, Event.LOADED): ModelStage.RUNNING,
    (ModelStage.OPENING, Event.NOT_LOADED): ModelStage.DEAD,
    (ModelStage.OPENING, Event.STOP): ModelStage.STOPPED,
    (ModelStage.RUNNING, Event.FAILED): ModelStage.RELOADING,
    (ModelStage.RUNNING, Event.FAILED_AGAIN): ModelStage.DEAD,
    (ModelStage.RUNNING, Event.ENDED): ModelStage.LOST,
    (ModelStage.RUNNING, Event.DRAIN): ModelStage.DRAINING,
    (ModelStage.RUNNING, Event.STOP): ModelStage.STOPPED,
    (ModelStage.LOST, Event.STARTED): ModelStage.RELOADING,
    (ModelStage.LOST, Event.GIVEN_UP): ModelStage.DEAD,
    (ModelStage.LOST, Event.STOP): ModelStage.STOPPED,
    (ModelStage.RELOADING, Event.LOADED): ModelStage.RUNNING,
    (ModelStage.RELOADING, Event.NOT_LOADED): ModelStage.DEAD,
    (ModelStage.RELOADING, Event.ENDED): ModelStage.LOST,
    (ModelStage.RELOADING, Event.STOP): ModelStage.STOPPED,
    (ModelStage.DRAINING, Event.ENDED): ModelStage.STOPPED,
    (ModelStage.DRAINING, Event.STOP): ModelStage.STOPPED,
}
# What a model's stage is for those who use it; the others are being loaded, perhaps again.
SHOWN = {
    ModelStage.RUNNING: WorkerState.RUNNING,
    ModelStage.DRAINING: WorkerState.DRAINING,
    ModelStage.STOPPED: WorkerState.STOPPED,
    ModelStage.DEAD: WorkerState.DEAD,
}


class Restarts:
    """When a process starts again: soon, with longer delays while it keeps failing, then not any more; no clock."""

    def __init__(self, begun: float) -> None:
        self.in_a_row = 0  # consecutive restarts that did not last
        self._begun = begun

    def begins(self, now: float) -> None:
        """Record a start."""
        self._begun = now

    def ended(self, now: float) -> float | None:
        """Record an end; return the seconds until the next start, or None to give up."""
        if now - self._begun >= STABLE_SECONDS:
            self.in_a_row = 0
        if self.in_a_row >= MOST_IN_A_ROW:
            return None
        delay = min(FIRST_DELAY * 4**self.in_a_row, MOST_DELAY)
        self.in_a_row += 1
        return float(delay)
