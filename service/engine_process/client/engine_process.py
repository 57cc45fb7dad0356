"""An engine process: starts it, opens bundles in it, calls its models, and starts it again if it ends or hangs.

A process holds only models, which are loaded again, and pending calls, which fail and may be sent again. If a model
fails while its process still runs, only the model is loaded again. The states are those of `lifecycle`; all of them
change on the event loop, except that a model may be stopped by any thread.
"""

import asyncio
import itertools
import pickle
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future

from service.bundle.load import Bundle
from service.engine import EngineError, EngineFailure, EngineSettings, EventListener, Interrupted, Placement
from service.engine_process import protocol
from service.engine_process.client.connection import EngineConnection, LogStyle
from service.engine_process.client.lifecycle import PROCESS, STABLE_SECONDS, Event, ModelStage, ProcessState, Restarts
from service.engine_process.client.pending_calls import PendingCalls
from service.engine_process.client.remote_worker import RemoteWorker
from service.logs import describe_exception, get_logger

NO_WORKER = -1  # the number of a call to the process itself
STALLED_SECONDS = 30.0  # as in service.engine.translation.served_model
CHECK_SECONDS = 0.5  # between two checks of the models
HANG_SECONDS = 15.0  # time for a stalled model to recover after it is no longer ready
SILENT_SECONDS = 4.0  # without a report (there are four a second): with the time between two checks it is 5 at most
log = get_logger(__name__)


class EngineProcess:
    """Runs models in a separate process, which is started at once and kept running."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        log_style: LogStyle,
        on_restart: Callable[[str], None] = lambda _what: None,
        gpu: str | None = None,
    ) -> None:
        """Start it; `loop` receives its messages, and may begin to run later.

        `on_restart` is called at every restart, with a word for its kind: process, model or given_up. `gpu` is the only
        one that it sees; None: all that this process sees.
        """
        self.state = ProcessState.RUNNING
        self.pending = PendingCalls(lambda worker, number: self.post(protocol.Cancel(worker, number)))
        self.looked = self._ticked = time.monotonic()  # the last time that its reports were read, that it was checked
        self._loop, self._log_style, self._on_restart, self._gpu = loop, log_style, on_restart, gpu
        self._workers: dict[int, RemoteWorker] = {}  # by number: those that are not stopped or given up
        self._numbers = itertools.count()
        self._restarts = Restarts(time.monotonic())
        self._stalled_since: float | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread: int | None = None  # of the event loop, as soon as that runs
        self._decided = asyncio.Event()  # set if it has ended, and was started again or given up
        self._connection = EngineConnection(log_style, gpu)
        loop.call_soon_threadsafe(lambda: self._begin(self._keep_running()))

    @property
    def process_id(self) -> int:
        """Return the id of the current process."""
        return self._connection.process_id

    @property
    def full(self) -> bool:
        """Return whether so much is unsent that no more work should be sent."""
        return self._connection.full

    def open(
        self, bundle: Bundle, settings: EngineSettings, on_event: EventListener
    ) -> tuple[RemoteWorker, Future[Placement]]:
        """Load a bundle; the future fails with the errors of load_worker, or with EngineFailure."""
        worker = RemoteWorker(next(self._numbers), self, bundle, settings, on_event)
        return worker, asyncio.run_coroutine_threadsafe(self._open(worker), self._loop)

    def providers(self, seconds: float) -> tuple[str, ...]:
        """Return the providers of the ONNX Runtime in the process; raise EngineFailure if it does not answer."""
        number, future = self.pending.open(NO_WORKER)
        self.post(protocol.Providers(number), number)
        try:
            found = future.result(seconds)
        except TimeoutError:
            raise EngineFailure(f"The engine process did not answer within {seconds:g} seconds.") from None
        assert isinstance(found, tuple)
        return found

    def post(self, message: protocol.ToEngine, *numbers: int) -> None:
        """Send a message from any thread; if there is no process now, the calls with these numbers fail."""
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        if threading.get_ident() == self._thread:
            self._send(data, numbers)
        else:
            self._loop.call_soon_threadsafe(self._send, data, numbers)

    def forget(self, worker: RemoteWorker) -> None:
        """Remove a worker, which is not loaded again."""
        self._workers.pop(worker.number, None)

    def close(self) -> None:
        """End the process; pending calls fail."""
        self._move(Event.CLOSED)
        self._connection.close()
        self._lose_models(Event.ENDED)

    # The following methods run on the event loop.

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _move(self, event: Event) -> None:
        self.state = PROCESS.get((self.state, event), self.state)

    def _send(self, data: bytes, numbers: tuple[int, ...]) -> None:
        if self.state is ProcessState.RUNNING:
            self._connection.send(data)
            return
        for number in numbers:
            self.pending.fail(number, Interrupted("The engine process has ended; send the request again."))

    async def _keep_running(self) -> None:
        """Receive messages, and start the process again whenever it has ended, until it is given up or closed."""
        self._thread = threading.get_ident()
        while True:
            await self._run()
            self._move(Event.ENDED)
            if self.state is ProcessState.CLOSED:
                return
            self._decided.clear()
            self._lose_models(Event.ENDED)
            ended = self.process_id
            exit_code = await asyncio.to_thread(self._connection.close, 1.0)
            log.error("an engine process has ended", process=ended, exit_code=exit_code)
            if not await self._start_again():
                return
            self._move(Event.STARTED)
            self._decided.set()
            for worker in list(self._workers.values()):
                if worker.move(Event.STARTED) is ModelStage.RELOADING:
                    self._begin(self._reload(worker))
            self._on_restart("process")
            log.warning("an engine process was restarted", process=self.process_id, models=len(self._workers))

    async def _start_again(self) -> bool:
        """Start the process after a delay; return False if it ended too often in a row, or is closed."""
        while (delay := self._restarts.ended(time.monotonic())) is not None:
            await asyncio.sleep(delay)
            self._restarts.begins(time.monotonic())
            try:
                self._connection = await asyncio.to_thread(EngineConnection, self._log_style, self._gpu)
            except OSError as error:  # it is tried again, with longer delays
                log.error("an engine process could not be started", **describe_exception(error))
                continue
            if self.state is ProcessState.CLOSED:
                self._connection.close()
            return self.state is not ProcessState.CLOSED
        self._on_restart("given_up")
        log.critical("an engine process ended too often in a row; it is given up", restarts=self._restarts.in_a_row)
        self._move(Event.GIVEN_UP)
        self._decided.set()
        self._lose_models(Event.GIVEN_UP)
        return False

    def _lose_models(self, event: Event) -> None:
        self.pending.fail_all(EngineFailure("The engine process has ended; see the log."), NO_WORKER)
        reason = EngineFailure.of_a_model if event is Event.GIVEN_UP else Interrupted.of_a_process
        for worker in list(self._workers.values()):
            worker.lose(event, reason(worker.name))

    async def _run(self) -> None:
        """Receive the messages of one run of the process, and check it, until it ends."""
        self._ticked = time.monotonic()
        checking = asyncio.create_task(self._check_regularly())
        try:
            async for messages in self._connection.messages():
                for message in messages:
                    self._receive(message)
        except Exception as error:
            log.error("a message of an engine process could not be read", **describe_exception(error))
        finally:
            checking.cancel()

    def _receive(self, message: protocol.FromEngine) -> None:
        """Process a message; an error in one must not lose the following ones."""
        try:
            match message:
                case protocol.Done(number, result):
                    self.pending.resolve(number, result)
                case protocol.Failed(number, error):
                    self.pending.fail(number, error)
                case protocol.EventReport(number) | protocol.StatusReport(number):
                    worker = self._workers.get(number)
                    if worker is not None and worker.handle(message):
                        self._restart_model(worker)
        except Exception as failure:
            kind = type(message).__name__
            log.error("a message could not be handled", message=kind, **describe_exception(failure))

    async def _open(self, worker: RemoteWorker) -> Placement:
        """Load a model for the first time."""
        if self.state is ProcessState.ENDED:
            await self._decided.wait()
        if self.state is not ProcessState.RUNNING:
            raise EngineFailure("The engine process has been given up; see the log.")
        self._workers[worker.number] = worker
        try:
            worker.placement = await self._load(worker)
        except BaseException as error:
            self.forget(worker)
            worker.move(Event.NOT_LOADED)
            if isinstance(error, Interrupted):  # it may have ended the process, which must not happen again
                raise EngineFailure("An engine process ended while it loaded a model; see the log.") from None
            raise
        worker.move(Event.LOADED)
        return worker.placement

    async def _load(self, worker: RemoteWorker) -> Placement:
        """Ask the present process to load a model."""
        number, loaded = self.pending.open(worker.number)
        again = worker.placement is not None
        self.post(protocol.Open(number, worker.number, worker.bundle, worker.settings, again), number)
        placement: Placement = await asyncio.wrap_future(loaded)
        return placement

    async def _reload(self, worker: RemoteWorker) -> None:
        """Load a model again, or give it up."""
        began, seconds = time.monotonic(), worker.settings.load_seconds
        try:
            async with asyncio.timeout(seconds):
                placement = await self._load(worker)
        except Interrupted:
            return  # the next process loads it
        except (EngineError, TimeoutError) as error:
            self._give_up(worker, Event.NOT_LOADED, str(error) or f"It was not loaded within {seconds:g} seconds.")
            return
        worker.move(Event.LOADED)
        if placement != worker.placement:
            log.error("a model runs on another device since its restart", model=worker.name, device=placement.device)
        seconds = round(time.monotonic() - began, 3)
        log.info("model restarted", model=worker.name, process=self.process_id, seconds=seconds)

    def _restart_model(self, worker: RemoteWorker) -> None:
        """Load a model again that has failed in a process that goes on; give it up if it fails twice in a minute."""
        now, before = time.monotonic(), worker.restarted_at
        worker.restarted_at = now
        again = before is not None and now - before < STABLE_SECONDS
        worker.lose(Event.FAILED_AGAIN if again else Event.FAILED, Interrupted.of_a_process(worker.name))
        if again:
            self._give_up(worker, Event.FAILED_AGAIN, "It failed again within a minute.")
            return
        log.error("a model has failed; it is loaded again", model=worker.name, process=self.process_id)
        self._on_restart("model")
        self.post(protocol.Stop(worker.number))
        self._begin(self._reload(worker))

    def _give_up(self, worker: RemoteWorker, event: Event, reason: str) -> None:
        """Remove a model from this process permanently, unless it was stopped meanwhile; the others continue."""
        if worker.number not in self._workers:
            return
        self._on_restart("given_up")
        log.critical("a model could not be restarted", model=worker.name, process=self.process_id, reason=reason)
        self.forget(worker)
        self.post(protocol.Stop(worker.number))
        worker.lose(event, EngineFailure.of_a_model(worker.name))

    async def _check_regularly(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            try:
                self._check(time.monotonic())
            except Exception as error:
                log.error("an engine process could not be checked", **describe_exception(error))

    def _check(self, now: float) -> None:
        """End the process if it is silent or a model hangs."""
        late, self._ticked = now - self._ticked >= 2 * CHECK_SECONDS, now
        if late:  # this process was busy or the whole machine paused: the reports of the meantime are read now
            self._stalled_since = None
            return
        self.looked = now
        alive = [worker for worker in self._workers.values() if worker.status.alive]
        stalled = [worker.name for worker in alive if now - worker.status.heartbeat >= STALLED_SECONDS]
        if alive and now - max(worker.reported for worker in alive) >= SILENT_SECONDS:
            log.error("an engine process gives no sign of life; it is stopped", process=self.process_id)
            self._connection.kill()
        elif not stalled:
            self._stalled_since = None
        elif self._stalled_since is None:
            self._stalled_since = now
        elif now - self._stalled_since >= HANG_SECONDS:
            log.error("a model hangs; its engine process is stopped", model=stalled[0], process=self.process_id)
            self._stalled_since = None
            self._connection.kill()
