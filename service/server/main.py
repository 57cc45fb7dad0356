"""Assembles the server from the settings: logging, tracing, engine, models."""

import asyncio
import contextlib
import os
import re
import resource
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import uvloop

from service.api.state import Service
from service.engine import (
    Budget,
    EngineProcesses,
    EngineSettings,
    Languages,
    ModelInfo,
    ModelSettings,
    Registry,
    ResultCache,
    WorkerFactory,
    WorkerSettings,
    default_engine_processes,
    in_daemon_thread,
    load_worker,
    own_cores,
    own_process,
    with_cache,
)
from service.engine_process.client.cluster import EngineCluster
from service.engine_process.client.connection import LogStyle
from service.engine_process.server.engine_server import prepare_interpreter
from service.logs import configure_logging, get_logger
from service.metrics import Metrics
from service.server.uvicorn_server import serve
from service.settings import Settings, forget_secrets
from service.tracing import start_tracing

log = get_logger(__name__)

DESCRIPTORS = 65_536
MEBIBYTE = 2**20
NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")
NVIDIA_GPUS = Path("/proc/driver/nvidia/gpus")
LEAST_DRIVER = 580  # of CUDA 13, which the wheels of ONNX Runtime need


def engine_settings(settings: Settings) -> EngineSettings:
    """Return the settings of the engine."""
    model = ModelSettings(
        device=settings.device,
        precision=settings.chosen_precision,
        intra_threads=settings.intra_threads,
    )
    budget = Budget(rows=0 if settings.max_rows == "auto" else settings.max_rows)
    return EngineSettings(
        model=model,
        worker=WorkerSettings(budget=budget),
        lazy=settings.memory_limit_mb is not None,
        memory_limit=None if settings.memory_limit_mb is None else settings.memory_limit_mb * MEBIBYTE,
        default_models=settings.default_bundles,
        gallery=settings.gallery,
    )


def raise_descriptor_limit() -> None:
    """Raise the limit of open files for many connections; some shells and services allow only 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def serve_models(settings: Settings) -> int:
    """Load all models of the folder, serve them until the process is stopped, and return its exit code.

    Raise BundleError, DeviceUnavailable or TracingError before anything listens.
    """
    metrics = Metrics()
    configure_logging(settings.log_level, on_drop=metrics.log_lines_dropped)
    forget_secrets()
    raise_descriptor_limit()
    prepare_interpreter()
    decided = settings.engine_processes == "auto"
    settings = with_engine_processes(settings)
    if expects_gpu(settings) and NVIDIA_DRIVER.exists() and (warning := driver_warning(NVIDIA_DRIVER.read_text())):
        log.warning(warning)
    tracing = start_tracing(settings)
    with (
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        engine_host(settings, runner.get_loop(), partial(metrics.count, "engine_restarts")) as (open_worker, host),
    ):
        metrics.engine_processes.process_ids = lambda: [one for one in host.process_ids() if one not in own_process()]
        open_worker = with_cache_of(settings, open_worker)
        listener = metrics.record if tracing is None else tracing.listening(metrics.record)
        registry = Registry(settings.models_dir, engine_settings(settings), listener, open_worker, host)
        runner.run(in_daemon_thread(registry.load, "loading"))
        if decided:
            device = "cuda" if expects_gpu(settings) else "cpu"
            log.info("engine processes", chosen=settings.engine_processes, cores=own_cores(), device=device)
        warn_of_useless_pivot(settings, registry.models())
        return runner.run(serve(Service(settings, registry, metrics, tracing=tracing)))


def with_engine_processes(settings: Settings) -> Settings:
    """Return settings with the number of engine processes; `auto` is decided by device and cores."""
    if settings.engine_processes != "auto":
        return settings
    device = "cuda" if expects_gpu(settings) else "cpu"
    processes = default_engine_processes(device, own_cores(), len(visible_gpus()))
    return settings.model_copy(update={"engine_processes": processes})


def visible_gpus(files: Path = NVIDIA_GPUS) -> list[str]:
    """Return the names of the GPUs that CUDA may use: those of CUDA_VISIBLE_DEVICES, or all of the driver."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is None:
        return [str(number) for number, _ in enumerate(files.glob("*"))]
    return [name.strip() for name in chosen.split(",") if name.strip()]


def driver_warning(version: str) -> str | None:
    """Return what is wrong with the NVIDIA driver of a machine, by the text of its version file; None if nothing is."""
    found = re.search(r"\b(\d{3,})\.\d+", version)
    if found is None or int(found[1]) >= LEAST_DRIVER:
        return None
    return f"The NVIDIA driver {found[0]} is too old: models run on a GPU with driver {LEAST_DRIVER} or newer."


def expects_gpu(settings: Settings) -> bool:
    """Return whether models will run on a GPU, as far as settings and driver tell before they are loaded."""
    return settings.device == "cuda" or (settings.device == "auto" and NVIDIA_DRIVER.exists())


def with_cache_of(settings: Settings, open_worker: WorkerFactory) -> WorkerFactory:
    """Return a factory of workers with the cache of the settings, if there is one."""
    return with_cache(open_worker, ResultCache(settings.cache_mb * MEBIBYTE)) if settings.cache_mb else open_worker


def warn_of_useless_pivot(settings: Settings, models: Sequence[ModelInfo]) -> None:
    """Write a warning if no pair would be translated through the chosen pivot; models may be loaded later."""
    pivot = settings.pivot_language
    if pivot is not None and "pivot" in settings.model_fields_set and not Languages.of(models, pivot).pivoted:
        log.warning(
            "pivot has no use",
            pivot=pivot,
            reason="A pair is translated in two legs if a model translates into the pivot, another one out of it, and "
            "none translates the pair itself; there is no such pair.",
        )


@contextlib.contextmanager
def engine_host(
    settings: Settings, loop: asyncio.AbstractEventLoop, on_restart: Callable[[str], None] = lambda _what: None
) -> Iterator[tuple[WorkerFactory, EngineProcesses]]:
    """Yield the factory of workers, and where they are: here, or in engine processes that last as long as this context.

    `loop` receives their messages; `on_restart` is called at every restart of a process or of a model in one.
    """
    if not settings.engine_processes:
        yield load_worker, EngineProcesses()
        return
    processes = settings.engine_processes
    assert processes != "auto"  # decided before
    log_style = LogStyle(settings.log_level)
    with EngineCluster(processes, loop, log_style, on_restart, visible_gpus()) as cluster:
        yield (
            cluster.open,
            EngineProcesses(
                lambda: [*own_process(), *cluster.process_ids],
                cluster.providers,
                processes,
                lambda: cluster.alive,
            ),
        )
