"""The states of a worker: when it accepts requests and when it ends. The request table holds the lock."""

from __future__ import annotations

from service.engine.types import WorkerState


class Lifecycle:
    """The state of a worker, the number of its decode threads, and its consecutive failed runs."""

    def __init__(self, decoders: int, failures: int) -> None:
        """Begin in the first state, with so many decode threads; so many consecutive failed runs end the worker."""
        self.state = WorkerState.NEW
        self.decoders_left = decoders
        self._most_failures = failures
        self._failures: dict[str, int] = {}  # in a row, for each kind of run
        self._broken = False

    @property
    def continues(self) -> bool:
        """Return whether the decode threads continue: the worker was not stopped and has not failed."""
        return self.state in (WorkerState.RUNNING, WorkerState.DRAINING) and not self._broken

    def start(self) -> None:
        """Accept requests from now on."""
        self.state = WorkerState.RUNNING

    def drain(self) -> None:
        """Accept no more requests."""
        if self.state is WorkerState.RUNNING:
            self.state = WorkerState.DRAINING

    def stop(self) -> None:
        """End the threads."""
        if self.state is not WorkerState.DEAD:
            self.state = WorkerState.STOPPED

    def run_succeeded(self, kind: str) -> None:
        """Record that a run of this kind has succeeded; each kind belongs to one thread."""
        self._failures.pop(kind, None)

    def run_failed(self, kind: str) -> None:
        """Record that a run has failed. Each kind has its own count: other runs do not repair a broken decoder."""
        self._failures[kind] = self._failures.get(kind, 0) + 1
        self._broken = self._broken or self._failures[kind] >= self._most_failures

    def stage_died(self) -> None:
        """Record that a stage thread has ended unexpectedly."""
        self._broken = True

    def decoder_ended(self) -> None:
        """Record that a decode thread has ended; unless the worker was stopped, it is dead."""
        self.decoders_left -= 1
        if self.state is not WorkerState.STOPPED:
            self.state = WorkerState.DEAD
