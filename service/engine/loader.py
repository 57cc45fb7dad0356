"""Loads a bundle into a worker of this process, and makes a translator from a worker.

service.engine_process loads workers in other processes.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, NamedTuple, TypeVar

from service.bundle.load import Bundle, check_unchanged
from service.bundle.repository import in_gallery
from service.engine.cores import own_cores
from service.engine.errors import NotEnoughMemory
from service.engine.events import EventListener, ignore_event
from service.engine.jobs import MAX_BEAM_SIZE
from service.engine.model.device import ModelSettings, Placement, place_among
from service.engine.model_info import MemberInfo, ModelInfo
from service.engine.opening.memory import MEBIBYTE, expected_bytes, map_large_blocks, resident_bytes
from service.engine.opening.open_models import OpenModels
from service.engine.scheduling.interface import SentenceWorker
from service.engine.scheduling.pending import DEFAULT_ROWS, MOST_SENTENCES, Budget, WorkerSettings
from service.engine.scheduling.worker import Worker
from service.engine.text.tokenizer import load_tokenizers
from service.engine.thread_pools import BundleLoader
from service.engine.translation.pair_model import PairModel, pair_of_worker
from service.engine.translation.served_model import Opening, ServedModel
from service.engine.translation.translator import Translator

AnyWorker = TypeVar("AnyWorker", bound=SentenceWorker, covariant=True)

CORES_FOR_TWO = 2  # with so many cores, a model has two decode threads on a CPU
# With so many cores, the decode threads get equal parts: neither waits for the encoder or the event loop. With fewer,
# the second one gets sentences only beyond a dozen of the first.
CORES_FOR_EQUAL_PARTS = 4
# One process keeps up to four cores busy: two decode threads, the encoder, and its share of the HTTP process.
CORES_FOR_PROCESS, MOST_PROCESSES = 4, 8


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """The settings with which every model runs."""

    model: ModelSettings = field(default_factory=ModelSettings)
    worker: WorkerSettings = field(default_factory=lambda: WorkerSettings(Budget(rows=0)))
    load_seconds: float = 300.0  # time for a bundle to load, and the same time again to warm up
    lazy: bool = False  # models are opened at their first request
    memory_limit: int | None = None  # bytes of resident memory; idle models are closed so that it is kept (lazy)
    default_models: tuple[str, ...] = ()  # bundles that translate their pair if none is named, regardless of scores
    gallery: bool = False  # whether the small models for teaching are served, too


class LoadedWorker(NamedTuple, Generic[AnyWorker]):
    """A loaded model's worker, and its placement."""

    worker: AnyWorker
    placement: Placement


WorkerFactory = Callable[[Bundle, EngineSettings, EventListener], LoadedWorker[SentenceWorker]]


def load_worker(bundle: Bundle, settings: EngineSettings, on_event: EventListener) -> LoadedWorker[Worker]:
    """Load a bundle's model into this process; raise BundleCorrupt, BundleIncompatible or DeviceUnavailable."""
    # Imported late: a process whose models run in other processes does not load ONNX Runtime.
    from service.engine.model.onnx_model import load_model

    model = load_model(bundle, settings.model)
    worker_settings = worker_settings_for(settings.worker, model.placement.device, own_cores())
    return LoadedWorker(Worker(bundle.manifest.name, model, worker_settings, on_event), model.placement)


def worker_settings_for(settings: WorkerSettings, device: str, cores: int) -> WorkerSettings:
    """Return the settings with the threads and rows that suit a device, where the settings leave the choice."""
    threads = settings.inter_threads or (2 if device == "cpu" and cores >= CORES_FOR_TWO else 1)
    rows = settings.budget.rows or max(DEFAULT_ROWS, threads * MOST_SENTENCES * MAX_BEAM_SIZE)
    few = device == "cpu" and not settings.budget.rows
    return replace(
        settings,
        budget=replace(settings.budget, rows=rows, sentences=MOST_SENTENCES if few else rows),
        inter_threads=min(threads, rows // MAX_BEAM_SIZE),
        fill_first=few and cores < CORES_FOR_EQUAL_PARTS,
    )


def default_engine_processes(device: str, cores: int, gpus: int = 1) -> int:
    """Return the number of engine processes: one for every four cores, which it keeps busy, or one for each GPU."""
    return max(1, gpus) if device == "cuda" else max(1, min(cores // CORES_FOR_PROCESS, MOST_PROCESSES))


def open_translator(
    bundle: Bundle,
    settings: EngineSettings | None = None,
    on_event: EventListener = ignore_event,
    open_worker: WorkerFactory = load_worker,
) -> Translator:
    """Load a bundle into memory and return its translator; raise the errors of `load_worker`."""
    settings = settings or EngineSettings()

    def load() -> PairModel:
        return load_pair(bundle, settings, on_event, open_worker)

    opening = Opening(bundle.folder, load, BundleLoader(settings.load_seconds))
    model = ServedModel(info_of(bundle, settings.model), opening, OpenModels())
    model.load()
    return Translator(model)


def load_pair(
    bundle: Bundle, settings: EngineSettings, on_event: EventListener, open_worker: WorkerFactory
) -> PairModel:
    """Load a bundle into memory, for its first pair; raise the errors of `load_worker`."""
    manifest, tokenizers = bundle.manifest, load_tokenizers(bundle)
    worker, placement = open_worker(bundle, settings, on_event)
    info = info_of(bundle, settings.model, placement)
    return pair_of_worker(manifest, info, tokenizers, worker, on_event)


class ModelOpener:
    """Opens the models of one server, and keeps them below its memory limit."""

    def __init__(
        self,
        settings: EngineSettings,
        on_event: EventListener = ignore_event,
        open_worker: WorkerFactory = load_worker,
        host: "EngineProcesses | None" = None,
    ) -> None:
        """Set how models are opened, and where."""
        self._settings, self._on_event, self._open_worker = settings, on_event, open_worker
        self._host = host or EngineProcesses()
        if settings.lazy:
            map_large_blocks()
        self._providers: tuple[str, ...] | None = None
        self._base = 0  # bytes of memory without any model
        self.loads = BundleLoader(settings.load_seconds)
        self.models = OpenModels(settings.memory_limit, self._resident)

    def translator(self, bundle: Bundle) -> Translator:
        """Return the translator of a bundle, whose model is closed.

        Raise BundleIncompatible, DeviceUnavailable, or NotEnoughMemory if it would not fit even alone.
        """
        if self._providers is None:
            self._providers = tuple(self._host.providers())
            self._base = self._resident()
        settings = self._settings
        placement = place_among(self._providers, bundle.manifest.graphs, settings.model)

        def load() -> PairModel:
            check_unchanged(bundle)  # its files are checked now, and the manifest may have been replaced
            return load_pair(bundle, settings, self._on_event, self._open_worker)

        expected = expected_bytes(bundle, placement, self._host.engines)
        self._require_room(bundle, expected)
        opening = Opening(bundle.folder, load, self.loads, expected, settings.lazy, self._host.alive)
        return Translator(ServedModel(info_of(bundle, settings.model, placement), opening, self.models))

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


def info_of(bundle: Bundle, settings: ModelSettings, placement: Placement | None = None) -> ModelInfo:
    """Return the description of a bundle, at a placement or at the one chosen here; raise the errors of that choice."""
    placement = placement or place_among(own_providers(), bundle.manifest.graphs, settings)
    manifest = bundle.manifest
    return ModelInfo(
        name=manifest.name,
        version=manifest.version,
        architecture=manifest.architecture,
        source_language=manifest.source_language,
        source_languages=manifest.source_languages,
        target_language=manifest.target_language,
        target_languages=tuple(target.language for target in manifest.targets),
        digest=bundle.digest,
        precision=placement.precision,
        device=placement.device,
        device_wanted=settings.device,
        provider=placement.provider,
        source_tokens=manifest.limits.source_tokens,
        target_tokens=manifest.limits.target_tokens,
        attention=manifest.raw["attention"],
        card=manifest.card,
        confidence=manifest.raw.get("confidence"),
        gallery=in_gallery(bundle),
        members=tuple(_member_info(member) for member in bundle.members),
        may_be_default=manifest.may_be_default,
    )


def _member_info(member: Bundle) -> MemberInfo:
    own = member.manifest
    return MemberInfo(own.name, own.version, member.digest, own.raw["attention"])


def own_providers() -> tuple[str, ...]:
    """Return the providers of the ONNX Runtime that is installed here."""
    import onnxruntime  # late: a process whose models run in other processes does not load it

    return tuple(onnxruntime.get_available_providers())


def own_process() -> list[int]:
    """Return the id of this process."""
    return [os.getpid()]


@dataclass(frozen=True, slots=True)
class EngineProcesses:
    """The place where the models run: the facts about processes that lazy loading needs."""

    process_ids: Callable[[], Sequence[int]] = own_process  # all whose memory counts
    providers: Callable[[], Sequence[str]] = own_providers
    engines: int = 1  # processes that load each model
    alive: Callable[[], bool] = lambda: True  # whether models can be opened at all
