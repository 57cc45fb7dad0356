"""Checks the lengths of jobs before they are queued, so that no input can make a step fail; see search.options."""

from collections.abc import Sequence
from dataclasses import replace

from service.engine.errors import EmptyInput, InputTooLong
from service.engine.jobs import ScoringRequest, SentenceJob


def check_job(job: SentenceJob, source_limit: int, target_limit: int) -> SentenceJob:
    """Return the job with its maximum length cut to the model's limit.

    A translation that is cut off gets an </s> before it is scored, and needs a position for it.
    Raise EmptyInput or InputTooLong.
    """
    check_length("source", job.source_ids, source_limit)
    if job.score is not None:
        target_limit -= 1
    if job.search.max_length <= target_limit:
        return job
    return replace(job, search=replace(job.search, max_length=target_limit))


def check_scoring(job: ScoringRequest, source_limit: int, target_limit: int) -> None:
    """Raise EmptyInput or InputTooLong if one side does not fit the model."""
    check_length("source", job.source_ids, source_limit)
    check_length("target", job.target_ids, target_limit)


def check_length(side: str, ids: Sequence[int], limit: int) -> None:
    """Raise EmptyInput or InputTooLong; `side` names the sequence in the message."""
    if not ids:
        raise EmptyInput(f"The {side} has no tokens.")
    if len(ids) > limit:
        raise InputTooLong(f"The {side} has {len(ids)} tokens; the model takes {limit}.")
