"""The service as autoscaled replicas of Ray Serve: the same application that `translucent serve` runs.

    python -m deploy.ray.serving --host 0.0.0.0 --port 8000      or:      cd deploy/ray && serve run serving:app

Settings are the TRANSLUCENT_ variables of docs/settings.md, taken from the environment of this command; address and
port are Ray's business. How many replicas: RAY_REPLICAS, or RAY_MIN_REPLICAS and RAY_MAX_REPLICAS. Each
replica counts rate limits by itself. Secrets are given as files, because Ray shows the
environment of its workers: see deploy.ray.environment.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

import ray
from fastapi import FastAPI
from ray import cloudpickle, serve

if TYPE_CHECKING:
    from service.engine import Registry

if __package__:
    from deploy.ray.environment import passed_on
else:  # `cd deploy/ray && serve run serving:app`
    from environment import passed_on  # type: ignore[import-not-found, no-redef]

# Workers may run elsewhere: send them this file's code instead of its name.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

ONGOING_REQUESTS = 32  # of a replica, above which Serve adds another: about as many as fill a batch
DRAIN_SECONDS = 40.0


def build() -> FastAPI:
    """Return the application with its engine; this runs once in each replica."""
    import contextlib
    from collections.abc import AsyncIterator

    from service.api.app import create_app
    from service.api.state import Service
    from service.engine import Registry, load_worker
    from service.logs import configure_logging
    from service.metrics import Metrics
    from service.server.main import engine_settings, with_cache_of
    from service.settings import load_settings
    from service.tracing import start_tracing

    settings = load_settings()
    configure_logging(settings.log_level, "json")
    metrics = Metrics()
    tracing = start_tracing(settings)
    listener = metrics.record if tracing is None else tracing.listening(metrics.record)
    open_worker = with_cache_of(settings, load_worker)
    registry = Registry(settings.models_dir, engine_settings(settings), listener, open_worker)
    registry.load()
    service = Service(settings, registry, metrics, tracing=tracing)

    @contextlib.asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await registry.start()
        metrics.show_models(registry.models())
        watching = asyncio.create_task(exit_when_dead(registry))
        yield
        watching.cancel()
        service.draining = True
        await registry.stop(settings.drain_timeout_seconds)

    return create_app(service, lifespan)


async def exit_when_dead(registry: Registry) -> None:
    """End the process when every model is dead, or stalled for too long; Serve then starts another replica."""
    from service.server.uvicorn_server import STALLED_SECONDS

    well = time.monotonic()
    while not registry.dead and time.monotonic() - well < STALLED_SECONDS:
        await asyncio.sleep(1)
        well = well if registry.stalled else time.monotonic()
    os._exit(1)


def scaling() -> dict[str, object]:
    """Return the number of replicas: a fixed number, or limits between which the load decides."""
    if "RAY_REPLICAS" in os.environ:
        return {"num_replicas": int(os.environ["RAY_REPLICAS"])}
    return {
        "autoscaling_config": {
            "min_replicas": int(os.environ.get("RAY_MIN_REPLICAS", "1")),
            "max_replicas": int(os.environ.get("RAY_MAX_REPLICAS", "8")),
            "target_ongoing_requests": ONGOING_REQUESTS,
        }
    }


Translucent = serve.deployment(
    serve.ingress(build)(),
    name="translucent",
    max_ongoing_requests=8 * ONGOING_REQUESTS,
    graceful_shutdown_timeout_s=DRAIN_SECONDS,
    health_check_period_s=5,
    ray_actor_options={
        "num_cpus": float(os.environ.get("RAY_CPUS_PER_REPLICA", "1")),
        "num_gpus": float(os.environ.get("RAY_GPUS_PER_REPLICA", "0")),
        "runtime_env": {"env_vars": passed_on(os.environ)},
    },
    **scaling(),
)
app = Translucent.bind()


def main() -> None:
    """Run the application until it is stopped, on the cluster of RAY_ADDRESS or one of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    ray.init()
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    serve.start(http_options={"host": options.host, "port": options.port})
    serve.run(app)
    stopped.wait()
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main()
