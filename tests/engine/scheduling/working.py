"""A worker over a model that copies its source, and what holds, breaks or times the calls of that model."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from service.engine.events import EngineEvent, LoadChanged
from service.engine.jobs import SearchOptions, SentenceJob, SentenceResult, WeightSelection
from service.engine.scheduling.pending import WorkerSettings
from service.engine.scheduling.worker import Worker
from tests.support.fake_model import EOS, ScriptedModel, copying_rule
from tests.support.polling import PATIENCE

Hook = Callable[[str, int], None]


@dataclass
class Working:
    worker: Worker
    model: ScriptedModel
    events: list[EngineEvent] = field(default_factory=list)

    def calls(self, what: str) -> list[int]:
        """Return the rows of the model's calls of one kind."""
        return [rows for kind, rows in self.model.calls if kind == what]

    def count(self, kind: type[EngineEvent]) -> int:
        return sum(isinstance(event, kind) for event in self.events)

    @property
    def load(self) -> tuple[int, int, int]:
        """Return the rows, sentences and queue that were reported last."""
        [*_, last] = [LoadChanged("toy", 0, 0, 0), *(each for each in self.events if isinstance(each, LoadChanged))]
        return last.rows, last.sentences, last.queued


@contextmanager
def working(
    before: Hook | None = None,
    settings: WorkerSettings | None = None,
    clock: Callable[[], float] = time.monotonic,
    **model: Any,
) -> Iterator[Working]:
    scripted = ScriptedModel(**{"rule": copying_rule(30), "before": before, **model})
    events: list[EngineEvent] = []
    engine = Working(Worker("toy", scripted, settings, events.append, clock), scripted, events)
    try:
        yield engine
    finally:
        engine.worker.stop()


def job(*ids: int, beam_size: int = 1, max_length: int = 20, deadline: float | None = None) -> SentenceJob:
    return SentenceJob((*ids, EOS), SearchOptions(beam_size, max_length=max_length), deadline)


def scored(*ids: int, max_length: int = 20, deadline: float | None = None) -> SentenceJob:
    return replace(job(*ids, max_length=max_length, deadline=deadline), score=WeightSelection((0, 0)))


def ids_of(future: Future[SentenceResult]) -> tuple[int, ...]:
    return future.result(PATIENCE).hypotheses[0].ids


@dataclass
class Clock:
    """A clock that a test moves."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


class Gate:
    """Holds the model's calls of one kind until it is opened; tells when the first has arrived."""

    def __init__(self, what: str = "step", then: Hook = lambda _what, _rows: None) -> None:
        self._what, self._then = what, then
        self.arrived, self._open = threading.Event(), threading.Event()

    def __call__(self, what: str, rows: int) -> None:
        if what == self._what:
            self.arrived.set()
            assert self._open.wait(PATIENCE)
        self._then(what, rows)

    def open(self) -> None:
        self._open.set()


def breaking(broken: str, error: type[BaseException] = RuntimeError, times: int = 1000) -> Hook:
    """Return a hook that makes the first calls of one kind fail."""
    left = iter(range(times))

    def fail(what: str, rows: int) -> None:
        if what == broken and next(left, None) is not None:
            raise error("out of luck")

    return fail
