"""Which models are open: each is opened at its first request, and closed when memory is needed and no request uses it.

Everything here runs on the event loop. A model that was replaced or unloaded is closed when the last request that
began with it has ended. Models are opened in the order of their first waiting requests. Room is made by
closing the idle model that was used least recently. If no open model is idle, requests for closed ones wait. So that
busy models cannot keep all others out, new requests for the one that was opened first wait behind them, too, once it
has been open for a turn.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal

from service.engine.errors import (
    DeadlineExceeded,
    EngineError,
    EngineFailure,
    ModelNotOpened,
    NotReady,
    Overloaded,
    without_frames,
)
from service.engine.opening.memory import MEBIBYTE
from service.engine.scheduling.admission import LONGEST_WAIT

RETRY_SECONDS = 5.0  # after a failed opening, before the next attempt; meanwhile requests get the same error
TURN_SECONDS = 10.0  # that a busy model stays open while requests for others wait
CHECK_SECONDS = 0.25  # between two checks of the memory in use, when requests end
MOST_WAITING = 8192  # requests that may wait for one model to be opened
_LOG = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class ManagedModel:
    """A model that can be opened and closed, and its use."""

    name: str
    expected: int  # bytes of memory that it will need
    open: Callable[[], Awaitable[None]]  # raises EngineError
    close: Callable[[], Awaitable[None]]
    failed: Callable[[], bool] = lambda: False  # whether it is open and has failed for good
    state: Literal["closed", "opening", "open", "closing"] = "closed"
    users: int = 0  # running requests
    waiting: int = 0  # requests that wait for the opening
    keepers: int = 0  # requests and jobs that began with it, and may use it again
    retired: bool = False  # replaced or unloaded: it closes when nobody keeps it
    opened_at: float = 0.0
    used_at: float = 0.0
    last_used: float | None = None  # seconds since 1970, for people
    error: EngineError | None = None  # of the last opening, if that failed
    retry_at: float = 0.0
    change: asyncio.Future[None] | None = None  # for its waiting requests: resolved when they can go on

    @property
    def unused(self) -> bool:
        """Return whether it is open and no request uses it."""
        return self.state == "open" and not self.users


class OpenModels:
    """Opens and closes models below a limit of memory."""

    def __init__(
        self,
        limit: int | None = None,
        resident: Callable[[], int] = lambda: 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Set the limit in bytes (None: nothing is closed), and the function that reads the memory in use."""
        self._limit, self._resident, self._clock = limit, resident, clock
        self._models: list[ManagedModel] = []  # those that are not closed
        self._queue: list[ManagedModel] = []  # those that wait for room
        self._tasks: set[asyncio.Task[None]] = set()
        self._checked = 0.0
        self._stopping = False

    @contextlib.asynccontextmanager
    async def using(self, model: ManagedModel, deadline: float | None = None) -> AsyncIterator[None]:
        """Keep a model open for one request, which waits until it is open.

        Raise ModelNotOpened, Overloaded (no room within half of the request's time), DeadlineExceeded or NotReady.
        """
        if model.retired and not model.keepers:
            raise NotReady(f"The model {model.name} was replaced or unloaded; try again.")
        model.keepers += 1  # not by `ServedModel.keep`: a context more takes a hundredth of a request's time
        try:
            while not self._is_usable(model):
                await self._wait(model, deadline)
            model.users += 1
            try:
                yield
            finally:
                model.users -= 1
                model.used_at = self._clock()
        finally:
            model.keepers -= 1
            self.released(model)

    def check(self, model: ManagedModel) -> None:
        """Raise the error that a request for a closed model gets at once."""
        if self._stopping:
            raise NotReady(f"The model {model.name} is stopping and accepts no requests.")
        if self.recently_failed(model):
            raise ModelNotOpened(
                f"The model {model.name} could not be opened; its operator finds the reason in the log. Try again "
                "later.",
                model.retry_at - self._clock(),
            )
        if model.waiting >= MOST_WAITING:
            raise Overloaded(f"Too many requests wait for the model {model.name} to be opened; try again later.")

    def recently_failed(self, model: ManagedModel) -> bool:
        """Return whether the last opening failed so recently that no new attempt is made."""
        return model.error is not None and self._clock() < model.retry_at

    def released(self, model: ManagedModel) -> None:
        """Use the end of a request, or of a job that kept a model, to make room."""
        if model.unused and (model.failed() or (model.retired and not model.keepers)):
            self._close(model)
        elif self._queue:
            self._advance()
        elif self._clock() - self._checked >= CHECK_SECONDS:
            self._checked = self._clock()
            self._shrink()

    def retire(self, model: ManagedModel) -> None:
        """Close a model that was replaced, unloaded or refused, as soon as nobody uses or keeps it."""
        model.retired = True
        self.released(model)

    def add_open(self, model: ManagedModel) -> None:
        """Take a model that was loaded before the event loop ran."""
        model.state, model.opened_at = "open", self._clock()
        self._models.append(model)

    async def stop(self) -> None:
        """Open nothing any more; openings that have begun are awaited."""
        self._stopping = True
        for model in self._queue:
            _announce(model)
        self._queue.clear()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _wait(self, model: ManagedModel, deadline: float | None) -> None:
        """Wait for the next change of a model that is not open; ask for its opening."""
        self.check(model)
        if model not in self._queue and (model.state != "opening"):
            self._queue.append(model)
        model.waiting += 1
        self._advance()
        try:
            await self._change(model, deadline)
        finally:
            model.waiting -= 1
            if not model.waiting and model in self._queue:  # its requests have left
                self._queue.remove(model)
                self._advance()

    async def _change(self, model: ManagedModel, deadline: float | None) -> None:
        """Wait until a model is opened, or its opening has failed."""
        if self._is_usable(model):
            return
        change = model.change = model.change or asyncio.get_running_loop().create_future()
        now = self._clock()
        for share in (LONGEST_WAIT, 1.0):
            left = None if deadline is None else max(now + share * (deadline - now) - self._clock(), 0.0)
            await asyncio.wait([change], timeout=left)
            if change.done():
                return
            if model in self._queue:
                raise Overloaded(f"No memory is free for the model {model.name}; all open models are in use.")
        raise DeadlineExceeded(f"The model {model.name} was not opened in the time allowed.")

    def _is_usable(self, model: ManagedModel) -> bool:
        """Return whether a new request can use a model now."""
        return model.state == "open" and not model.failed() and not self._turn_is_over(model)

    def _turn_is_over(self, model: ManagedModel) -> bool:
        """Return whether new requests for an open model wait behind those for closed ones."""
        if not self._queue or self._clock() - model.opened_at < TURN_SECONDS:
            return False
        open_ones = [model for model in self._models if model.state == "open"]
        return model is min(open_ones, key=lambda model: model.opened_at)

    def _advance(self) -> None:
        """Open the models that wait and have room, in their order, and close others for the first one without room."""
        while self._queue and not self._stopping:
            first = self._queue[0]
            if first.state == "open" and not first.failed():  # the model that it was to make room for is not needed
                self._queue.pop(0)
                _announce(first)
            elif first.state == "closed" and self._has_room(first):
                self._queue.pop(0)
                self._open(first)
            else:
                if first.state == "closed":
                    self._close_idle()
                elif first.unused:
                    self._close(first)
                return

    def _has_room(self, model: ManagedModel) -> bool:
        if self._limit is None:
            return True
        reserved = sum(model.expected for model in self._models if model.state == "opening")
        needed = self._resident() + reserved + model.expected
        if needed > self._limit and not self._models:
            _LOG.warning(
                "The model %s is opened although it is expected to exceed the memory limit: %d MiB of %d",
                *(model.name, needed // MEBIBYTE, self._limit // MEBIBYTE),
            )
            return True
        return needed <= self._limit

    def _close_idle(self) -> None:
        """Close the idle model that was used least recently, one at a time."""
        idle = [model for model in self._models if model.unused and (not model.waiting or self._turn_is_over(model))]
        if idle and all(model.state != "closing" for model in self._models):
            self._close(min(idle, key=lambda model: model.used_at))

    def _shrink(self) -> None:
        """Close idle models while memory is above the limit, all but one: translations may need more than expected."""
        if self._limit is not None and len(self._models) > 1 and self._resident() > self._limit:
            self._close_idle()

    def _open(self, model: ManagedModel) -> None:
        model.state = "opening"
        self._models.append(model)
        self._start(self._opening(model))

    def _close(self, model: ManagedModel) -> None:
        model.state = "closing"
        self._start(self._closing(model))

    async def _opening(self, model: ManagedModel) -> None:
        try:
            await model.open()
        except Exception as error:
            if not isinstance(error, EngineError):
                _LOG.exception("The model %s could not be opened", model.name)
                error = EngineFailure(f"It could not be opened ({type(error).__name__}).")
            _LOG.error("The model %s was not opened: %s", model.name, error.message)
            model.error, model.retry_at = without_frames(error), self._clock() + RETRY_SECONDS
            model.state = "closed"
            self._models.remove(model)
        else:
            model.state, model.error, model.opened_at = "open", None, self._clock()
            model.used_at = model.opened_at
        _announce(model)
        if model.retired:
            self.released(model)
        self._advance()
        self._shrink()

    async def _closing(self, model: ManagedModel) -> None:
        try:
            await model.close()
        except Exception:
            _LOG.exception("The model %s was not closed properly", model.name)
        model.state = "closed"
        self._models.remove(model)
        self._advance()
        self._shrink()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _announce(model: ManagedModel) -> None:
    """Wake the requests that wait for a model; they look at its state."""
    if model.change is not None:
        model.change.set_result(None)
        model.change = None
