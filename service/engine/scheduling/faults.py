"""Fails requests, and counts consecutive model failures."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from service.engine.errors import DeadlineExceeded, EngineFailure
from service.engine.events import Observer
from service.engine.scheduling.requests import AnyTicket, RequestTable

_LOG = logging.getLogger(__name__)


class Faults:
    """The failures of one model; a kind of run is reported by one thread only."""

    def __init__(self, name: str, table: RequestTable, observer: Observer) -> None:
        self._name, self._table, self._observer = name, table, observer
        self._in_a_row: dict[str, int] = {}  # for each kind of run

    @property
    def in_a_row(self) -> int:
        """Return how many runs of one kind have failed in a row: that others work does not mend a broken decoder."""
        return max(list(self._in_a_row.values()), default=0)

    def worked(self, kind: str) -> None:
        """Note that a run of this kind has succeeded."""
        self._in_a_row.pop(kind, None)

    def failed(self, kind: str, victims: Sequence[AnyTicket]) -> None:
        """Record the exception being handled as a failed run, and tell everybody who was in it."""
        self._in_a_row[kind] = self._in_a_row.get(kind, 0) + 1
        _LOG.exception("A run of the model failed (%s, %s, %d sentences lost)", self._name, kind, len(victims))
        self._observer.failed(self._name)
        error = EngineFailure.of_a_run()
        for request in victims:
            self._table.fail(request, error)
        with self._table.changed:
            self._table.changed.notify_all()  # the worker may have to end

    def late(self, request: AnyTicket) -> None:
        """Tell a caller that the time is up."""
        if self._table.fail(request, DeadlineExceeded("The translation was not finished in the time allowed.")):
            self._observer.rejected(self._name, DeadlineExceeded.code)
