"""Checks jobs before they are queued, so that no input of a caller can make a step fail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from service.engine.errors import EmptyInput, InputTooLong, InvalidOption
from service.engine.types import MAX_BEAM_SIZE, MAX_LENGTH_PENALTY, ScoringRequest, SearchOptions, SentenceJob


def check_job(job: SentenceJob, source_limit: int, target_limit: int) -> SentenceJob:
    """Return the job with its maximum length cut to the model's limit.

    A translation that is cut off gets an </s> before it is scored, and needs a position for it.
    Raise EmptyInput, InputTooLong or InvalidOption.
    """
    check_length("source", job.source_ids, source_limit)
    check_search(job.search)
    if job.step_weights and job.search.beam_size != 1:
        raise InvalidOption(f"beam_size is {job.search.beam_size}; weights are recorded in greedy search only.")
    if job.score is not None:
        target_limit -= 1
    if job.search.max_length <= target_limit:
        return job
    return replace(job, search=replace(job.search, max_length=target_limit))


def check_scoring(job: ScoringRequest, source_limit: int, target_limit: int) -> None:
    """Raise EmptyInput or InputTooLong if one side does not fit the model."""
    check_length("source", job.source_ids, source_limit)
    check_length("target", job.target_ids, target_limit)


def check_search(search: SearchOptions) -> None:
    """Raise InvalidOption if an option is outside the range that the search accepts."""
    check_ranges(search.beam_size, search.length_penalty, search.min_length)
    if search.max_length < 1:
        raise InvalidOption(f"max_length is {search.max_length}; it must be at least 1.")
    if search.n_best < 1:
        raise InvalidOption(f"n_best is {search.n_best}; it must be at least 1.")


def check_ranges(beam_size: int, length_penalty: float, min_length: int) -> None:
    """Raise InvalidOption if one of the options of a call is outside the range that the search accepts."""
    if not 1 <= beam_size <= MAX_BEAM_SIZE:
        raise InvalidOption(f"beam_size is {beam_size}; it must be from 1 to {MAX_BEAM_SIZE}.")
    if not (math.isfinite(length_penalty) and 0 <= length_penalty <= MAX_LENGTH_PENALTY):
        raise InvalidOption(f"length_penalty is {length_penalty}; it must be from 0 to {MAX_LENGTH_PENALTY:g}.")
    if min_length < 0:
        raise InvalidOption(f"min_length is {min_length}; it must not be negative.")


def check_length(side: str, ids: Sequence[int], limit: int) -> None:
    """Raise EmptyInput or InputTooLong; `side` names the sequence in the message."""
    if not ids:
        raise EmptyInput(f"The {side} has no tokens.")
    if len(ids) > limit:
        raise InputTooLong(f"The {side} has {len(ids)} tokens; the model takes {limit}.")
