"""The accepted requests of one model, each of which is answered once."""

import threading

from service.engine.errors import DeadlineExceeded, EngineError
from service.engine.events import EventListener, RequestRejected
from service.engine.scheduling.pending import AnyRequest, Job, PendingRequest, Result


class OpenRequests:
    """The requests that have no answer yet.

    A request leaves exactly once: with a result, with an error, or because its future was cancelled. Futures are
    resolved without the lock, because their callbacks run at once.
    """

    def __init__(self, name: str, on_event: EventListener, decoders: int) -> None:
        self._name, self._on_event = name, on_event
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)  # for the decode threads, and for callers that wait for the end
        self._open: dict[int, AnyRequest] = {}
        self._departed: list[set[AnyRequest]] = [set() for _ in range(decoders)]  # one set for each decode thread

    def cancel(self, request_id: int) -> None:
        """Cancel a request, unless it was answered; its rows are free before the next step."""
        if request := self._open.get(request_id):
            request.future.cancel()

    def resolve(self, request: PendingRequest[Job, Result], result: Result) -> None:
        """Answer a request with a result, unless it was cancelled."""
        if self._close(request):
            request.future.set_result(result)

    def fail(self, request: AnyRequest, error: EngineError) -> bool:
        """Answer a request with an error and return True, unless it was cancelled."""
        closed = self._close(request)
        if closed:
            request.future.set_exception(error)
        return closed

    def expire(self, request: AnyRequest) -> None:
        """Answer a request with DeadlineExceeded."""
        if self.fail(request, DeadlineExceeded("The translation was not finished in the time allowed.")):
            self._on_event(RequestRejected(self._name, DeadlineExceeded.code))

    def fail_all(self, error: EngineError) -> None:
        """Answer every open request with an error."""
        with self._lock:
            requests = list(self._open.values())
        for request in requests:
            self.fail(request, error)

    def _add(self, request: AnyRequest) -> None:
        self._open[request.id] = request
        request.future.add_done_callback(lambda future: self._left(request) if future.cancelled() else None)

    def _close(self, request: AnyRequest) -> bool:
        with self._lock:
            if self._open.pop(request.id, None) is None:
                return False
            self._changed.notify_all()
        return request.future.set_running_or_notify_cancel()

    def _left(self, request: AnyRequest) -> None:
        with self._lock:
            for departed in self._departed:
                departed.add(request)
            self._open.pop(request.id, None)
            self._changed.notify_all()
