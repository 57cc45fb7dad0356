"""What an engine process observes, on its way to the process that counts it."""

from __future__ import annotations

from collections.abc import Callable

from service.engine import FinishedSentence, Observer
from service.engine_process.protocol import Told


class Relay(Observer):
    """Sends the events of a worker on; most wait for the next message that is sent: there are several a step."""

    def __init__(self, worker: int, send: Callable[[Told], None], send_later: Callable[[Told], None]) -> None:
        self._worker, self._send, self._send_later = worker, send, send_later

    def sentences_queued(self, model: str, count: int) -> None:
        """Relay that the queue grew."""
        self._send_later(Told(self._worker, "sentences_queued", (model, count)))

    def rows_changed(self, model: str, rows: int, sentences: int, queued: int) -> None:
        """Relay what runs and waits, at once where that is nothing: no message may follow for long."""
        (self._send_later if rows or queued else self._send)(
            Told(self._worker, "rows_changed", (model, rows, sentences, queued))
        )

    def step(self, model: str, rows: int, seconds: float) -> None:
        """Relay a step."""
        self._send_later(Told(self._worker, "step", (model, rows, seconds)))

    def sentence_finished(self, model: str, finished: FinishedSentence) -> None:
        """Relay the figures of a sentence; its result follows."""
        self._send_later(Told(self._worker, "sentence_finished", (model, finished)))

    def cancelled(self, model: str, sentences: int, rows: int) -> None:
        """Relay that callers left."""
        self._send_later(Told(self._worker, "cancelled", (model, sentences, rows)))

    def rejected(self, model: str, reason: str) -> None:
        """Relay a refusal; it follows itself."""
        self._send_later(Told(self._worker, "rejected", (model, reason)))

    def failed(self, model: str) -> None:
        """Relay that a run failed."""
        self._send_later(Told(self._worker, "failed", (model,)))

    def stage(self, model: str, stage: str, seconds: float) -> None:
        """Relay how long a stage took."""
        self._send_later(Told(self._worker, "stage", (model, stage, seconds)))
