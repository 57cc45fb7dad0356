"""Drives a batch by hand, as the worker does, with sentences that join at steps of the test's choosing."""

from collections.abc import Sequence

from service.engine.jobs import Hypothesis, SearchOptions, SentenceJob, SentenceResult
from service.engine.model.interface import Model
from service.engine.scheduling.batch import RunningBatch
from tests.support.fake_model import Rule, ScriptedModel


def run_batch(model: Model, jobs: Sequence[SentenceJob], arrivals: Sequence[int] | None = None) -> list[SentenceResult]:
    """Decode jobs of one beam width; job i joins before step arrivals[i], or all join at once."""
    arrivals = arrivals or [0] * len(jobs)
    batch: RunningBatch[int] = RunningBatch(model, jobs[0].search.beam_size)
    results: dict[int, SentenceResult] = {}
    step = 0
    while len(results) < len(jobs):
        joining = [at for at, arrival in enumerate(arrivals) if arrival == step]
        if joining:
            encoded = model.encode([jobs[at].source_ids for at in joining])
            batch.join(encoded, range(len(joining)), [(at, jobs[at]) for at in joining])
        if len(batch):
            results |= dict(batch.step())
        step += 1
    return [results[at] for at in range(len(jobs))]


def decode(model: Model, jobs: Sequence[SentenceJob], arrivals: Sequence[int] | None = None) -> list[Hypothesis]:
    """Return the best hypothesis of each job."""
    return [result.hypotheses[0] for result in run_batch(model, jobs, arrivals)]


def search(rule: Rule, sources: Sequence[tuple[int, ...]], options: SearchOptions) -> list[tuple[Hypothesis, ...]]:
    """Return the hypotheses of sources that are decoded together by a rule."""
    jobs = [SentenceJob(source, options) for source in sources]
    return [result.hypotheses for result in run_batch(ScriptedModel(rule), jobs)]
