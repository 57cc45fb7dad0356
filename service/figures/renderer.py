"""Supervises the renderer process: it starts at the first use, is replaced when it dies, and does one job at a time."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

from service.engine import EngineFailure, Overloaded, in_daemon_thread
from service.figures import renderer_process
from service.figures.library import read_cached, write_cached
from service.figures.renderer_process import IDLE, LOW, read, write
from service.logs import get_logger

log = get_logger(__name__)

MOST_WAITING = 32
SECONDS = 60.0  # not less: on a busy machine a low-priority process waits, and its start takes time
FONT_PACKAGES = "fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji"  # of Debian
IDLE_SECONDS = 5.0  # without an answer for so long, the machine has too little idle time


class DrawingFailed(EngineFailure):
    """The renderer process died or refused; the next job gets a new one."""


class FigureRenderer:
    """Draws specifications as pictures; every method may be called from any task of one event loop."""

    def __init__(self, seconds: float = SECONDS, most_waiting: int = MOST_WAITING) -> None:
        self._seconds, self._most_waiting = seconds, most_waiting
        self._waiting = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="renderer")
        self._busy = False  # whether the machine was found to have too little idle time
        self._process: subprocess.Popen[bytes] | None = None
        self._script: bytes | None = None
        self._finalizer: Any = None

    @property
    def process_id(self) -> int | None:
        """Return the id of the renderer process, if there is one."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

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
        if self._finalizer is not None:
            self._finalizer()
        self._process = None
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
        """Send a job to the process, again if it found no idle time; this runs in the thread."""
        seconds = self._seconds if self._busy else min(IDLE_SECONDS, self._seconds)
        answer, in_time = self._ask_once(job, seconds)
        if not in_time and seconds < self._seconds:
            self._busy = True
            log.warning("figures take a share of the processor from now on: there was no idle time to draw in")
            answer, _ = self._ask_once(job, self._seconds)
        if answer is None:
            raise DrawingFailed("The picture could not be drawn; the numbers can be had as json, csv or npz.")
        status, result = answer
        if status == b"boxes":
            log.warning("a picture has empty boxes: the fonts of this machine lack letters", packages=FONT_PACKAGES)
        elif status != b"ok":
            raise DrawingFailed(f"The picture could not be drawn ({result.decode('ascii', 'replace')}).")
        return result

    def _ask_once(self, job: dict[str, Any], seconds: float) -> tuple[tuple[bytes, bytes] | None, bool]:
        """Return the process' answer, None if it died, and whether it was in time; a process that failed is ended."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        watch = threading.Timer(seconds, process.kill)
        begun = time.monotonic()
        watch.start()
        try:
            write(process.stdin, json.dumps(job).encode("utf-8"))  # type: ignore[arg-type]
            status, result = read(process.stdout), read(process.stdout)  # type: ignore[arg-type]
        except OSError:
            status = result = None
        finally:
            watch.cancel()
        if status is None or result is None:
            _end(process)
            return None, time.monotonic() - begun < seconds
        return (status, result), True

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        if self._finalizer is not None:
            self._finalizer()
        command = [sys.executable, "-m", renderer_process.__name__, LOW if self._busy else IDLE]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._finalizer = weakref.finalize(self, _end, self._process)
        return self._process


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close the pipes of a process, kill it, and wait until it has ended."""
    process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):  # input that it had not read
                stream.close()
    process.wait()
