"""Translators whose models are opened at the first request, and closed while they are idle if memory runs short."""

from __future__ import annotations

import asyncio
import copy
import functools
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

from service.bundle.load import Bundle, check_unchanged
from service.engine.errors import EngineFailure, ModelNotOpened, NotEnoughMemory
from service.engine.events import EventListener, ignore_event
from service.engine.lazy.memory import MEBIBYTE, expected_bytes, map_large_blocks, release_memory, resident_bytes
from service.engine.lazy.open_models import ManagedModel, OpenModels
from service.engine.loader import EngineHost, EngineSettings, WorkerFactory, info_of, load_worker, open_translator
from service.engine.model.device import place_among
from service.engine.model_info import ModelInfo, ModelStateName
from service.engine.scheduling.admission import QueueStatus
from service.engine.thread_pools import Loads, in_daemon_thread
from service.engine.translation.translator import Translator

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Load = Callable[[], Translator]
GRACE_SECONDS = 1.0


class LazyModel(ManagedModel):
    """A bundle whose manifest was read, and its translator while it is open."""

    def __init__(self, bundle: Bundle, info: ModelInfo, load: Load, expected: int, seconds: float) -> None:
        """Set the function that loads the translator; `info` describes the model before it is opened.

        `expected` are the bytes of memory that it will need, `seconds` the time to load, and again to warm up.
        """
        super().__init__(info.name, expected, self._open, self._close, self._failed)
        self.bundle, self.info = bundle, info
        self.translator: Translator | None = None
        self._loads = Loads()
        self._load, self._seconds = load, seconds

    async def _open(self) -> None:
        """Check the files, load the translator and warm it up; raise EngineError."""
        try:
            async with asyncio.timeout(2 * self._seconds + GRACE_SECONDS):
                translator = await self._started()
        except TimeoutError:
            raise EngineFailure(
                f"{self.bundle.folder}: it was not loaded and warmed up within {2 * self._seconds:g} seconds."
            ) from None
        self.translator = translator
        if self.info != translator.info:  # otherwise the same object stays: readers compare identities
            self.info = translator.info

    async def _started(self) -> Translator:
        """Load the translator in a thread and warm it up."""
        translator = await self._loads.run(self.bundle.manifest.name, self.bundle.folder, self._load)
        try:
            await translator.start()
        except BaseException:
            await in_daemon_thread(translator.close, "closing")
            raise
        return translator

    async def _close(self) -> None:
        translator, self.translator = self.translator, None
        if translator is not None:
            await in_daemon_thread(translator.close, "closing")
            del translator
        await in_daemon_thread(release_memory, "closing")

    def _failed(self) -> bool:
        return self.translator is not None and self.translator.dead


def _opening(
    method: Callable[Concatenate[Translator, Parameters], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[LazyTranslator, Parameters], Coroutine[Any, Any, Result]]:
    """Return a method of the open translator as one of a lazy translator, which opens it for the call."""

    @functools.wraps(method)
    async def call(lazy: LazyTranslator, /, *arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        async with lazy.opened(cast(float | None, options.get("deadline"))) as translator:
            return await method(translator, *arguments, **options)

    return call


class LazyTranslator:
    """Looks like a Translator; every call opens the model if it is closed, and keeps it open until it ends."""

    def __init__(self, model: LazyModel, models: OpenModels, alive: Callable[[], bool] = lambda: True) -> None:
        """Set the model and the manager of open models; `alive` says whether models can be opened at all."""
        self._model, self._models, self._alive = model, models, alive
        self._pair: tuple[str, str] | None = None
        self._own_info: tuple[ModelInfo, ModelInfo] | None = None  # of the model, and of this pair
        self._owner: LazyTranslator | None = None
        # A model that was replaced stays open as long as a request or a job that began with it holds this object.
        weakref.finalize(self, models.retire, model).atexit = False

    def for_pair(self, source_language: str, target_language: str) -> Self:
        """Return the same model for one of its pairs."""
        if (source_language, target_language) == self._pair:
            return self
        view = copy.copy(self)
        view._pair, view._own_info, view._owner = (source_language, target_language), None, self
        return view

    @property
    def name(self) -> str:
        """Return the bundle's name."""
        return self._model.info.name

    @property
    def info(self) -> ModelInfo:
        """Return the description of the model."""
        info = self._model.info
        if self._pair is None:
            return info
        if self._own_info is None or self._own_info[0] is not info:
            source, target = self._pair
            self._own_info = info, replace(info, source_language=source, target_language=target)
        return self._own_info[1]

    @property
    def ready(self) -> bool:
        """Return whether it accepts requests; a closed model does."""
        return self.state in ("ready", "closed", "opening")

    @property
    def stalled(self) -> bool:
        """Return whether it is open and seems to hang."""
        return self._model.translator is not None and self._model.translator.stalled

    @property
    def dead(self) -> bool:
        """Return whether it can never be opened again."""
        return not self._alive()

    @property
    def state(self) -> ModelStateName:
        """Return the state for callers."""
        model, translator = self._model, self._model.translator
        if model.state == "open" and translator is not None:
            return translator.state
        if model.state == "opening":
            return "opening"
        return "failed" if self._models.recently_failed(model) else "closed"

    @property
    def last_used(self) -> float | None:
        """Return the time of the last request, in seconds since 1970."""
        return self._model.last_used

    async def start(self) -> None:
        """Open the model now; raise the reason if that fails."""
        self._model.retry_at = 0.0
        try:
            async with self._models.using(self._model):
                pass
        except ModelNotOpened as refusal:
            raise self._model.error or refusal from None

    async def stop(self, drain: float) -> None:
        """Stop the worker if it is open; running requests may finish within `drain` seconds."""
        if self._model.translator is not None:
            await self._model.translator.stop(drain)

    def pinned(self) -> AbstractContextManager[None]:
        """Keep the model open, if it is, as long as the context lasts."""
        return self._models.pinning(self._model)

    @property
    def queue_status(self) -> QueueStatus:
        """Return the state of its queue; that of a closed model is empty."""
        translator = self._model.translator
        return QueueStatus() if translator is None else translator.queue_status

    def check_room(self, deadline: float | None = None) -> None:
        """Raise Overloaded or NotReady if not even the smallest request would be accepted now."""
        translator = self._model.translator
        if translator is not None and self._model.state == "open":
            translator.check_room(deadline)
        else:
            self._models.check(self._model)

    translate = _opening(Translator.translate)
    attention = _opening(Translator.attention)
    score_batch = _opening(Translator.score_batch)

    @asynccontextmanager
    async def opened(self, deadline: float | None) -> AsyncIterator[Translator]:
        """Open the model, and keep it open as long as the context lasts; give the translator for the pair."""
        async with self._models.using(self._model, deadline):
            translator = self._model.translator
            assert translator is not None, "an open model has a translator"
            yield translator if self._pair is None else translator.for_pair(*self._pair)


class LazyLoader:
    """Opens the models of one server at their first request, and keeps them below its memory limit."""

    def __init__(
        self,
        settings: EngineSettings,
        on_event: EventListener = ignore_event,
        open_worker: WorkerFactory = load_worker,
        host: EngineHost | None = None,
    ) -> None:
        """Set how models are opened, and where."""
        self._settings, self._on_event, self._open_worker = settings, on_event, open_worker
        self._host = host or EngineHost()
        map_large_blocks()
        self._providers: tuple[str, ...] | None = None
        self._base = 0  # bytes of memory without any model
        self.models = OpenModels(settings.memory_limit, self._resident)

    def translator(self, bundle: Bundle) -> LazyTranslator:
        """Return the translator of a bundle, closed.

        Raise BundleIncompatible, DeviceUnavailable, or NotEnoughMemory if it would not fit even alone.
        """
        if self._providers is None:
            self._providers = tuple(self._host.providers())
            self._base = self._resident()
        placement = place_among(self._providers, bundle.manifest.graphs, self._settings.model)
        info = info_of(bundle, self._settings.model, placement)

        def load() -> Translator:
            check_unchanged(bundle)  # its files are checked now, and the manifest may have been replaced
            return open_translator(bundle, self._settings, self._on_event, self._open_worker)

        expected = expected_bytes(bundle, placement, self._host.engines)
        self._require_room(bundle, expected)
        model = LazyModel(bundle, info, load, expected, self._settings.load_seconds)
        return LazyTranslator(model, self.models, self._host.alive)

    def _resident(self) -> int:
        return resident_bytes(self._host.process_ids())

    def _require_room(self, bundle: Bundle, expected: int) -> None:
        limit = self._settings.memory_limit
        if limit is not None and self._base + expected > limit:
            own, needed, most = (round(value / MEBIBYTE) for value in (self._base, expected, limit))
            raise NotEnoughMemory(
                f"{bundle.folder}: it needs about {needed} MiB, and the server itself {own} MiB, but the memory limit "
                f"is {most} MiB; raise the limit, or remove the bundle from the folder."
            )
