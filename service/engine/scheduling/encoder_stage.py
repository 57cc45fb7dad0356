"""Runs the encoder in its own thread, so encoding and decoding overlap.

The queue stays the scheduler's: this takes nobody out of it, it makes its first sentences ready to join.
"""

from __future__ import annotations

from collections.abc import Callable

from service.engine.model.interface import Model
from service.engine.scheduling.faults import Faults
from service.engine.scheduling.requests import RequestTable, SentenceTicket
from service.engine.scheduling.scheduler import Scheduler
from service.engine.scheduling.stage_thread import StageThread


class EncoderStage:
    """Runs the encoder over waiting sentences, oldest first, several at once."""

    def __init__(
        self,
        model: Model,
        scheduler: Scheduler[SentenceTicket],
        table: RequestTable,
        faults: Faults,
        finished: Callable[[float], None],
        clock: Callable[[], float],
    ) -> None:
        self.thread = StageThread("encoder", table, clock, scheduler.to_encode, self._encode)
        self._model, self._scheduler, self._faults = model, scheduler, faults
        self._changed, self._finished, self._clock = table.changed, finished, clock

    def _encode(self, requests: list[SentenceTicket], begun: float) -> None:
        """Encode sentences together; whoever leaves meanwhile is no longer in the queue."""
        try:
            encoded = self._model.encode([request.job.source_ids for request in requests])
        except Exception:
            # The running sentences are untouched, and so are those behind these in the queue.
            with self._changed:
                self._scheduler.discard(set(requests))
            self._faults.failed("encoder", requests)
            return
        self._faults.worked("encoder")
        seconds = self._clock() - begun
        for at, request in enumerate(requests):
            request.memory, request.encode_seconds = (encoded, at), seconds
        with self._changed:
            self._scheduler.make_ready(set(requests))
            self._changed.notify_all()
        self._finished(seconds)
