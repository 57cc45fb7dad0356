"""Models in real engine processes, and work for them."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from service.bundle.load import Bundle
from service.engine.events import ignore_event
from service.engine.jobs import SearchOptions, SentenceJob
from service.engine.loader import EngineSettings
from service.engine_process.client.cluster import EngineCluster
from tests.support.polling import PATIENCE
from tests.support.toy_onnx import VOCABULARY

SLOW = SentenceJob((5, 6, 2), SearchOptions(beam_size=4, max_length=120, prefix=(5,) * 110))


def jobs(count: int) -> list[SentenceJob]:
    options = SearchOptions(beam_size=4, max_length=24, n_best=3)
    generator = np.random.default_rng(7)
    sources = [tuple(generator.integers(4, VOCABULARY, size=3 + number % 9).tolist()) for number in range(count)]
    return [SentenceJob((*source, 2), options) for source in sources]


def works(worker: Any) -> bool:
    return bool(worker.submit_all(jobs(1))[0].result(PATIENCE).hypotheses)


@dataclass
class Serving:
    cluster: EngineCluster
    workers: list[Any]
    restarts: list[str]  # the kinds of restarts so far

    @property
    def process(self) -> int:
        """Return the id of the only process."""
        [process] = self.cluster.process_ids
        return process


@contextlib.contextmanager
def engines(processes: int = 1, **options: Any) -> Iterator[EngineCluster]:
    """Start engine processes, with an event loop in a thread."""
    loop = asyncio.new_event_loop()
    over = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(over.wait(),), daemon=True)
    thread.start()
    try:
        with EngineCluster(processes, loop, **options) as cluster:
            yield cluster
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(PATIENCE)
        loop.run_until_complete(_others())
        loop.close()


async def _others() -> None:
    """Wait until nothing else runs."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=20)


@contextlib.contextmanager
def serving(*bundles: Bundle, processes: int = 1) -> Iterator[Serving]:
    """Start a worker of each bundle in engine processes."""
    restarts: list[str] = []
    with engines(processes, on_restart=restarts.append) as cluster:
        workers = [cluster.open(bundle, EngineSettings(), ignore_event).worker for bundle in bundles]
        yield Serving(cluster, workers, restarts)
        for worker in workers:
            worker.stop()
