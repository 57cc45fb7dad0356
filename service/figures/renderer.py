"""Supervises the renderer process: it starts at the first use, is replaced when it dies, and does one job at a time."""

import asyncio
import contextlib
import json
import subprocess
import sys
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, ClassVar, Literal

from service.engine import EngineFailure, NotReady, Overloaded, in_daemon_thread
from service.figures import renderer_process
from service.figures.process_watch import watched
from service.figures.renderer_process import read_cached, write_cached
from service.logs import get_logger

MOST_WAITING = 32
SECONDS = 60.0  # of processor time for one picture, its process' start included
log = get_logger(__name__)


class DrawingFailed(EngineFailure):
    """The renderer process refused a job."""

    code = EngineFailure.code


class RendererLost(NotReady):
    """The renderer process ended during a job; a new one has been started."""

    code = NotReady.code


class FigureRenderer:
    """Draws specifications as pictures; every method may be called from any task of one event loop."""

    program: ClassVar = ["-m", renderer_process.__name__]

    def __init__(self, seconds: float = SECONDS, most_waiting: int = MOST_WAITING) -> None:
        self._seconds, self._most_waiting = seconds, most_waiting
        self._waiting = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="renderer")
        self._process: tuple[subprocess.Popen[bytes], Connection] | None = None
        self._end: Callable[[], object] = lambda: None
        self._closed = False
        self._script: bytes | None = None

    @property
    def process_id(self) -> int | None:
        """Return the id of the renderer process, if there is one."""
        return self._process[0].pid if self._process is not None and self._process[0].poll() is None else None

    async def draw(self, spec: dict[str, Any], form: Literal["svg", "png"], scale: float = 1.0) -> bytes:
        """Return a picture; raise Overloaded if too many jobs wait, RendererLost or DrawingFailed."""
        return await self._ask({"kind": form, "spec": spec, "scale": scale})

    async def script(self) -> bytes:
        """Return the libraries that draw the same specification in a browser, as one script."""
        if self._script is None:
            self._script = await in_daemon_thread(read_cached, "figures-library")
        if self._script is None:
            self._script = script = await self._ask({"kind": "script"})
            await in_daemon_thread(lambda: write_cached(script), "figures-library")
        return self._script

    def close(self) -> None:
        """End the renderer process."""
        self._closed = True
        self._end()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _ask(self, job: dict[str, Any]) -> bytes:
        if self._waiting >= self._most_waiting:
            raise Overloaded("Too many pictures are waiting to be drawn; try again in a moment.", retry_after=2.0)
        self._waiting += 1
        try:
            # A job that has not begun is cancelled with its client. The thread finishes one that has begun, so that
            # requests and answers stay in step.
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._exchange, job)
        finally:
            self._waiting -= 1

    def _exchange(self, job: dict[str, Any]) -> bytes:
        """Send a job to the process and return its answer; this runs in the thread."""
        try:
            process, connection = self._running()
            with watched(process, self._seconds):
                connection.send_bytes(json.dumps(job).encode("utf-8"))
                status, _, result = connection.recv_bytes().partition(b" ")
        except (EOFError, OSError) as error:
            self._replace()
            message = "The process that draws pictures has ended; send the request again."
            raise RendererLost(message) from error
        if status != b"ok":
            raise DrawingFailed(f"The picture could not be drawn ({result.decode('ascii', 'replace')}).")
        return result

    def _replace(self) -> None:
        """End the process and start the next one at once, so that it is ready for the next job."""
        self._end()
        if self._process is not None:
            log.error("the process that draws figures has ended", exit_code=self._process[0].returncode)
        with contextlib.suppress(OSError):  # the next job tries again
            if not self._closed:
                self._running()

    def _running(self) -> tuple[subprocess.Popen[bytes], Connection]:
        if self._process is not None and self._process[0].poll() is None:
            return self._process
        self._end()
        here, there = Pipe()
        command = [sys.executable, *self.program, str(there.fileno())]
        # What a library prints may quote the texts of users, and a pipe that nobody reads would stop the process.
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, pass_fds=[there.fileno()])
        there.close()
        self._process = process, here
        self._end = weakref.finalize(self, _end, process, here)
        return self._process


def _end(process: subprocess.Popen[bytes], connection: Connection) -> None:
    """Kill a process, and wait until it has ended."""
    process.kill()
    process.wait()
    connection.close()
