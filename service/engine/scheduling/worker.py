"""One model's worker: accepts requests from any thread, decodes them together, and resolves every future it returned.

One thread encodes waiting sentences, one or more threads decode, and one scores translations. If a run fails, its
requests fail. After several consecutive failures, or if a thread ends unexpectedly, the worker is dead: every waiting
request gets an error, and no more requests are accepted.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from service.engine.errors import NotReady
from service.engine.events import EventListener, ignore_event
from service.engine.jobs import ScoringRequest, ScoringResult, SentenceJob, SentenceResult
from service.engine.model.interface import Model
from service.engine.scheduling.admission import WorkerStatus
from service.engine.scheduling.decode_loop import DecodeLoop
from service.engine.scheduling.pending import WorkerSettings
from service.engine.scheduling.requests import WORKING, RequestTable
from service.engine.scheduling.stages import EncoderStage, ScoringStage
from service.engine.search.options import check_job, check_scoring

JOIN_SECONDS = 10.0  # for a thread to end
_LOG = logging.getLogger(__name__)


def _thread(name: str, work: Callable[[], bool], ended: Callable[[], None]) -> threading.Thread:
    """Return a thread that repeats a piece of work until it returns False."""

    def run() -> None:
        try:
            while work():
                pass
        except BaseException:
            # No caller is above this thread, so the error can only be recorded; the worker ends too.
            _LOG.exception("The thread %s ended unexpectedly", name)
        finally:
            ended()

    return threading.Thread(target=run, name=name, daemon=True)


class Worker:
    """Runs one model in its own threads; all public methods may be called from any thread."""

    def __init__(
        self,
        name: str,
        model: Model,
        settings: WorkerSettings | None = None,
        on_event: EventListener = ignore_event,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        settings = settings or WorkerSettings()
        self.name = name
        self._model, self._freed = model, False
        self._table = table = RequestTable(name, settings, on_event, clock)
        shared = (name, model, table, on_event, clock)
        self._stages = EncoderStage(*shared, table.take_to_encode), ScoringStage(*shared, table.take_to_score)
        self._loops = [DecodeLoop(*shared, number) for number in range(settings.inter_threads or 1)]
        self._decoders = [
            _thread(f"engine-{name}-{number}", loop.turn, table.decoder_ended)
            for number, loop in enumerate(self._loops)
        ]
        beside = [_thread(type(stage).__name__, stage.turn, table.stage_ended) for stage in self._stages]
        self._threads = [*beside, *self._decoders]
        for thread in self._threads:
            thread.start()

    @property
    def status(self) -> WorkerStatus:
        """Return the state of the worker, and of its queue for the smallest request."""
        state, began = self._table.state, [stage.began for stage in self._stages]
        return WorkerStatus(
            state,
            state in WORKING and all(decoder.is_alive() for decoder in self._decoders),
            min([self._table.heartbeat, *(moment for moment in began if moment is not None)]),
            self._table.queue_status(),
        )

    def submit(self, job: SentenceJob) -> Future[SentenceResult]:
        """Queue one sentence; see submit_all."""
        return self.submit_all([job])[0]

    def submit_all(self, jobs: Sequence[SentenceJob], ids: Sequence[int] | None = None) -> list[Future[SentenceResult]]:
        """Queue all sentences of one request, or none; a cancelled future frees its rows before the next step.

        Raise InvalidInput (empty or too long), Overloaded (the queue has no room, or is too slow
        for the deadline) or NotReady. The futures fail with DeadlineExceeded, EngineFailure or NotReady.
        """
        limit = self._model.target_limit
        return self._table.submit([check_job(job, self._model.source_limit, limit) for job in jobs], ids)

    def check_room(self, deadline: float | None = None) -> None:
        """Raise the error that submit_all would raise for the smallest request; call this before any work on a text."""
        self._table.check_room(deadline)

    def submit_scoring(self, job: ScoringRequest, request_id: int | None = None) -> Future[ScoringResult]:
        """Queue the scoring of a given translation; the errors are those of submit_all."""
        check_scoring(job, self._model.source_limit, self._model.target_limit)
        return self._table.submit_scoring(job, request_id)

    def cancel(self, request_id: int) -> None:
        """Cancel the request that was submitted under this id, unless it was answered."""
        self._table.cancel(request_id)

    def stop(self, drain: float = 0.0) -> None:
        """Let running requests finish within `drain` seconds, fail the others, and free the model; this blocks."""
        self._table.drain(drain)
        for thread in self._threads:
            thread.join(JOIN_SECONDS)
        self._table.fail_all(NotReady(f"The model {self.name} has been stopped."))
        for loop in self._loops:
            loop.clear()
        if not self._freed:
            self._freed = True
            self._model.close()

    def retire(self) -> None:
        """Stop without a wait; open requests get NotReady."""
        self._table.retire()
