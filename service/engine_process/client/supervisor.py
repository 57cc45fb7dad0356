"""Supervises an engine process: starts it, opens bundles in it, and starts it again if it ends or hangs.

A process holds only models, which are loaded again, and pending calls, which fail and may be sent again. If a model
fails while its process still runs, only the model is loaded again.
"""

import threading
import time
from collections.abc import Callable

from service.engine import EngineFailure
from service.engine_process.client.calls import EngineCalls
from service.engine_process.client.connection import EngineConnection, LogStyle
from service.engine_process.client.remote_worker import RemoteWorker
from service.engine_process.client.restarts import Restarts
from service.logs import describe_exception, get_logger

STALLED_SECONDS = 30.0  # as in service.engine.translation.served_model
CHECK_SECONDS = 0.5  # between two checks of the workers
HANG_SECONDS = 15.0  # time for a stalled model to recover after it is no longer ready
SILENT_SECONDS = 4.0  # without a report (there are four a second): with the time between two checks it is 5 at most
log = get_logger(__name__)


class EngineProcess(EngineCalls):
    """Runs models in a separate process, which is started at once and kept running.

    `on_restart` is called at every restart, with a word for its kind: process, model or given_up. `gpu` is the only one
    that it sees; None: all that this process sees.
    """

    def __init__(
        self, log_style: LogStyle, on_restart: Callable[[str], None] = lambda _what: None, gpu: str | None = None
    ) -> None:
        super().__init__(log_style, on_restart, gpu)
        self._restarts = Restarts(time.monotonic())
        self._checked = time.monotonic()
        self._stalled_since: float | None = None
        self._supervisor = threading.Thread(target=self._supervise, name="engine-supervisor", daemon=True)
        self._supervisor.start()

    def close(self) -> None:
        """End the process; pending calls fail."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._supervisor.join()
        self._connection.close()

    # The following methods run in the supervisor's thread.

    def _supervise(self) -> None:
        """Restart the process after it has ended, and end it if it hangs: the thread's main function."""
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
        """Give up models that are not loaded again in time, and end the process if one hangs."""
        for worker in list(self._workers.values()):
            seconds = worker.order[1].load_seconds if worker.order else 0.0
            if worker.opening is None and worker.loading_since and now - worker.loading_since >= seconds:
                self._give_up(worker, f"It could not be loaded within {seconds:g} seconds.")
        # After a pause of the whole machine, every model gets the time to recover.
        paused, self._checked = now - self._checked >= SILENT_SECONDS / 2, now
        if self.has_unread and not paused:
            return  # the reports that this process is too busy to read say how the models are
        stalled = None if paused else self._stalled_worker(now)
        if not paused and self._is_silent(now):
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
                workers = list(self._workers.values())
            for worker in workers:
                self._refuse(worker, EngineFailure("The engine process has been given up; see the log."))
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
            workers = list(self._workers.values())
            connection.channel.start()
            for worker in workers:
                self._load(worker)
        self._on_restart("process")
        log.warning("an engine process was restarted", process=connection.process_id, models=len(workers))

    def _is_silent(self, now: float) -> bool:
        """Return whether the process has sent no report about any of its working models for too long."""
        reported = [worker.reported for worker in list(self._workers.values()) if worker.status.alive]
        return bool(reported) and now - max(reported) >= SILENT_SECONDS

    def _stalled_worker(self, now: float) -> RemoteWorker | None:
        """Return a working worker without a heartbeat for too long."""
        for worker in list(self._workers.values()):
            status = worker.status
            if status.alive and now - status.heartbeat >= STALLED_SECONDS:
                return worker
        return None
