"""Supervises an engine process: starts it, opens bundles in it, and starts it again if it ends or hangs.

A process holds only models, which are loaded again, and pending calls, which fail and may be sent again. If a model
fails while its process still runs, only the model is loaded again.
"""

import asyncio
import itertools
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace

import numpy as np

from service.bundle.load import Bundle
from service.engine import (
    EngineError,
    EngineFailure,
    EngineSettings,
    EventListener,
    Placement,
    WorkerState,
    WorkerStatus,
)
from service.engine_process.client.connection import EngineConnection, LogStyle
from service.engine_process.client.pending_calls import PendingCalls
from service.engine_process.client.remote_worker import RemoteWorker
from service.engine_process.client.restarts import HostedModel, Restarts
from service.engine_process.protocol import (
    Cancel,
    Done,
    EventReport,
    Failed,
    FromEngine,
    Open,
    Opened,
    Order,
    Providers,
    Refused,
    Score,
    StatusReport,
    Stopped,
    ToEngine,
    TokenChosen,
    Translate,
)
from service.logs import describe_exception, get_logger

STALLED_SECONDS = 30.0  # as in service.engine.translation.translator
CHECK_SECONDS = 0.5  # between two checks of the workers
NO_WORKER = -1  # the number of a call to the process itself
HANG_SECONDS = 15.0  # time for a stalled model to recover after it is no longer ready
SILENT_SECONDS = 5.0  # without a report: a thread of the process that does nothing else sends four a second
log = get_logger(__name__)


class EngineProcess:
    """Runs models in a separate process, which is started at once and kept running.

    `on_restart` is called at every restart, with a word for its kind: process, model or given_up. `gpu` is the only one
    that it sees; None: all that this process sees.
    """

    def __init__(
        self, log_style: LogStyle, on_restart: Callable[[str], None] = lambda _what: None, gpu: str | None = None
    ) -> None:
        self._log_style, self._on_restart, self._gpu = log_style, on_restart, gpu
        self._pending = PendingCalls(lambda worker, number: self.send(Cancel(worker, number)))
        # A worker stays here as long as it is referenced: a replaced one ends with its last request.
        self._workers: weakref.WeakValueDictionary[int, RemoteWorker] = weakref.WeakValueDictionary()
        self._hosted: dict[int, HostedModel] = {}
        self._numbers = itertools.count()
        self._changed = threading.Condition(threading.RLock())
        self._ended: EngineConnection | None = None  # the connection that must be replaced
        self._closing = self._given_up = False
        self._restarts = Restarts(time.monotonic())
        self._checked = time.monotonic()
        self._stalled_since: float | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # receives the messages; None: a thread does
        self._connection = self._new_connection()
        self._connection.start()
        self._supervisor = threading.Thread(target=self._supervise, name="engine-supervisor", daemon=True)
        self._supervisor.start()

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

    def send(self, message: ToEngine) -> None:
        """Send a message; it is lost if the process has just ended."""
        self._connection.channel.send(message)

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
            order = Open(number, bundle, settings)
            self._workers[number], self._hosted[number] = worker, HostedModel(order, placement)
            if self._ended is None:  # otherwise the next process is asked
                self.send(order)
        return worker, placement

    def providers(self, seconds: float) -> tuple[str, ...]:
        """Return the providers of the ONNX Runtime in the process; raise EngineFailure if it does not answer."""
        number, future = self._pending.open(NO_WORKER)
        self.send(Providers(number))
        try:
            found = future.result(seconds)
        except TimeoutError:
            raise EngineFailure(f"The engine process did not answer within {seconds:g} seconds.") from None
        assert isinstance(found, tuple)
        return found

    def abandon(self, worker: RemoteWorker) -> None:
        """Stop waiting for a bundle that is being loaded; if it is loaded later, it is dropped."""
        with self._changed:
            self._forget(worker.number)
        worker.retire()

    def close(self) -> None:
        """End the process; pending calls fail."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._supervisor.join()
        self._connection.close()

    def _new_connection(self) -> EngineConnection:
        connection = EngineConnection(self._log_style, self._receive, self._lost, self._undelivered, self._gpu)
        if self._loop is not None:
            connection.channel.receive_on(self._loop)
        return connection

    def _receive(self, message: FromEngine) -> None:
        match message:
            case Done(number, result):
                self._pending.resolve(number, result)
            case Failed(number, error):
                self._pending.fail(number, error)
            case EventReport(number) | StatusReport(number) | Stopped(number):
                worker = self._workers.get(number)
                if worker is not None and worker.handle(message):
                    with self._changed:
                        self._changed.notify_all()
            case TokenChosen(number, token, logprob, weights):
                if listener := self._pending.listener(number):
                    listener(token, logprob, None if weights is None else np.frombuffer(weights, np.float32))
            case Opened(number, placement):
                self._opened(number, placement)
            case Refused(number, error):
                self._refused(number, error)

    def _opened(self, number: int, placement: Placement) -> None:
        with self._changed:
            worker, hosted = self._workers.get(number), self._hosted.get(number)
            opening, again = (None, None) if hosted is None else (hosted.opening, hosted.again_since)
            if worker is not None and again is not None:
                worker.mark_reloaded()  # before it counts as loaded, otherwise it would seem to have failed again
            if hosted is not None:
                hosted.opening = hosted.again_since = None
        if opening is not None:
            if worker is not None:
                worker.placement = placement
            opening.set_result(placement)
        elif worker is not None and again is not None:
            if placement != worker.placement:
                log.error(
                    "a model runs on another device since its restart", model=worker.name, device=placement.device
                )
            log.info("model restarted", model=worker.name, process=self.process_id, seconds=_since(again))
        else:
            self.send(Order(number, "retire"))  # it was abandoned meanwhile

    def _refused(self, number: int, error: EngineError) -> None:
        with self._changed:
            worker, hosted = self._workers.get(number), self._forget(number)
        if hosted is not None and hosted.opening is not None:
            hosted.opening.set_exception(error)
        elif worker is not None and hosted is not None and hosted.again_since is not None:
            self._give_up(worker, error.message)

    def _undelivered(self, message: ToEngine) -> None:
        """Fail the calls of a message that could not be sent."""
        if isinstance(message, Open):
            self._refused(message.worker, EngineFailure(f"{message.bundle.folder}: it could not be sent to an engine."))
        numbers = message.numbers if isinstance(message, Translate) else ()
        for number in (message.number,) if isinstance(message, Score) else numbers:
            self._pending.fail(number, EngineFailure.of_a_run())

    def _lost(self, connection: EngineConnection) -> None:
        """Record that the connection to a process was closed."""
        with self._changed:
            self._ended = connection
            workers = dict(self._workers)
            opening = {number: each.opening for number, each in self._hosted.items() if each.opening is not None}
            for number in opening:
                self._forget(number)  # it may have ended the process, which must not happen again
            self._changed.notify_all()
        for placement in opening.values():
            placement.set_exception(EngineFailure("An engine process ended while it loaded a model; see the log."))
        for number, worker in workers.items():
            if number not in opening:
                worker.mark_lost()

    def _forget(self, number: int) -> HostedModel | None:
        """Remove a worker, which is not loaded again."""
        with self._changed:
            self._workers.pop(number, None)
            return self._hosted.pop(number, None)

    # The following methods run in the supervisor's thread.

    def _supervise(self) -> None:
        """Restart the process after it has ended, and its models while it runs: the thread's main function."""
        while not self._wait_for_end():
            try:
                if self._ended is not None:
                    self._restart(self._ended)
                else:
                    self._check_models(time.monotonic())
            except Exception as error:  # without this thread the process would stay dead
                log.error("an engine process could not be supervised", **describe_exception(error))
                time.sleep(CHECK_SECONDS)

    def _wait_for_end(self) -> bool:
        """Wait for work; return True at the end."""
        with self._changed:
            if not (self._closing or self._given_up or self._ended):
                self._changed.wait(CHECK_SECONDS)
            return self._closing or self._given_up

    def _check_models(self, now: float) -> None:
        """Restart failed models, and end the process if one hangs."""
        self._restart_models(now)
        # After a pause of the whole machine, every model gets the time to recover.
        paused, self._checked = now - self._checked >= SILENT_SECONDS / 2, now
        stalled = None if paused else self._stalled_worker(now)
        if not paused and not self.has_unread and self._is_silent(now):
            log.error("an engine process gives no sign of life; it is stopped", process=self.process_id)
            self._connection.kill()
        elif stalled is None:
            self._stalled_since = None
        elif self._stalled_since is None:
            self._stalled_since = now
        elif now - self._stalled_since >= HANG_SECONDS:
            log.error("a model hangs; its engine process is stopped", model=stalled.name, process=self.process_id)
            self._stalled_since = None
            self._connection.kill()

    def _restart(self, ended: EngineConnection) -> None:
        """Start the process again after a delay, or give it up after too many failures."""
        exit_code = ended.reap()
        delay = self._restarts.ended(time.monotonic())
        log.error("an engine process has ended", process=ended.process_id, exit_code=exit_code, restart_in=delay)
        if delay is None:
            self._on_restart("given_up")
            log.critical("an engine process ended too often in a row; it is given up", restarts=self._restarts.in_a_row)
            with self._changed:
                self._given_up = True
                workers, hosted = list(self._workers.values()), list(self._hosted.values())
                self._hosted.clear()
            for each in hosted:
                if each.opening is not None:
                    each.opening.set_exception(EngineFailure("The engine process has been given up; see the log."))
            for worker in workers:
                worker.give_up()
            return
        with self._changed:
            if self._changed.wait_for(lambda: self._closing, delay):
                return
        self._restarts.begins(time.monotonic())
        try:
            connection = self._new_connection()
        except OSError as error:
            log.error("an engine process could not be started", **describe_exception(error))
            return  # it is tried again, with longer delays
        with self._changed:
            self._connection, self._ended = connection, None
            numbers = [number for number in self._hosted if number in self._workers]
            connection.start()
            for number in numbers:
                self._reload(number)
        self._on_restart("process")
        log.warning("an engine process was restarted", process=connection.process_id, models=len(numbers))

    def _reload(self, number: int) -> None:
        """Send the message again that loaded a model before."""
        with self._changed:
            hosted = self._hosted[number]
            if hosted.opening is not None:
                self.send(hosted.order)
                return
            hosted.again_since, hosted.due = time.monotonic(), None
            self.send(replace(hosted.order, again=True))

    def _restart_models(self, now: float) -> None:
        """Load failed models again, and give up those that do not come back."""
        with self._changed:
            if self._ended is not None:
                return
            for number in [number for number in self._hosted if number not in self._workers]:
                self._forget(number)
            gone = [
                (worker, self._hosted[number])
                for number, worker in self._workers.items()
                if worker.status.state is WorkerState.RESTARTING and number in self._hosted
            ]
        for worker, hosted in gone:
            seconds = hosted.order.settings.load_seconds
            if hosted.again_since is None:
                self._restart_model(worker, hosted, now)
            elif now - hosted.again_since >= seconds:
                self._give_up(worker, f"It could not be loaded within {seconds:g} seconds.")

    def _restart_model(self, worker: RemoteWorker, hosted: HostedModel, now: float) -> None:
        """Load a model again, after a delay, if it failed in a process that still runs."""
        if hosted.due is None:
            delay = hosted.failed(now)
            if delay is None:
                self._give_up(worker, "It failed too often in a row.")
            else:
                log.error("a model has failed", model=worker.name, process=self.process_id, restart_in=delay)
        elif now >= hosted.due:
            self._on_restart("model")
            with self._changed:
                if worker.number in self._hosted:
                    self.send(Order(worker.number, "retire"))
                    self._reload(worker.number)

    def _give_up(self, worker: RemoteWorker, reason: str) -> None:
        """Remove a model from this process permanently; the others continue."""
        self._on_restart("given_up")
        log.critical("a model could not be restarted", model=worker.name, process=self.process_id, reason=reason)
        with self._changed:
            self._forget(worker.number)
        worker.give_up()

    def _is_silent(self, now: float) -> bool:
        """Return whether the process has sent no report about any of its working models for too long."""
        reported = [worker.reported for worker in list(self._workers.values()) if worker.status.alive]
        return bool(reported) and now - max(reported) >= SILENT_SECONDS

    def _stalled_worker(self, now: float) -> RemoteWorker | None:
        """Return a working worker without a heartbeat for too long."""
        every = (worker for _, worker in list(self._workers.items()))
        return next((each for each in every if _is_stalled(each.status, now)), None)


def _is_stalled(status: WorkerStatus, now: float) -> bool:
    return status.alive and now - status.heartbeat >= STALLED_SECONDS


def _since(moment: float) -> float:
    return round(time.monotonic() - moment, 3)
