"""What a step costs the host: counts that need no GPU, because they are the same where the graphs are rehearsed.

Counted are the sessions that run, the arrays that are bound, and the bytes that are copied to or from the device. The
time is that of the processor for a step beside the run, which is replayed: what the run found before is there at once,
as on a GPU, where a run leaves the processor's caches alone. The first steps of a bucket are not part of it.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import onnx
import onnxruntime

from benchmarks.gpu.checks import Check
from service.bundle.load import Bundle
from service.engine import SearchOptions, SentenceJob
from service.engine.model.buffers import Array
from service.engine.model.interface import Model
from service.engine.model.slots import SlotDecoderState
from service.engine.scheduling.batch import RunningBatch

ROWS, LEAST_TOKENS = 128, 14  # of the batch, and of each source
WARM_STEPS, STEPS, ROUNDS = 2, 6, 60
MOST_BOUND, MOST_BYTES, MOST_MICROSECONDS = 3, 16, 150


class StepCost(NamedTuple):
    """The means over the steps of a batch, and the median of its time."""

    rows: int
    beam: int
    sessions: float
    bound: float
    bytes_of_row: float
    microseconds: float


@contextmanager
def counted(run: Callable[[], None] | None = None) -> Iterator[Counter[str]]:
    """Count what sessions and their arrays do; `run` takes the place of the runs."""
    counts: Counter[str] = Counter()

    def watch(owner: Any, name: str, note: Callable[[tuple[Any, ...], Any], None]) -> Any:
        before = getattr(owner, name)

        def called(*args: Any, **rest: Any) -> Any:
            found = before(*args, **rest)
            note(args, found)
            return found

        return mock.patch.object(owner, name, called)

    session, binding, value = onnxruntime.InferenceSession, onnxruntime.IOBinding, onnxruntime.OrtValue
    ran = session.run_with_iobinding

    def running(*args: Any) -> None:
        began = time.thread_time_ns()
        copied = counts["bytes"]
        ran(*args) if run is None else run()
        counts["bytes"], counts["sessions"] = copied, counts["sessions"] + 1
        counts["nanoseconds of runs"] += time.thread_time_ns() - began

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(session, "run_with_iobinding", running))
        for name in ("bind_input", "bind_output", "bind_ortvalue_input", "bind_ortvalue_output", "bind_cpu_input"):
            stack.enter_context(watch(binding, name, lambda args, found: counts.update(bound=1)))
        stack.enter_context(watch(value, "update_inplace", lambda args, found: counts.update(bytes=args[1].nbytes)))
        stack.enter_context(watch(value, "numpy", lambda args, found: counts.update(bytes=found.nbytes)))
        yield counts


def step_cost(model: Model, sources: Sequence[Sequence[int]], beam: int) -> StepCost:
    """Return the cost of a step of all sentences together."""
    jobs = [SentenceJob(tuple(ids), SearchOptions(beam, 1.0, 96)) for ids in sources]
    encoded, batch = model.encode([job.source_ids for job in jobs]), RunningBatch[int](model, beam)
    found: list[Array] = []
    totals, times = Counter[str](), []
    for round_ in range(ROUNDS):
        batch.join(encoded, range(len(jobs)), list(enumerate(jobs)))
        for step in range(STEPS):
            with counted(partial(_replay, batch, found[step]) if round_ else None) as counts:
                began = time.thread_time_ns()
                batch.step()
                took = time.thread_time_ns() - began - counts["nanoseconds of runs"]
            if not round_:
                found.append(_choice(batch).numpy().copy())
            if step >= WARM_STEPS:
                totals.update(counts if round_ else {})
                times += [took / 1000] if round_ else []
        batch.drop(lambda _: True)
    rows, steps = len(jobs) * beam, len(times)
    sessions, bound, size = (totals[name] / steps for name in ("sessions", "bound", "bytes"))
    return StepCost(rows, beam, sessions, bound, size / rows, float(np.median(times)))


def _choice(batch: RunningBatch[int]) -> Any:
    """Return the array in which a step leaves its choice."""
    state = batch.decoder_state
    assert isinstance(state, SlotDecoderState)
    assert state.bucket is not None
    return state.bucket.values["choice"]


def _replay(batch: RunningBatch[int], found: Array) -> None:
    _choice(batch).update_inplace(found)


def nodes(bundle: Bundle) -> int:
    """Return the number of nodes of the graph that is a step on a GPU."""
    graphs = bundle.manifest.graphs["fp16"]
    assert graphs.run is not None
    return len(onnx.load_model(str(bundle.folder / graphs.run), load_external_data=False).graph.node)


def step_check(bundle: Bundle, model: Model, sources: Sequence[Sequence[int]]) -> list[Check]:
    """Check what a step of 128 rows costs the host, greedily and with four hypotheses."""
    middle = [ids for ids in sources if LEAST_TOKENS <= len(ids) <= 2 * LEAST_TOKENS]
    checks = []
    for beam in (1, 4):
        cost = step_cost(model, middle[: ROWS // beam], beam)
        counts = cost.sessions == 1 and cost.bound <= MOST_BOUND and cost.bytes_of_row <= MOST_BYTES
        passed = counts and cost.microseconds <= MOST_MICROSECONDS
        measured = (
            f"{cost.sessions:g} sessions, {cost.bound:g} arrays bound, {cost.bytes_of_row:.1f} bytes a row, "
            f"{nodes(bundle)} nodes, {cost.microseconds:.0f} µs of the host"
        )
        asked = f"1, ≤ {MOST_BOUND}, ≤ {MOST_BYTES}; no limit; ≤ {MOST_MICROSECONDS} µs"
        checks.append(Check(f"a step of {cost.rows} rows, beam {beam}", passed, measured, asked))
    return checks
