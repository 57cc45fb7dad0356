"""Drives a batch by hand, as the worker does, with sentences that join at steps of the test's choosing."""

from collections.abc import Sequence

from service.engine.jobs import Hypothesis, SentenceJob
from service.engine.model.interface import Model
from service.engine.scheduling.batch import Batch


def decode(model: Model, jobs: Sequence[SentenceJob], arrivals: Sequence[int]) -> list[Hypothesis]:
    """Decode jobs of one beam width; job i joins before step arrivals[i]."""
    batch: Batch[int] = Batch(model, jobs[0].search.beam_size)
    found: dict[int, Hypothesis] = {}
    step = 0
    while len(found) < len(jobs):
        joining = [at for at, arrival in enumerate(arrivals) if arrival == step]
        if joining:
            encoded = model.encode([jobs[at].source_ids for at in joining])
            batch.join(encoded, range(len(joining)), [(at, jobs[at]) for at in joining])
        if len(batch):
            found |= {finished.owner: finished.hypotheses[0] for finished in batch.step()}
        step += 1
    return [found[at] for at in range(len(jobs))]
