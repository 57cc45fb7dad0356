"""The calls to an engine process: bundles to open, work for its models, and the messages that come back."""

import asyncio
import itertools
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future

from service.bundle.load import Bundle
from service.engine import EngineError, EngineFailure, EngineSettings, EventListener, Placement
from service.engine_process import protocol
from service.engine_process.client.connection import EngineConnection, LogStyle
from service.engine_process.client.pending_calls import PendingCalls
from service.engine_process.client.remote_worker import RemoteWorker
from service.logs import get_logger

NO_WORKER = -1  # the number of a call to the process itself
log = get_logger(__name__)


class EngineCalls:
    """The calls to the models of an engine process, and its answers."""

    def __init__(self, log_style: LogStyle, on_restart: Callable[[str], None], gpu: str | None) -> None:
        self._log_style, self._on_restart, self._gpu = log_style, on_restart, gpu
        self._pending = PendingCalls(lambda worker, number: self.send(protocol.Cancel(worker, number)))
        # A worker stays here as long as it is referenced: a replaced one ends with its last request.
        self._workers: weakref.WeakValueDictionary[int, RemoteWorker] = weakref.WeakValueDictionary()
        self._numbers = itertools.count()
        self._changed = threading.Condition(threading.RLock())
        self._ended: EngineConnection | None = None  # the connection that must be replaced
        self._closing = self._given_up = False
        self._loop: asyncio.AbstractEventLoop | None = None  # receives the messages; None: a thread does
        self._connection = self._new_connection()
        self._connection.start()

    @property
    def process_id(self) -> int:
        """Return the id of the current process."""
        return self._connection.process_id

    @property
    def given_up(self) -> bool:
        """Return whether it has ended so often that it is not started again."""
        return self._given_up

    @property
    def full(self) -> bool:
        """Return whether so many messages wait that no more work should be sent."""
        return self._connection.channel.full

    @property
    def has_unread(self) -> bool:
        """Return whether messages have arrived that this process has not read yet."""
        return self._connection.channel.has_unread

    def send(self, message: protocol.ToEngine) -> None:
        """Send a message; it is lost if the process has just ended."""
        channel = self._connection.channel
        (channel.send_soon if isinstance(message, protocol.Translate) else channel.send)(message)

    def receive_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Receive the messages of the process on an event loop from now on."""
        with self._changed:
            self._loop = loop
            self._connection.channel.receive_on(loop)

    def open(
        self, bundle: Bundle, settings: EngineSettings, on_event: EventListener
    ) -> tuple[RemoteWorker, Future[Placement]]:
        """Load a bundle; the future fails with the errors of load_worker, or with EngineFailure."""
        number, placement = next(self._numbers), Future[Placement]()
        worker = RemoteWorker(bundle.manifest.name, number, self, self._pending, on_event)
        with self._changed:
            if self._given_up or self._closing:
                placement.set_exception(EngineFailure("The engine process has been given up; see the log."))
                return worker, placement
            worker.order, worker.opening = protocol.Open(number, bundle, settings), placement
            self._workers[number] = worker
            if self._ended is None:  # otherwise the next process is asked
                self.send(worker.order)
        return worker, placement

    def providers(self, seconds: float) -> tuple[str, ...]:
        """Return the providers of the ONNX Runtime in the process; raise EngineFailure if it does not answer."""
        number, future = self._pending.open(NO_WORKER)
        self.send(protocol.Providers(number))
        try:
            found = future.result(seconds)
        except TimeoutError:
            raise EngineFailure(f"The engine process did not answer within {seconds:g} seconds.") from None
        assert isinstance(found, tuple)
        return found

    def abandon(self, worker: RemoteWorker) -> None:
        """Stop waiting for a bundle that is being loaded; if it is loaded later, it is dropped."""
        self._forget(worker.number)
        worker.retire()

    def _new_connection(self) -> EngineConnection:
        connection = EngineConnection(self._log_style, self._receive, self._lost, self._undelivered, self._gpu)
        if self._loop is not None:
            connection.channel.receive_on(self._loop)
        return connection

    def _receive(self, message: protocol.FromEngine) -> None:
        match message:
            case protocol.Done(number, result):
                self._pending.resolve(number, result)
            case protocol.Failed(number, error):
                self._pending.fail(number, error)
            case protocol.EventReport(number) | protocol.StatusReport(number) | protocol.Stopped(number):
                worker = self._workers.get(number)
                if worker is not None and worker.handle(message):
                    with self._changed:
                        self._changed.notify_all()
            case protocol.Opened(number, placement):
                self._opened(number, placement)
            case protocol.Refused(number, error):
                self._refused(number, error)

    def _opened(self, number: int, placement: Placement) -> None:
        with self._changed:
            worker = self._workers.get(number)
            if worker is None or (worker.opening, worker.again_since) == (None, None):
                self.send(protocol.Order(number, "retire"))  # it was abandoned meanwhile
                return
            opening, again = worker.opening, worker.again_since
            if again is not None:
                worker.mark_reloaded()  # before it counts as loaded, otherwise it would seem to have failed again
            worker.opening = worker.again_since = None
        if opening is not None:
            worker.placement = placement
            opening.set_result(placement)
        elif again is not None:
            if placement != worker.placement:
                log.error(
                    "a model runs on another device since its restart", model=worker.name, device=placement.device
                )
            seconds = round(time.monotonic() - again, 3)
            log.info("model restarted", model=worker.name, process=self.process_id, seconds=seconds)

    def _refused(self, number: int, error: EngineError) -> None:
        worker = self._forget(number)
        if worker is not None and worker.opening is not None:
            worker.opening.set_exception(error)
        elif worker is not None and worker.again_since is not None:
            self._give_up(worker, error.message)

    def _undelivered(self, message: protocol.ToEngine) -> None:
        """Fail the calls of a message that could not be sent."""
        if isinstance(message, protocol.Open):
            self._refused(message.worker, EngineFailure(f"{message.bundle.folder}: it could not be sent to an engine."))
        numbers = message.numbers if isinstance(message, protocol.Translate) else ()
        for number in (message.number,) if isinstance(message, protocol.Score) else numbers:
            self._pending.fail(number, EngineFailure.of_a_run())

    def _lost(self, connection: EngineConnection) -> None:
        """Record that the connection to a process was closed."""
        with self._changed:
            self._ended = connection
            workers = list(self._workers.values())
            for worker in workers:
                if worker.opening is not None:
                    self._forget(worker.number)  # it may have ended the process, which must not happen again
            self._changed.notify_all()
        for worker in workers:
            if worker.opening is None:
                worker.mark_lost()
            else:
                error = EngineFailure("An engine process ended while it loaded a model; see the log.")
                worker.opening.set_exception(error)

    def _forget(self, number: int) -> RemoteWorker | None:
        """Remove a worker, which is not loaded again."""
        with self._changed:
            return self._workers.pop(number, None)

    def _give_up(self, worker: RemoteWorker, reason: str) -> None:
        """Remove a model from this process permanently; the others continue."""
        self._on_restart("given_up")
        log.critical("a model could not be restarted", model=worker.name, process=self.process_id, reason=reason)
        self._forget(worker.number)
        worker.give_up()
