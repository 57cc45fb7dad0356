"""The decode loop of one thread: schedule, run, update, once for each step.

There are one or two batches for each beam width in use; they take turns. All of this runs in the thread itself.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from service.engine.attention.quality_signals import repeats
from service.engine.attention.selection import check_size
from service.engine.errors import EngineError
from service.engine.events import EventListener, SentenceFinished, SentencesCancelled, StepDone
from service.engine.jobs import ScoringRequest, SentenceResult
from service.engine.model.interface import Model
from service.engine.scheduling.batch import Running, RunningBatch, choose_batches
from service.engine.scheduling.pending import PendingSentence
from service.engine.scheduling.requests import RequestTable

PendingBatch = RunningBatch[PendingSentence]
BatchKey = tuple[int, int]  # beam width, and the number of the batch among those of this width


class DecodeLoop:
    """Runs its own batches until the request table says that the worker ends."""

    def __init__(
        self,
        name: str,
        model: Model,
        table: RequestTable,
        on_event: EventListener,
        clock: Callable[[], float],
        number: int,
    ) -> None:
        """Create a loop without running sentences; `number` identifies it among the loops of one model."""
        self._name, self._model, self._number = name, model, number
        self._table, self._on_event, self._clock = table, on_event, clock
        self._step_run, self._join_run = f"decoder {number}", f"join {number}"  # the kinds of run that may fail
        self._batches: dict[BatchKey, PendingBatch] = {}
        self._next_deadline = float("inf")  # no running sentence expires before this

    def turn(self) -> bool:
        """Wait for work and run one step; return False if the worker ends."""
        if not self._table.wait_for_work(self._number, busy=self._load() != (0, 0)):
            return False
        self.step()
        return True

    def step(self) -> None:
        """Schedule sentences, run one step, and update the requests with its results."""
        now = self._clock()
        self._drop_expired(now)
        self._drop_cancelled()
        plan = self._table.schedule(self._number, now, *self._load())
        for request in plan.expired:
            self._table.expire(request)
        self._admit(plan.admitted)

        for batch in [batch for batch in self._batches.values() if len(batch)]:
            if not self._run_step(batch):
                break  # the run failed, and no sentence is left

        if self._load() == (0, 0):
            self._table.idle(self._number)

    def _drop_expired(self, now: float) -> None:
        """Drop running sentences whose deadline has passed."""
        if now < self._next_deadline:
            return
        for batch in self._batches.values():
            for request in batch.drop(lambda request: request.deadline <= now):
                self._table.expire(request)
        deadlines = (request.deadline for batch in self._batches.values() for request in batch.owners)
        self._next_deadline = min(deadlines, default=float("inf"))

    def _drop_cancelled(self) -> None:
        """Drop the sentences of disconnected callers, queued or running."""
        left, queued = self._table.take_cancelled(self._number)
        if not left:
            return
        running = sum(len(batch.drop(left.__contains__)) for batch in self._batches.values())
        if queued or running:
            self._on_event(SentencesCancelled(self._name, queued + running))

    def _admit(self, requests: Sequence[PendingSentence]) -> None:
        """Add encoded sentences to the batches of their beam widths."""
        if not requests:
            return
        now = self._clock()
        for request in requests:
            request.joined = now
            self._next_deadline = min(self._next_deadline, request.deadline)
        try:
            for key, of_batch in self._by_batch(requests).items():
                if key not in self._batches:
                    self._batches[key] = PendingBatch(self._model, key[0])
                for together in _of_one_encoder_run(of_batch):
                    _join(self._batches[key], together)
        except Exception:
            self._table.run_failed(self._join_run, [*requests, *self._clear()])
            return
        self._table.run_succeeded(self._join_run)

    def _by_batch(self, requests: Sequence[PendingSentence]) -> dict[BatchKey, list[PendingSentence]]:
        """Return the sentences that join each batch."""
        by_width: dict[int, list[PendingSentence]] = {}
        for request in requests:
            by_width.setdefault(request.rows, []).append(request)
        joining: dict[BatchKey, list[PendingSentence]] = {}
        for width, of_width in by_width.items():
            running = self._running(width, 0), self._running(width, 1)
            sources = [request.tokens for request in of_width]
            for request, number in zip(of_width, choose_batches(sources, running, self._model.step_cost), strict=True):
                joining.setdefault((width, number), []).append(request)
        return joining

    def _running(self, width: int, number: int) -> Running:
        batch = self._batches.get((width, number))
        owners = batch.owners if batch is not None else ()
        return Running(len(owners), max((request.tokens for request in owners), default=0))

    def _run_step(self, batch: PendingBatch) -> bool:
        """Decode one token of every row and deliver the finished sentences; return False if the run failed."""
        rows, began = batch.rows, self._clock()
        try:
            finished = batch.step()
        except Exception:
            self._table.run_failed(self._step_run, self._clear())
            return False
        now = self._clock()
        self._table.run_succeeded(self._step_run)
        for request, result in finished:
            self._deliver(request, result, now)
        self._on_event(StepDone(self._name, rows, now - began))  # the last of its events, with which they can be sent
        return True

    def _deliver(self, request: PendingSentence, result: SentenceResult, now: float) -> None:
        """Answer a request with its translation, or queue the translation for scoring if the request needs scores."""
        # A sentence waits for the encoder, and then for its place in the batch.
        queued = request.joined - request.submitted - request.encode_seconds
        computed = now - request.joined + request.encode_seconds
        best = result.hypotheses[0]
        self._on_event(
            SentenceFinished(
                model=self._name,
                source_tokens=request.tokens,
                target_tokens=len(best.ids),
                queue_seconds=queued,
                compute_seconds=computed,
                score=best.score,
                finish_reason=best.finish_reason,
                mean_logprob=sum(best.logprobs) / max(len(best.logprobs), 1),  # a search may find no token at all
                repeats=repeats(best.ids),
            )
        )
        encoded = request.encode_seconds
        result = replace(result, queue_seconds=queued, compute_seconds=computed, encode_seconds=encoded)
        scoring = request.job.score
        if scoring is None:
            self._table.resolve(request, result)
            return
        closed = best.ids if best.finish_reason == "eos" else (*best.ids, self._model.eos)
        try:
            check_size(scoring.limit, request.tokens, len(closed))
        except EngineError as error:
            self._table.fail(request, error)
            return
        request.translation, request.translated = result, now
        self._table.queue_scoring(
            request, ScoringRequest(request.job.source_ids, closed, request.job.deadline, scoring)
        )

    def _clear(self) -> list[PendingSentence]:
        """Remove every sentence from every batch, because their arrays may be invalid."""
        batches, self._batches = self._batches, {}
        return [request for batch in batches.values() for request in batch.owners]

    def _load(self) -> tuple[int, int]:
        """Return the rows and the sentences that run."""
        rows = sentences = 0
        for batch in self._batches.values():  # called several times per step: a generator took three times as long
            rows += batch.rows
            sentences += len(batch)
        return rows, sentences

    def clear(self) -> None:
        """Free the memory of the batches; the thread has ended."""
        self._batches.clear()


def _of_one_encoder_run(requests: Sequence[PendingSentence]) -> Iterable[list[PendingSentence]]:
    """Return groups of sentences that can join together: those of one encoder run."""
    groups: dict[int, list[PendingSentence]] = {}
    for request in requests:
        assert request.memory is not None
        groups.setdefault(id(request.memory[0]), []).append(request)
    return groups.values()


def _join(batch: PendingBatch, requests: Sequence[PendingSentence]) -> None:
    memories = [request.memory for request in requests if request.memory is not None]
    batch.join(memories[0][0], [at for _, at in memories], [(request, request.job) for request in requests])
    for request in requests:
        request.memory = None  # the batch has a copy of it
