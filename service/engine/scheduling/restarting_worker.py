"""A worker in this process that is loaded again when it fails; service.engine_process does this for other processes.

While it waits for its next start it is "restarting" and refuses requests; those in flight have failed with the worker.
The delays grow while it keeps failing, and then it is given up.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Literal

from service.engine.scheduling.admission import QueueStatus, require_running
from service.engine.scheduling.restarts import Restarts
from service.engine.scheduling.worker import Worker
from service.engine.types import ScoringRequest, ScoringResult, SentenceJob, SentenceResult, WorkerState

RestartListener = Callable[[Literal["model", "given_up"]], None]
_LOG = logging.getLogger(__name__)


class RestartingWorker:
    """Satisfies SentenceWorker; all public methods may be called from any thread."""

    def __init__(
        self,
        worker: Worker,
        load: Callable[[], Worker],
        on_restart: RestartListener = lambda _what: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take a loaded worker, and the function that loads it again; `on_restart` is called at every restart."""
        self.name = worker.name
        self._worker, self._load, self._on_restart, self._clock = worker, load, on_restart, clock
        self._lock = threading.Lock()
        self._restarts = Restarts(clock())
        self._given_up = False
        self._ending = threading.Event()  # no start is wanted any more

    @property
    def state(self) -> WorkerState:
        """Return the state it is in; only a running one accepts requests."""
        state = self._worker.state
        if state is not WorkerState.DEAD or self._given_up:
            return state
        return WorkerState.STOPPED if self._ending.is_set() else WorkerState.RESTARTING

    @property
    def alive(self) -> bool:
        """Return whether it is working."""
        return self._worker.alive

    @property
    def heartbeat(self) -> float:
        """Return the time of the last heartbeat; one that waits for its next start has none to miss."""
        return self._clock() if self.state is WorkerState.RESTARTING else self._worker.heartbeat

    @property
    def queue_status(self) -> QueueStatus:
        """Return the state of the queue."""
        return self._worker.queue_status

    def start(self) -> None:
        """Start the threads."""
        self._begin(self._worker)

    def stop(self, drain: float = 0.0) -> None:
        """Accept no more requests, let running ones finish within `drain` seconds, fail the others; this blocks."""
        self._end().stop(drain)

    def retire(self) -> None:
        """Stop without a wait."""
        self._end().retire()

    def close(self) -> None:
        """Stop at once and free the model's memory; this blocks."""
        self._end().close()

    def check_room(self, deadline: float | None = None) -> None:
        """Raise the error that submit_all would raise for the smallest request."""
        require_running(self.name, self.state)
        self._worker.check_room(deadline)

    def submit_all(self, jobs: Sequence[SentenceJob]) -> list[Future[SentenceResult]]:
        """Queue all sentences, or none; see Worker.submit_all."""
        require_running(self.name, self.state)
        return self._worker.submit_all(jobs)

    def submit_scoring(self, job: ScoringRequest) -> Future[ScoringResult]:
        """Queue the scoring of a given translation."""
        require_running(self.name, self.state)
        return self._worker.submit_scoring(job)

    def _end(self) -> Worker:
        """Prevent further starts; return the worker that is the last one."""
        with self._lock:
            self._ending.set()
            self._worker.on_death = _nothing  # otherwise each would keep the other in memory
            return self._worker

    def _begin(self, worker: Worker) -> None:
        worker.on_death = self._died
        self._restarts.begins(self._clock())
        worker.start()

    def _died(self) -> None:
        """Start again in another thread: this one belongs to the worker and is about to end."""
        if not self._ending.is_set():
            threading.Thread(target=self._restart, name=f"restart-{self.name}", daemon=True).start()

    def _restart(self) -> None:
        """Load the model again after a delay, until it starts or too many attempts in a row have failed."""
        while (delay := self._restarts.ended(self._clock())) is not None:
            _LOG.error("The model %s has failed and is loaded again in %g seconds", self.name, delay)
            if self._ending.wait(delay):
                return
            try:
                self._worker.close()  # it has failed, and its memory is needed for the next one
                worker = self._load()
            except Exception:
                _LOG.exception("The model %s could not be loaded again", self.name)
                self._restarts.begins(self._clock())
                continue
            with self._lock:
                if not self._ending.is_set():
                    self._worker = worker
                    self._begin(worker)
                    self._on_restart("model")
                    _LOG.warning("The model %s was restarted", self.name)
                    return
            worker.close()
            return
        _LOG.critical("The model %s failed too often in a row; it is given up", self.name)
        self._given_up = True
        self._on_restart("given_up")


def _nothing() -> None:
    """Do nothing."""
