"""Drives a batch by hand, as the worker does, with sentences that join at steps of the test's choosing."""

from collections.abc import Sequence

from service.engine.jobs import Hypothesis, SearchOptions, SentenceJob
from service.engine.model.interface import Model
from service.engine.scheduling.batch import FinishedSentence, RunningBatch
from tests.support.fake_model import Rule, ScriptedModel


def run_batch(
    model: Model, jobs: Sequence[SentenceJob], arrivals: Sequence[int] | None = None
) -> list[FinishedSentence[int]]:
    """Decode jobs of one beam width; job i joins before step arrivals[i], or all join at once."""
    arrivals = arrivals or [0] * len(jobs)
    batch: RunningBatch[int] = RunningBatch(model, jobs[0].search.beam_size)
    found: dict[int, FinishedSentence[int]] = {}
    step = 0
    while len(found) < len(jobs):
        joining = [at for at, arrival in enumerate(arrivals) if arrival == step]
        if joining:
            encoded = model.encode([jobs[at].source_ids for at in joining])
            batch.join(encoded, range(len(joining)), [(at, jobs[at]) for at in joining])
        if len(batch):
            found |= {finished.owner: finished for finished in batch.step()}
        step += 1
    return [found[at] for at in range(len(jobs))]


def decode(model: Model, jobs: Sequence[SentenceJob], arrivals: Sequence[int] | None = None) -> list[Hypothesis]:
    """Return the best hypothesis of each job."""
    return [finished.hypotheses[0] for finished in run_batch(model, jobs, arrivals)]


def search(rule: Rule, sources: Sequence[tuple[int, ...]], options: SearchOptions) -> list[tuple[Hypothesis, ...]]:
    """Return the hypotheses of sources that are decoded together by a rule."""
    jobs = [SentenceJob(source, options) for source in sources]
    return [finished.hypotheses for finished in run_batch(ScriptedModel(rule), jobs)]
