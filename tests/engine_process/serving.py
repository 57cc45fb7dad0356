"""Models in real engine processes, and work for them."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from service.bundle.load import Bundle
from service.engine.events import ignore_event
from service.engine.jobs import SearchOptions, SentenceJob
from service.engine.loader import EngineSettings
from service.engine_process.client.cluster import EngineCluster
from tests.support.toy_onnx import VOCABULARY

SLOW = SentenceJob((5, 6, 2), SearchOptions(beam_size=4, max_length=120, prefix=(5,) * 110))


def jobs(count: int) -> list[SentenceJob]:
    options = SearchOptions(beam_size=4, max_length=24, n_best=3)
    generator = np.random.default_rng(7)
    sources = [tuple(generator.integers(4, VOCABULARY, size=3 + number % 9).tolist()) for number in range(count)]
    return [SentenceJob((*source, 2), options) for source in sources]


def works(worker: Any) -> bool:
    return bool(worker.submit_all(jobs(1))[0].result(20).hypotheses)


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
def serving(*bundles: Bundle, processes: int = 1) -> Iterator[Serving]:
    """Start a worker of each bundle in engine processes."""
    restarts: list[str] = []
    with EngineCluster(processes, on_restart=restarts.append) as cluster:
        workers = [cluster.open(bundle, EngineSettings(), ignore_event).worker for bundle in bundles]
        yield Serving(cluster, workers, restarts)
        for worker in workers:
            worker.stop()
