"""Alternatives at a place: the likeliest other words after a given beginning, each with the rest that is best after it.

A beam forgets these words: what it keeps at its end differs where it differs least. So a search of one step finds
the likeliest tokens after the prefix, and each of them is then the end of a prefix (`return_alternatives` of
CTranslate2).
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from service.engine.jobs import MAX_BEAM_SIZE, Hypothesis, SentenceJob, SentenceResult
from service.engine.search.options import normalised_score

Run = Callable[[Callable[[], list[SentenceJob]]], Awaitable[list[SentenceResult]]]


async def with_other_words(jobs: Sequence[SentenceJob], count: int, run: Run) -> list[SentenceResult]:
    """Return the results of jobs, each with so many more hypotheses that have other tokens after its prefix."""
    found = await run(lambda: [*jobs, *map(_one_step, jobs)])
    results, steps = found[: len(jobs)], found[len(jobs) :]
    begun = [
        (number, token)
        for number, (job, result, step) in enumerate(zip(jobs, results, steps, strict=True))
        for token in _others(job, result, step)[:count]
    ]
    ended = await run(lambda: [_after(jobs[number], token) for number, token in begun]) if begun else []
    further: list[list[Hypothesis]] = [[] for _ in jobs]
    for (number, token), result in zip(begun, ended, strict=True):
        further[number].append(_whole(jobs[number], token, result.hypotheses[0]))
    return [
        replace(result, hypotheses=(result.hypotheses[0], *sorted(rest, key=lambda hypothesis: -hypothesis.score)))
        for result, rest in zip(results, further, strict=True)
    ]


def _one_step(job: SentenceJob) -> SentenceJob:
    """Return the job that finds the likeliest tokens after the prefix, each as the end of a hypothesis."""
    longest = len(job.search.prefix) + 1
    search = replace(job.search, beam_size=MAX_BEAM_SIZE, n_best=MAX_BEAM_SIZE, max_length=longest)
    return replace(job, search=search, score=None, values=None, trace=False)


def _others(job: SentenceJob, result: SentenceResult, step: SentenceResult) -> list[Hypothesis]:
    """Return the beginnings that a sentence may go on from, without that of its translation."""
    place = len(job.search.prefix)
    if place + 1 >= job.search.max_length:
        return []
    taken = result.hypotheses[0].ids[: place + 1]
    return [
        hypothesis for hypothesis in step.hypotheses if hypothesis.ids != taken and hypothesis.finish_reason == "length"
    ]


def _after(job: SentenceJob, begun: Hypothesis) -> SentenceJob:
    return replace(job, search=replace(job.search, prefix=begun.ids), score=None, trace=False)


def _whole(job: SentenceJob, begun: Hypothesis, continuation: Hypothesis) -> Hypothesis:
    """Return a hypothesis with the log-probability of the token that its search took as given."""
    logprobs = (*begun.logprobs, *continuation.logprobs[len(begun.ids) :])
    return replace(continuation, logprobs=logprobs, score=normalised_score(logprobs, job.search.length_penalty))
