"""Makes lazy translators of bundles whose manifest was read."""

from service.bundle.load import Bundle, check_unchanged
from service.engine.errors import NotEnoughMemory
from service.engine.events import EventListener, ignore_event
from service.engine.lazy.memory import MEBIBYTE, expected_bytes, map_large_blocks, resident_bytes
from service.engine.lazy.open_models import OpenModels
from service.engine.lazy.translator import LazyModel, LazyTranslator, OpeningLimits
from service.engine.loader import EngineHost, EngineSettings, WorkerFactory, info_of, load_worker, open_translator
from service.engine.model.device import place_among
from service.engine.translation.translator import Translator


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
        limits = OpeningLimits(self._settings.load_seconds, expected)
        return LazyTranslator(LazyModel(bundle, info, load, limits), self.models, self._host.alive)

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
