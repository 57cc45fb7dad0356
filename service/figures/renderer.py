"""Supervises the renderer process: it starts at the first use, is replaced when it dies, and does one job at a time."""

import asyncio
import json
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, ClassVar, Literal

from service.engine import EngineFailure, Overloaded, in_daemon_thread
from service.figures import renderer_process
from service.figures.renderer_process import read_cached, write_cached

MOST_WAITING = 32
SECONDS = 60.0  # not less: on a busy machine a low-priority process waits, and its start takes time


class DrawingFailed(EngineFailure):
    """The renderer process died or refused; the next job gets a new one."""


class FigureRenderer:
    """Draws specifications as pictures; every method may be called from any task of one event loop."""

    program: ClassVar = ["-m", renderer_process.__name__]

    def __init__(self, seconds: float = SECONDS, most_waiting: int = MOST_WAITING) -> None:
        self._seconds, self._most_waiting = seconds, most_waiting
        self._waiting = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="renderer")
        self._process: tuple[subprocess.Popen[bytes], Connection] | None = None
        self._end: Callable[[], object] = lambda: None
        self._script: bytes | None = None

    @property
    def process_id(self) -> int | None:
        """Return the id of the renderer process, if there is one."""
        return self._process[0].pid if self._process is not None and self._process[0].poll() is None else None

    async def draw(self, spec: dict[str, Any], form: Literal["svg", "png"], scale: float = 1.0) -> bytes:
        """Return a picture; raise Overloaded if too many jobs wait, DrawingFailed if the process dies or is late."""
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
        process, connection = self._running()
        watch = threading.Timer(self._seconds, process.kill)
        watch.start()
        try:
            connection.send_bytes(json.dumps(job).encode("utf-8"))
            status, _, result = connection.recv_bytes().partition(b" ")
        except (EOFError, OSError) as error:
            self._end()
            message = "The picture could not be drawn; the numbers can be had as json, csv or npz."
            raise DrawingFailed(message) from error
        finally:
            watch.cancel()
        if status != b"ok":
            raise DrawingFailed(f"The picture could not be drawn ({result.decode('ascii', 'replace')}).")
        return result

    def _running(self) -> tuple[subprocess.Popen[bytes], Connection]:
        if self._process is not None and self._process[0].poll() is None:
            return self._process
        self._end()
        here, there = Pipe()
        command = [sys.executable, *self.program, str(there.fileno())]
        # Whatever a library prints there must not go to our standard output, which may be translations.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=2, pass_fds=[there.fileno()])
        there.close()
        self._process = process, here
        self._end = weakref.finalize(self, _end, process, here)
        return self._process


def _end(process: subprocess.Popen[bytes], connection: Connection) -> None:
    """Kill a process, and wait until it has ended."""
    process.kill()
    process.wait()
    connection.close()
