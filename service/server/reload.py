"""SIGHUP: changes the models of a running server."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Any

TERMINAL = "/dev/tty"


class Hangup:
    """Handles SIGHUP: reloads, or stops if the signal means that the server's terminal was closed."""

    def __init__(self, reload: Callable[[], Coroutine[Any, Any, object]], leave: Callable[[], None]) -> None:
        self._reload, self._leave = reload, leave
        self._had_terminal = _has_terminal()
        self._tasks: set[asyncio.Task[object]] = set()

    def __call__(self) -> None:
        """Handle the signal, on the event loop."""
        if self._had_terminal and not _has_terminal():
            self._leave()
            return
        task = asyncio.create_task(self._reload())
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # it has been logged


def _has_terminal() -> bool:
    try:
        os.close(os.open(TERMINAL, os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
