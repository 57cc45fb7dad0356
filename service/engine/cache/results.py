"""Finished sentences in memory, within a limit of bytes; those that were used least recently are dropped first.

A sentence's translation does not depend on the sentences beside it, so a kept result is what the model would give
again, to the byte. Nothing is written to a disk, and no key or result ever reaches a log.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy.typing as npt

from service.engine.jobs import SearchOptions, SentenceJob, SentenceResult, WeightSelection
from service.engine.values.constraints import ValueConstraints

ENTRY_BYTES = 1_000  # of a key, a result and their place in the table, without tokens and weights
HYPOTHESIS_BYTES = 200
TOKEN_BYTES = 40  # a number, and the reference to it
FORM_BYTES = 300  # of one form of a value
ARRAY_BYTES = 150  # of an array without numbers
LARGEST_SHARE = 16  # a result that takes more than one part in so many is not kept


class ResultKey(NamedTuple):
    """All that a translation depends on; the deadline is not part of it."""

    scope: str  # the model as it runs: digest, device and precision
    source_ids: tuple[int, ...]
    search: SearchOptions
    score: WeightSelection | None
    values: ValueConstraints | None


class CacheSize(NamedTuple):
    """The contents of a cache."""

    entries: int
    bytes: int


def key_of(scope: str, job: SentenceJob) -> ResultKey:
    """Return the key of a job's result."""
    return ResultKey(scope, job.source_ids, job.search, job.score, job.values)


@dataclass(frozen=True, slots=True)
class _Entry:
    result: SentenceResult
    bytes: int


class ResultCache:
    """The results of all models of a server; may be called from any thread."""

    def __init__(self, limit: int) -> None:
        """Set the limit in bytes."""
        self._limit = limit
        self._lock = threading.Lock()
        self._entries: OrderedDict[ResultKey, _Entry] = OrderedDict()
        self._bytes = 0

    @property
    def size(self) -> CacheSize:
        """Return what it holds now."""
        with self._lock:
            return CacheSize(len(self._entries), self._bytes)

    def get(self, key: ResultKey) -> SentenceResult | None:
        """Return the result of a key, if it is kept, and count it as used."""
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                return None
            self._entries.move_to_end(key)
            return found.result

    def put(self, key: ResultKey, result: SentenceResult) -> None:
        """Keep a result without its times; its arrays can no longer be changed by anyone who holds it."""
        size = bytes_of(key, result)
        if size > self._limit // LARGEST_SHARE:
            return
        for array in _arrays(result):
            array.flags.writeable = False
        kept = replace(result, queue_seconds=0.0, compute_seconds=0.0, encode_seconds=0.0, score_seconds=0.0)
        with self._lock:
            self._drop(key)
            self._entries[key] = _Entry(kept, size)
            self._bytes += size
            while self._bytes > self._limit:
                self._drop(next(iter(self._entries)))

    def _drop(self, key: ResultKey) -> None:
        gone = self._entries.pop(key, None)
        if gone is not None:
            self._bytes -= gone.bytes


def bytes_of(key: ResultKey, result: SentenceResult) -> int:
    """Return about how many bytes of memory an entry takes."""
    tokens = len(key.source_ids) + sum(2 * len(each.ids) for each in result.hypotheses)
    size = ENTRY_BYTES + HYPOTHESIS_BYTES * len(result.hypotheses) + TOKEN_BYTES * tokens
    if key.values is not None:
        forms = [form for forms in key.values.forms for form in forms]
        size += FORM_BYTES * len(forms) + TOKEN_BYTES * sum(len(form.tokens) for form in forms)
    return size + sum(ARRAY_BYTES + array.nbytes for array in _arrays(result))


def _arrays(result: SentenceResult) -> list[npt.NDArray[Any]]:
    scores = result.scores
    if scores is None:
        return []
    every = (scores.encoder_attention, scores.decoder_attention, scores.selected)
    return [scores.logprobs, scores.ranks, scores.cross_attention, *(array for array in every if array is not None)]
