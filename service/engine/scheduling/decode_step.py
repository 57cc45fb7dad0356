"""Carries out what the scheduler decided: who joins, decoder steps, and what happens when one fails.

Everything here runs in one decoder's thread. One batch per beam width that is in use; they take turns.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from service.engine.attention.quality_signals import repeats
from service.engine.events import FinishedSentence
from service.engine.scheduling.batch import Batch
from service.engine.scheduling.context import Context
from service.engine.scheduling.requests import SentenceTicket
from service.engine.types import Hypothesis, SentenceResult


class DecodeStep:
    """The running batches of one model."""

    def __init__(self, context: Context, number: int = 0) -> None:
        """Begin with nothing running; `number` tells several of one model apart."""
        self._name, self._model, self._table = context.name, context.model, context.table
        self._faults, self._observer, self._clock = context.faults, context.observer, context.clock
        self._step_run, self._join_run = f"decoder {number}", f"join {number}"  # kinds of run that may fail
        self._batches: dict[int, Batch[SentenceTicket]] = {}
        self._next_deadline = float("inf")  # no running sentence expires before

    @property
    def rows(self) -> int:
        """Return the number of running rows."""
        rows = 0
        for batch in self._batches.values():  # asked several times a step: a generator took three times as long
            rows += batch.rows
        return rows

    @property
    def sentences(self) -> int:
        """Return the number of running sentences."""
        sentences = 0
        for batch in self._batches.values():
            sentences += len(batch)
        return sentences

    def drop(self, left: Container[object]) -> int:
        """Drop running sentences whose callers left and say how many those were."""
        return sum(len(batch.drop(left.__contains__)) for batch in self._batches.values())

    def drop_late(self, now: float) -> None:
        """Drop running sentences whose deadline has passed and tell their callers."""
        if now < self._next_deadline:
            return
        for batch in self._batches.values():
            for request in batch.drop(lambda request: request.job.deadline is not None and request.job.deadline <= now):
                self._faults.late(request)
        owners = (request for batch in self._batches.values() for request in batch.owners)
        self._next_deadline = min((deadline for deadline in map(_deadline, owners)), default=float("inf"))

    def admit(self, requests: Sequence[SentenceTicket]) -> None:
        """Let encoded sentences join the batches of their beam widths."""
        if not requests:
            return
        now = self._clock()
        for request in requests:
            request.joined = now
            self._next_deadline = min(self._next_deadline, _deadline(request))
        try:
            self._join(requests)
        except Exception:
            self._faults.failed(self._join_run, [*requests, *self._clear()])
            return
        self._faults.worked(self._join_run)

    def _join(self, requests: Sequence[SentenceTicket]) -> None:
        """Let those of one encoder run and one beam width join together."""
        parties: dict[tuple[int, int], list[SentenceTicket]] = {}
        for request in requests:
            assert request.memory is not None
            parties.setdefault((request.job.search.beam_size, id(request.memory[0])), []).append(request)
        for (beam_size, _), party in parties.items():
            batch = self._batches.get(beam_size)
            if batch is None:
                batch = self._batches[beam_size] = Batch(self._model, beam_size)
            memories = [request.memory for request in party if request.memory is not None]
            batch.join(memories[0][0], [at for _, at in memories], [(request, request.job) for request in party])
            for request in party:
                request.memory = None  # the batch has a copy of it

    def step(self) -> None:
        """Decode one token of every row of every batch and hand over what is finished."""
        for batch in list(self._batches.values()):
            if not len(batch):
                continue
            rows, begun = batch.rows, self._clock()
            try:
                finished = batch.step()
            except Exception:
                self._faults.failed(self._step_run, self._clear())
                return
            self._faults.worked(self._step_run)
            now = self._clock()
            self._observer.step(self._name, rows, now - begun)
            for sentence in finished:
                self._deliver(sentence.owner, sentence.hypotheses, now)
            if batch.beam_size == 1:
                _tell(batch)

    def _deliver(self, request: SentenceTicket, hypotheses: tuple[Hypothesis, ...], now: float) -> None:
        # A sentence waits for the encoder and, encoded, for its place in the batch.
        queued = request.joined - request.submitted - request.encode_seconds
        computed = now - request.joined + request.encode_seconds
        best = hypotheses[0]
        self._observer.sentence_finished(
            self._name,
            FinishedSentence(
                source_tokens=len(request.job.source_ids),
                target_tokens=len(best.ids),
                queue_seconds=queued,
                compute_seconds=computed,
                score=best.score,
                finish_reason=best.finish_reason,
                mean_logprob=sum(best.logprobs) / len(best.logprobs),
                repeats=repeats(best.ids),
            ),
        )
        self._table.resolve(request, SentenceResult(hypotheses, queued, computed, request.encode_seconds))

    def _clear(self) -> list[SentenceTicket]:
        """Take every sentence out of every batch; no array of theirs is trusted any more."""
        batches, self._batches = self._batches, {}
        return [request for batch in batches.values() for request in batch.owners]


def _tell(batch: Batch[SentenceTicket]) -> None:
    """Tell those who listen which tokens were chosen."""
    for index, request in enumerate(batch.owners):
        if request.job.listener is not None:
            request.job.listener(*batch.latest(index))


def _deadline(request: SentenceTicket) -> float:
    return float("inf") if request.job.deadline is None else request.job.deadline
