"""How a bundle becomes a worker in this process; service.engine_process does it in others."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Generic, NamedTuple, TypeVar

from service.bundle.load import Bundle
from service.engine.events import EventListener
from service.engine.model.device import ModelSettings, Placement
from service.engine.scheduling.interface import SentenceWorker
from service.engine.scheduling.requests import WorkerSettings
from service.engine.scheduling.worker import Worker
from service.engine.types import MAX_BEAM_SIZE

AnyWorker = TypeVar("AnyWorker", bound=SentenceWorker, covariant=True)

CORES_FOR_TWO = 4  # decode threads of one model


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How every model runs."""

    model: ModelSettings = field(default_factory=ModelSettings)
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    wrap_tokens: int | None = None  # longer sentences are wrapped; None: as a model's manifest says
    load_seconds: float = 300.0  # that a bundle may take to load, and again to warm up
    default_models: tuple[str, ...] = ()  # bundles that translate their pair when none is named, whatever their scores


class LoadedWorker(NamedTuple, Generic[AnyWorker]):
    """A loaded model's worker, not started yet, and where it runs."""

    worker: AnyWorker
    placement: Placement


WorkerFactory = Callable[[Bundle, EngineSettings, EventListener], LoadedWorker[SentenceWorker]]


def load_worker(bundle: Bundle, settings: EngineSettings, on_event: EventListener) -> LoadedWorker[Worker]:
    """Load a bundle's model into this process.

    Raises BundleCorrupt, BundleIncompatible or DeviceUnavailable.
    """
    # Not before: a process that leaves the models to others is spared the import of ONNX Runtime.
    from service.engine.model.onnx_model import load_model

    model = load_model(bundle, settings.model)
    worker_settings = settings.worker
    if not worker_settings.decoders:
        most = worker_settings.budget.rows // MAX_BEAM_SIZE
        suiting = decoders_for(model.placement.device, len(os.sched_getaffinity(0)))
        worker_settings = replace(worker_settings, decoders=min(suiting, most))
    return LoadedWorker(Worker(bundle.manifest.name, model, worker_settings, on_event), model.placement)


def decoders_for(device: str, cores: int) -> int:
    """Say how many threads are to decode for a model: the encoder and the event loop want cores too; a GPU is one."""
    return 2 if device == "cpu" and cores >= CORES_FOR_TWO else 1
