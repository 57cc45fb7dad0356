"""One event loop in a thread of its own, on which every Translator of the process runs.

A notebook has a running event loop already, so a call that waits cannot use that one.
"""

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class _Loop:
    """The running loop of one process."""

    def __init__(self) -> None:
        self.process_id = os.getpid()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="translucent-loop", daemon=True).start()


_lock = threading.Lock()
_current: _Loop | None = None


def run(call: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of a coroutine on the loop; if the wait is interrupted, cancel it."""
    waiting = asyncio.run_coroutine_threadsafe(call, _loop())
    try:
        return waiting.result()
    except BaseException:
        waiting.cancel()
        raise


def _loop() -> asyncio.AbstractEventLoop:
    """Return the loop; a forked process gets one of its own, because threads do not survive a fork."""
    global _current
    with _lock:
        if _current is None or _current.process_id != os.getpid():
            _current = _Loop()
        return _current.loop
