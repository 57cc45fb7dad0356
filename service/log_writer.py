"""Writes log lines in a thread: a reader of the log that is slow, hangs or is gone delays nothing else."""

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable

ROOM = 1_000_000  # characters that wait; some 4,000 lines
PAUSE_SECONDS = 0.02  # after each write, in which further lines come together: one call of the system writes them all
LAST_SECONDS = 1.0  # time to write what waits when the process ends


class LogWriter:
    """A text stream of whole lines over a file descriptor; a line that finds no room is dropped and counted."""

    def __init__(
        self, descriptor: int, on_drop: Callable[[int], object], on_recovery: Callable[[int], object], room: int = ROOM
    ) -> None:
        """Call `on_drop` with each number of lines that are lost, and `on_recovery` with their sum at the next write.

        `on_drop` is called where a line is written or in the thread, `on_recovery` in the thread.
        """
        self._descriptor, self._room = descriptor, room
        self._on_drop, self._on_recovery = on_drop, on_recovery
        self._changed = threading.Condition()
        self._waiting: list[str] = []
        self._characters = 0
        self._writing = False
        self._dropped = 0  # since the last line that was written
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def isatty(self) -> bool:
        """Return whether a person reads the lines at a terminal."""
        return os.isatty(self._descriptor)

    def write(self, line: str) -> None:
        """Hand over a line."""
        is_writer = threading.current_thread() is self._thread  # the line about dropped ones is not dropped itself
        with self._changed:
            if fits := is_writer or self._characters + len(line) <= self._room:
                self._waiting.append(line)
                self._characters += len(line)
                self._changed.notify_all()
        if not fits:
            self._drop(1)

    def flush(self) -> None:
        """Do nothing: the thread writes as soon as it can."""

    def finish(self) -> None:
        """Wait until all lines are written, for a limited time; call this at the end of the process."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._waiting or self._writing), LAST_SECONDS)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting)
                lines, self._waiting, self._characters, self._writing = self._waiting, [], 0, True
            try:
                self._write_all("".join(lines).encode("utf-8", "backslashreplace"))
            except OSError:  # a full disk, a closed pipe
                self._drop(len(lines))
            else:
                self._recover()
            time.sleep(PAUSE_SECONDS)

    def _write_all(self, data: bytes) -> None:
        while data:
            with contextlib.suppress(BlockingIOError):  # a parent may have made the pipe non-blocking
                data = data[os.write(self._descriptor, data) :]
                continue
            select.select([], [self._descriptor], [])

    def _drop(self, lines: int) -> None:
        with self._changed:
            self._dropped += lines
        self._on_drop(lines)

    def _recover(self) -> None:
        with self._changed:
            dropped, self._dropped = self._dropped, 0
        if dropped:
            self._on_recovery(dropped)
