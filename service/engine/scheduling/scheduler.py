"""Decides which sentences join the running batches of a model's threads, and which translations are scored together.

It reads no clock and takes no lock; the request table does both. The rules:

1. Sentences are encoded oldest first, those of one request longest first, and a few more than can join now. The more
sentences are running, the longer the oldest one waits for others, because a sentence costs less in a run of several.
2. Encoded sentences join oldest first, while the budget of rows and sentences lasts.
3. A sentence of few rows may overtake an older one of many rows that does not fit yet. Sentences of short requests
overtake those of long requests that are not encoded yet, and a few rows and one place are kept for them.
4. A sentence that was overtaken `max_overtakes` times is not overtaken again: the batch drains, and it is next.
"""

import math
from collections import deque
from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from service.engine.jobs import ScoringRequest
from service.engine.scheduling.admission import ThroughputEstimator
from service.engine.scheduling.pending import Budget, PendingRequest, PendingSentence, Scoring

FIRST_SENTENCES = 12  # of a decode thread before the next one gets any, where threads are filled one after the other
SCAN_LIMIT = 64  # sentences that are considered after the first that does not fit; limits the work of a round
SHORT_TOKENS = 24  # a request of so many source tokens is short
KEPT_SHARE, KEPT_PLACES = 16, 1  # one part in so many of the rows, and so many sentences, are kept for short requests
# One encoder run: long enough to justify its start, short enough (20 ms on one core without VNNI) for the next one.
RUN_SENTENCES, RUN_TOKENS = 32, 256
# A sentence waits for others to be encoded with: so much longer with each running sentence beyond a few, until so many
# tokens wait, and not at all if its deadline is near.
FEW_RUNNING, GATHER_SECONDS, LONGEST_GATHER = 4, 0.0015, 0.02
GATHERED_TOKENS = 64
HURRY_SECONDS = 1.0
# Encoded source tokens that may wait: at most so many before more of a long request is encoded (2 MB), and before a
# short request is encoded (4 MB).
READY_TOKENS, READY_BEFORE_SHORT = 512, 1024
# One scoring run; tokens are of both sides together, and a single translation may have more.
SCORED_TOGETHER, SCORED_TOKENS = 16, 2048


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes before the next step."""

    admitted: list[PendingSentence]
    expired: list[PendingSentence]
    rows: int = field(default=0, compare=False)  # of the admitted sentences


class Scheduler:
    """The queue of waiting sentences and the rules by which they leave it."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.tokens = 0  # source tokens waiting
        self.ready = 0  # encoded sentences that wait
        self.kept_places = min(KEPT_PLACES, budget.sentences - 1)
        self._queue: deque[PendingSentence] = deque()  # encoded sentences, those being encoded, then the others
        self._next_deadline = float("inf")  # no waiting sentence expires before this
        self._least_rows = {True: budget.rows, False: budget.rows}  # a bound for short sentences, and for others

    def __len__(self) -> int:
        return len(self._queue)

    def has_room(self, sentences: int, tokens: int) -> bool:
        """Return whether a request of this size may wait; one that exceeds the queue may, if the queue is empty."""
        fits = (
            len(self._queue) + sentences <= self.budget.queued_sentences
            and self.tokens + tokens <= self.budget.queued_tokens
        )
        return fits or not self._queue

    def add(self, entries: Iterable[PendingSentence]) -> None:
        """Put the sentences of one request at the end of the queue, or before those of long requests if it is short.

        The longest sentence is first. Sentences of similar length then run together, so that less memory is padding,
        and the last ones of a request to finish are short.
        """
        for entry in sorted(entries, key=lambda entry: -entry.tokens):
            self._queue.insert(self._place(entry), entry)
            self.tokens += entry.tokens
            self.ready += entry.ready
            self._least_rows[entry.short] = min(self._least_rows[entry.short], entry.rows)
            self._next_deadline = min(self._next_deadline, entry.deadline)

    def plan(
        self, now: float, rows: int, sentences: int = 0, most: int | None = None, share: int | None = None
    ) -> Plan:
        """Remove from the queue the expired sentences and the encoded ones that may join so many rows and sentences.

        With several decode threads, `most` is the number of rows of this one, and `share` that of its sentences.
        """
        if not self._queue:
            self._least_rows = dict.fromkeys(self._least_rows, self.budget.rows)
            return Plan([], [])
        expired = self._expire(now)
        most = self.budget.rows if most is None else most
        free, kept = most - rows, most // KEPT_SHARE
        places = self.budget.sentences - sentences
        joining = places if share is None else min(places, share - sentences)
        admitted: list[PendingSentence] = []
        passed: list[PendingSentence] = []
        while self.has_ready() and len(admitted) < joining and len(passed) < SCAN_LIMIT:
            for_all = places - len(admitted) > self.kept_places
            if free < min(self._least_rows[True], self._least_rows[False] + kept if for_all else math.inf):
                break
            entry = self._queue.popleft()
            if entry.rows <= free - (0 if entry.short else kept) and (entry.short or for_all):
                admitted.append(entry)
                free -= entry.rows
                self.ready -= 1
                self.tokens -= entry.tokens
                for older in passed:
                    older.overtaken += 1
            else:
                passed.append(entry)
            if passed and passed[0].overtaken >= self.budget.max_overtakes:
                break
        self._queue.extendleft(reversed(passed))
        return Plan(admitted, expired, most - rows - free)

    def has_ready(self) -> bool:
        """Return whether a queued sentence is encoded; if so, the first one is."""
        return bool(self._queue) and self._queue[0].ready

    def to_encode(self, now: float = 0.0, running: int = 0) -> list[PendingSentence]:
        """Return the sentences to encode next, together, before `make_ready`; none while enough are encoded.

        None either while the first of them still waits for others; `running` is the number of running sentences.
        """
        sentences = self._next_run(now, running)
        for entry in sentences:
            entry.taken = True
        return sentences

    def can_encode(self, now: float, running: int) -> bool:
        """Return whether `to_encode` would return any sentence."""
        return bool(self._next_run(now, running))

    def _next_run(self, now: float, running: int) -> list[PendingSentence]:
        sentences: list[PendingSentence] = []
        ready = tokens = 0
        for entry in self._queue:
            if entry.ready or entry.taken:
                ready += entry.tokens
                continue
            tokens += entry.tokens
            enough = ready >= (READY_BEFORE_SHORT if entry.short else READY_TOKENS)
            if enough or len(sentences) >= RUN_SENTENCES or (sentences and tokens > RUN_TOKENS):
                break
            sentences.append(entry)
        gathering = tokens < GATHERED_TOKENS and all(_may_wait(entry, now, running) for entry in sentences)
        return [] if gathering else sentences

    def make_ready(self, encoded: Container[PendingSentence]) -> None:
        """Record that these are encoded, if they still wait; they are the first that were not encoded."""
        for entry in self._queue:
            if not entry.ready and entry not in encoded:
                break
            self.ready += not entry.ready
            entry.ready = True

    def discard(self, unwanted: Container[PendingRequest]) -> list[PendingSentence]:
        """Remove these from the queue, and return those that were in it."""
        return self._remove([entry for entry in self._queue if entry in unwanted])

    def _place(self, entry: PendingSentence) -> int:
        """Return the position of a new sentence in the queue, and record the sentences that it overtakes."""
        place = len(self._queue)
        while entry.short and place and self._may_be_overtaken(self._queue[place - 1]):
            place -= 1
            self._queue[place].overtaken += 1
        return place

    def _may_be_overtaken(self, entry: PendingSentence) -> bool:
        return not (entry.short or entry.taken or entry.ready) and entry.overtaken < self.budget.max_overtakes

    def _expire(self, now: float) -> list[PendingSentence]:
        if now < self._next_deadline:
            return []
        expired = self._remove([entry for entry in self._queue if entry.deadline <= now])
        self._next_deadline = min((entry.deadline for entry in self._queue), default=float("inf"))
        return expired

    def _remove(self, entries: list[PendingSentence]) -> list[PendingSentence]:
        if entries:
            gone = set(entries)
            self._queue = deque(entry for entry in self._queue if entry not in gone)
            self.tokens -= sum(entry.tokens for entry in entries)
            self.ready -= sum(entry.ready for entry in entries)
        return entries


def gathering_seconds(running: int) -> float:
    """Return the time that a sentence may wait to be encoded together with later ones, while so many are running.

    None while few run: the decoder has room, and the sentence would be late for no gain.
    """
    return min(max(running - FEW_RUNNING, 0) * GATHER_SECONDS, LONGEST_GATHER)


def _may_wait(entry: PendingSentence, now: float, running: int) -> bool:
    """Return whether a sentence may wait longer before it is encoded."""
    return entry.deadline - now >= HURRY_SECONDS and now - entry.submitted < gathering_seconds(running)


def share_of(number: int, sentences: int, threads: int, first: int) -> int:
    """Return the sentences that a decode thread should run, of all that are running or ready.

    Each thread gets an equal part, but at least `first`, if there are so many: later threads get what is left.
    """
    share = 0
    for place in range(number + 1):
        sentences -= share
        share = max(min(sentences, first), math.ceil(sentences / (threads - place)))
    return share


class FairShare:
    """Divides the waiting sentences among the decode threads of one model, and measures the speed of the queue."""

    def __init__(self, scheduler: Scheduler, threads: int, fill_first: bool = False) -> None:
        self.throughput = ThroughputEstimator()
        self._scheduler = scheduler
        self._first = min(FIRST_SENTENCES, scheduler.budget.sentences - scheduler.kept_places) if fill_first else 0
        self._running = [(0, 0)] * threads  # rows and sentences of each

    @property
    def rows(self) -> int:
        """Return the number of running rows."""
        return sum(rows for rows, _ in self._running)

    @property
    def sentences(self) -> int:
        """Return the number of running sentences."""
        return sum(sentences for _, sentences in self._running)

    def plan(self, number: int, now: float, rows: int, sentences: int) -> Plan:
        """Return the sentences that join a thread with this load: at most its share of running and ready ones."""
        self.note(number, rows, sentences)
        before, size = self._scheduler.tokens, len(self._running)
        share = self._share(number) if size > 1 else None
        plan = self._scheduler.plan(now, rows, sentences, self._scheduler.budget.rows // size, share)
        self.throughput.round(now, before - self._scheduler.tokens, self._scheduler.tokens)
        self.note(number, rows + plan.rows, sentences + len(plan.admitted))
        return plan

    def has_work(self, number: int) -> bool:
        """Return whether an idle thread may take a sentence: one is ready, and the threads before it have enough."""
        return self._scheduler.has_ready() and (number == 0 or self._share(number) > 0)

    def is_settled(self, number: int, rows: int, sentences: int) -> bool:
        """Return whether this is the load that was noted last, and the empty queue is no longer measured."""
        return self._running[number] == (rows, sentences) and not self.throughput.is_measuring

    def note(self, number: int, rows: int, sentences: int) -> None:
        """Record the load of a thread."""
        self._running[number] = (rows, sentences)

    def _share(self, number: int) -> int:
        return share_of(number, self.sentences + self._scheduler.ready, len(self._running), self._first)


class ScoringQueue:
    """The translations that wait for scoring, in the order of arrival."""

    def __init__(self) -> None:
        self._queue: deque[Scoring] = deque()
        self._tokens = 0  # of both sides of all of them
        self._throughput = ThroughputEstimator()

    def __len__(self) -> int:
        """Return the number of waiting translations."""
        return len(self._queue)

    @property
    def seconds(self) -> float | None:
        """Return the time that the queue takes; None if it is empty, or if the time is not known."""
        return self._throughput.seconds_for(self._tokens) if self._queue else None

    def add(self, request: PendingRequest, job: ScoringRequest) -> None:
        """Add a translation at the end of the queue."""
        self._queue.append((request, job))
        self._tokens += len(job.source_ids) + len(job.target_ids)

    def take(self, now: float) -> list[Scoring]:
        """Remove and return the translations to score next, together."""
        taken: list[Scoring] = []
        tokens = 0
        while self._queue and len(taken) < SCORED_TOGETHER:
            job = self._queue[0][1]
            cost = len(job.source_ids) + len(job.target_ids)
            if taken and tokens + cost > SCORED_TOKENS:
                break
            taken.append(self._queue.popleft())
            tokens += cost
        self._tokens -= tokens
        self._throughput.round(now, tokens, self._tokens)
        return taken
