"""One served model, from the day its bundle is read to the end of its last request: closed, opening, open or leaving.

Eager and lazy loading differ only in who opens it: the start of the server, or its first request.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from service.engine.errors import DeadlineExceeded, ModelNotOpened
from service.engine.languages.tags import Pair
from service.engine.model_info import ModelInfo, ModelStateName, WorkerState
from service.engine.opening.memory import release_memory
from service.engine.opening.open_models import ManagedModel, OpenModels
from service.engine.scheduling.admission import QueueStatus, WorkerStatus
from service.engine.search.options import complete
from service.engine.thread_pools import BundleLoader, in_daemon_thread
from service.engine.translation.pair_model import PairModel
from service.engine.translation.sentence_runs import SentenceRuns
from service.engine.types import TranslationOptions

STALLED_SECONDS = 30.0  # without a heartbeat of the worker, after which it counts as stalled
WARM_UP = "Hello, world."
STATES: dict[WorkerState, ModelStateName] = {
    WorkerState.DEAD: "failed",
    WorkerState.RESTARTING: "restarting",
    WorkerState.DRAINING: "stopping",
    WorkerState.STOPPED: "stopping",
}


@dataclass(frozen=True, slots=True)
class Opening:
    """How a model is opened: `load` reads its files and returns it, within the time of `loads`."""

    folder: Path
    load: Callable[[], PairModel]
    loads: BundleLoader
    expected: int = 0  # bytes of memory that it will need
    reopens: bool = False  # a model that has failed for good is closed, and opened again at its next request
    alive: Callable[[], bool] = lambda: True  # whether models can be opened at all


class ServedModel(ManagedModel):
    """A bundle whose manifest was read, and its loaded model while it is open."""

    def __init__(self, info: ModelInfo, opening: Opening, models: OpenModels) -> None:
        """Set the description before it is opened, and the models among which it is opened and closed."""
        super().__init__(info.name, opening.expected, self._open, self._close, self._failed)
        self.info = info
        self._opening, self._models = opening, models
        self._successor: ServedModel | None = None  # what has replaced it
        self._pairs: dict[Pair, PairModel] = {}  # of the open model, those that were requested; else empty
        self._loaded: PairModel | None = None

    @asynccontextmanager
    async def use(self, pair: Pair, deadline: float | None = None) -> AsyncIterator[PairModel]:
        """Open the model if need be, keep it open as long as the context lasts, and give it for a pair of languages.

        What has replaced it is used in its place, once nobody keeps it.
        """
        model = self
        while model.retired and not model.keepers and model._successor and model._successor.info.has(pair):
            model = model._successor
        async with self._models.using(model, deadline):
            model.last_used = time.time()
            try:
                async with asyncio.timeout(None if deadline is None else deadline - time.monotonic()) as limit:
                    yield model.loaded_for(pair)
            except TimeoutError:
                if not limit.expired():
                    raise
                raise DeadlineExceeded("The translation was not finished in the time allowed.") from None

    def loaded_for(self, pair: Pair) -> PairModel:
        """Return the open model for a pair of languages."""
        if pair not in self._pairs:
            assert self._loaded is not None, "an open model is loaded"
            self._pairs[pair] = self._loaded.with_languages(*pair)
        return self._pairs[pair]

    @contextmanager
    def keep(self) -> Iterator[None]:
        """Let those inside use it again, even if it is replaced or unloaded; it may be closed for its memory."""
        self.keepers += 1
        try:
            yield
        finally:
            self.keepers -= 1
            self._models.released(self)

    def retire(self, successor: "ServedModel | None" = None) -> None:
        """Close it when the last request that began with it has ended; it was replaced, unloaded or refused."""
        self._successor = successor
        self._models.retire(self)

    def load(self) -> None:
        """Load it at once, in this thread; `start` warms it up. Raise the errors of loading."""
        self._set(self._opening.load())
        self._models.add_open(self)

    async def start(self) -> None:
        """Open it if it is closed, and warm it up; raise the reason if that fails."""
        if self._loaded is not None and not self._loaded.warm.is_set():
            await warm_up(self._loaded)
            return
        self.retry_at = 0.0
        try:
            async with self._models.using(self):
                pass
        except ModelNotOpened as refusal:
            raise self.error or refusal from None

    async def stop(self, drain: float) -> None:
        """Stop the worker if it is open, and free the model; running requests may finish within `drain` seconds."""
        loaded = self._loaded
        if loaded is not None:
            await in_daemon_thread(lambda: loaded.worker.stop(drain), "stopping")

    @property
    def serving_state(self) -> ModelStateName:
        """Return the state for callers."""
        if self.state == "open" and self._loaded is not None:
            status = self._loaded.worker.status
            if status.state in STATES:
                return STATES[status.state]
            if _is_stalled(status):
                return "hanging"
            return "ready" if self._loaded.warm.is_set() and status.alive else "starting"
        if self.state == "opening":
            return "opening"
        return "failed" if self._models.recently_failed(self) else "closed"

    @property
    def ready(self) -> bool:
        """Return whether it accepts requests; a closed model does."""
        return self.serving_state in ("ready", "closed", "opening")

    @property
    def stalled(self) -> bool:
        """Return whether it is open and its worker has had no heartbeat for too long, so that a run seems to hang."""
        return self._loaded is not None and _is_stalled(self._loaded.worker.status)

    @property
    def dead(self) -> bool:
        """Return whether it will never serve again."""
        return not self._opening.alive() or (self._is_broken() and not self._opening.reopens)

    @property
    def queue_status(self) -> QueueStatus:
        """Return the state of its queue; that of a closed model is empty."""
        return QueueStatus() if self._loaded is None else self._loaded.worker.status.queue

    def check_room(self, deadline: float | None = None) -> None:
        """Raise Overloaded or NotReady if not even the smallest request would be accepted now."""
        if self._loaded is not None and self.state == "open":
            self._loaded.worker.check_room(deadline)
        else:
            self._models.check(self)

    async def _open(self) -> None:
        """Check the files, load the model and warm it up; raise EngineError."""
        loads, folder = self._opening.loads, self._opening.folder
        loaded = await loads.run(
            self.info.digest, folder, self._opening.load, late=lambda loaded: loaded.worker.retire()
        )
        try:
            await loads.in_time(warm_up(loaded), folder)
        except BaseException:
            loaded.worker.retire()
            raise
        self._set(loaded)

    def _set(self, loaded: PairModel) -> None:
        self._loaded = loaded
        if self.info != loaded.info:  # otherwise the same object stays: readers compare identities
            self.info = loaded.info

    async def _close(self) -> None:
        self._pairs.clear()
        await self.stop(0.0)
        self._loaded = None
        await in_daemon_thread(release_memory, "closing")

    def _failed(self) -> bool:
        return self._opening.reopens and self._is_broken()

    def _is_broken(self) -> bool:
        return self._loaded is not None and self._loaded.worker.status.state is WorkerState.DEAD


def _is_stalled(status: WorkerStatus) -> bool:
    return status.alive and time.monotonic() - status.heartbeat >= STALLED_SECONDS


async def warm_up(loaded: PairModel) -> None:
    """Run a model for the first time; raise EngineFailure if that fails.

    Scoring is left out: its graph takes memory that a server that only translates can save.
    """
    for beam_size in (1, loaded.manifest.decoding.beam_size):
        options = complete(TranslationOptions(beam_size=beam_size, max_length=4), loaded.manifest.decoding)
        runs = SentenceRuns(loaded, options, None, None)
        await runs.translate(await runs.segment([WARM_UP]))
    loaded.warm.set()
