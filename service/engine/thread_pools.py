"""Threads for work that would block the event loop: bounded pools, one for each kind of work, so that none starves.

A pool refuses work if too much is waiting. Cancellation drops work that has not begun, and ends work that asks
`check_wanted` in its loops.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from service.engine.cancellation import WaitToken, current_wait, while_wanted
from service.engine.cores import own_cores
from service.engine.errors import EngineFailure, Overloaded

Item = TypeVar("Item")
Result = TypeVar("Result")

RETRY_SECONDS = 2.0
GRACE_SECONDS = 1.0


class BoundedPool:
    """A pool of at most `size` threads, with a queue of at most `waiting` pieces of work."""

    def __init__(self, name: str, size: int, waiting: int) -> None:
        self.size, self._name, self._most = size, name, size + waiting
        self._pool = ThreadPoolExecutor(size, thread_name_prefix=name)
        self._unfinished = 0
        self._lock = threading.Lock()

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do work in a thread; raise Overloaded if the queue is full."""
        with self._lock:
            if self._unfinished >= self._most:
                raise Overloaded(f"The queue is full ({self._name}); try again later.", retry_after=RETRY_SECONDS)
            self._unfinished += 1
        token, context = WaitToken(), contextvars.copy_context()
        context.run(current_wait.set, token)
        future = self._pool.submit(context.run, work)
        future.add_done_callback(self._done)
        try:
            return await asyncio.wrap_future(future)
        finally:
            token.ended = True

    def _done(self, _future: Future[Result]) -> None:
        with self._lock:
            self._unfinished -= 1


TEXT_POOL = BoundedPool("work on texts", max(2, own_cores()), 2048)  # segmentation, tokenisation, joining

MANY = 64  # hypotheses; what is done with more of them is done in a thread


async def if_many(hypotheses: int, work: Callable[[], Result]) -> Result:
    """Do work on the hypotheses of sentences, on many in a thread, so that the event loop keeps responding."""
    return await TEXT_POOL.run(work) if hypotheses > MANY else work()


async def map_if_many(hypotheses: int, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Do the same with each item, for many hypotheses in a thread, which ends when nobody waits for the results."""
    return await if_many(hypotheses, lambda: [*map(work, while_wanted(items))])


class BundleLoader:
    """Loads bundles in threads, each bundle once at a time: an earlier attempt may hang."""

    def __init__(self, seconds: float) -> None:
        """Set the time for each step: to look at a bundle, to load it, to warm it up."""
        self._seconds = seconds
        self._running: set[str] = set()  # also after the wait for it was given up

    async def run(
        self,
        digest: str,
        path: Path,
        load: Callable[[], Result],
        late: Callable[[Result], object] = lambda _result: None,
    ) -> Result:
        """Load in a thread; raise EngineFailure while an earlier attempt to load the same bundle hangs.

        What is loaded too late is given to `late`, which frees it.
        """
        if digest in self._running:
            raise EngineFailure(f"{path}: an earlier attempt to load it hangs; restart the server to end it.")

        def work() -> Result:
            try:
                return load()
            finally:
                self._running.discard(digest)

        self._running.add(digest)
        return await self.in_time(in_daemon_thread(work, "loading", late), path)

    async def in_time(self, work: Coroutine[Any, Any, Result], path: Path, steps: int = 1) -> Result:
        """Wait for work on a bundle for the time of so many steps; raise EngineFailure after it."""
        try:
            # A hanging engine process has its own limit, which ends first.
            async with asyncio.timeout(steps * (self._seconds + GRACE_SECONDS)):
                return await work
        except TimeoutError:
            raise EngineFailure(f"{path}: it was not loaded and warmed up within {self._seconds:g} seconds.") from None


async def in_daemon_thread(
    work: Callable[[], Result], name: str, late: Callable[[Result], object] = lambda _result: None
) -> Result:
    """Do work that may never end in a daemon thread of its own, so that no other work waits for it.

    Cancellation ends the wait; the thread continues, and its result is given to `late`.
    """
    future: Future[Result] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            if future.set_running_or_notify_cancel():
                future.set_exception(error)
        else:
            if future.set_running_or_notify_cancel():
                future.set_result(result)
            else:
                late(result)

    threading.Thread(target=contextvars.copy_context().run, args=(run,), name=name, daemon=True).start()
    return await asyncio.wrap_future(future)
