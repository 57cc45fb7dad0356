"""Decides which sentences join the running batches between two steps, and which translations are scored together.

It reads no clock and takes no lock; the request table does both. The rules:

1. Sentences are encoded oldest first, those of one request longest first, and a few more than can join now. The more
sentences are running, the longer the oldest one waits for others, because a sentence costs less in a run of several.
2. Encoded sentences join oldest first, while the budget of rows lasts.
3. A sentence of few rows may overtake an older one of many rows that does not fit yet. Sentences of short requests
overtake those of long requests that are not encoded yet, and a few rows are kept for them.
4. A sentence that was overtaken `max_overtakes` times is not overtaken again: the batch drains, and it is next.
"""

from collections import deque
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Generic, TypeVar

from service.engine.jobs import MAX_BEAM_SIZE

Owner = TypeVar("Owner")

DEFAULT_ROWS = 160  # on a CPU, a step of more rows takes longer and is no faster per row
SCAN_LIMIT = 64  # sentences that are considered after the first that does not fit; limits the work of a round
SHORT_TOKENS = 24  # a request of so many source tokens is short
KEPT_SHARE = 16  # one part in so many of the rows is kept for short requests
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


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of running and waiting work."""

    rows: int = DEFAULT_ROWS  # hypotheses decoded together: sentences times beam width; 0: chosen with the device
    queued_sentences: int = 8192
    queued_tokens: int = 524_288
    max_overtakes: int = 16  # times that younger sentences may overtake a waiting one

    def __post_init__(self) -> None:
        """Raise ValueError if a sentence could wait for ever."""
        if 0 < self.rows < MAX_BEAM_SIZE:
            raise ValueError(f"rows is {self.rows}, but one sentence may need {MAX_BEAM_SIZE}")
        if min(self.queued_sentences, self.queued_tokens) < 1 or self.max_overtakes < 0:
            raise ValueError(
                "queued_sentences and queued_tokens must be positive, and max_overtakes must not be negative"
            )


@dataclass(slots=True, eq=False)
class Waiting(Generic[Owner]):
    """A sentence in the queue, with its cost and its deadline."""

    owner: Owner
    rows: int
    tokens: int
    deadline: float | None = None
    short: bool = False  # whether its request is short
    since: float = 0.0  # the time of its arrival
    taken: bool = False  # whether the encoder has taken it
    ready: bool = False  # whether it is encoded
    passed: int = 0  # how often younger ones have overtaken it


@dataclass(frozen=True, slots=True)
class Plan(Generic[Owner]):
    """The changes before the next step."""

    admitted: list[Owner]
    expired: list[Owner]
    rows: int = field(default=0, compare=False)  # of the admitted sentences


class Scheduler(Generic[Owner]):
    """The queue of waiting sentences and the rules by which they leave it."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.tokens = 0  # source tokens waiting
        self.ready_rows = 0  # of the encoded sentences that wait
        self._queue: deque[Waiting[Owner]] = deque()  # encoded sentences, those being encoded, then the others
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

    def add(self, entries: Iterable[Waiting[Owner]]) -> None:
        """Put the sentences of one request at the end of the queue, or before those of long requests if it is short.

        The longest sentence is first. Sentences of similar length then run together, so that less memory is padding,
        and the last ones of a request to finish are short.
        """
        for entry in sorted(entries, key=lambda entry: -entry.tokens):
            self._queue.insert(self._place(entry), entry)
            self.tokens += entry.tokens
            self.ready_rows += entry.rows if entry.ready else 0
            self._least_rows[entry.short] = min(self._least_rows[entry.short], entry.rows)
            if entry.deadline is not None:
                self._next_deadline = min(self._next_deadline, entry.deadline)

    def plan(self, now: float, rows_in_use: int, most: int | None = None, share: int | None = None) -> Plan[Owner]:
        """Remove from the queue the expired sentences and the encoded ones that may join now.

        With several decode threads, `most` is the number of rows of this one, and it takes at most its `share`.
        """
        if not self._queue:
            self._least_rows = dict.fromkeys(self._least_rows, self.budget.rows)
            return Plan([], [])
        expired = self._expire(now)
        most = self.budget.rows if most is None else most
        free, kept = most - rows_in_use, most // KEPT_SHARE
        left = 0 if share is None else max(most - share, 0)
        admitted: list[Owner] = []
        passed: list[Waiting[Owner]] = []
        needed = max(left + 1, min(self._least_rows[True], self._least_rows[False] + kept))
        while self.has_ready() and free >= needed and len(passed) < SCAN_LIMIT:
            entry = self._queue.popleft()
            if entry.rows <= free - (0 if entry.short else kept):
                admitted.append(entry.owner)
                free -= entry.rows
                self.ready_rows -= entry.rows
                self.tokens -= entry.tokens
                for older in passed:
                    older.passed += 1
            else:
                passed.append(entry)
            if passed and passed[0].passed >= self.budget.max_overtakes:
                break
        self._queue.extendleft(reversed(passed))
        return Plan(admitted, expired, most - rows_in_use - free)

    def has_ready(self) -> bool:
        """Return whether a queued sentence is encoded; if so, the first one is."""
        return bool(self._queue) and self._queue[0].ready

    def to_encode(self, now: float = 0.0, running: int = 0) -> list[Owner]:
        """Return the sentences to encode next, together, before `make_ready`; none while enough are encoded.

        None either while the first of them still waits for others; `running` is the number of running sentences.
        """
        found = self._next_run(now, running)
        for entry in found:
            entry.taken = True
        return [entry.owner for entry in found]

    def can_encode(self, now: float, running: int) -> bool:
        """Return whether `to_encode` would return any sentence."""
        return bool(self._next_run(now, running))

    def _next_run(self, now: float, running: int) -> list[Waiting[Owner]]:
        found: list[Waiting[Owner]] = []
        ready = tokens = 0
        for entry in self._queue:
            if entry.ready or entry.taken:
                ready += entry.tokens
                continue
            tokens += entry.tokens
            enough = ready >= (READY_BEFORE_SHORT if entry.short else READY_TOKENS)
            if enough or len(found) >= RUN_SENTENCES or (found and tokens > RUN_TOKENS):
                break
            found.append(entry)
        gathering = tokens < GATHERED_TOKENS and all(_may_wait(entry, now, running) for entry in found)
        return [] if gathering else found

    def make_ready(self, owners: Container[object]) -> None:
        """Record that these are encoded, if they still wait; they are the first that were not encoded."""
        for entry in self._queue:
            if not entry.ready and entry.owner not in owners:
                break
            self.ready_rows += 0 if entry.ready else entry.rows
            entry.ready = True

    def discard(self, owners: Container[object]) -> list[Owner]:
        """Remove these from the queue, if they are in it."""
        return self._remove([entry for entry in self._queue if entry.owner in owners])

    def _place(self, entry: Waiting[Owner]) -> int:
        """Return the position of a new sentence in the queue, and record the sentences that it overtakes."""
        place = len(self._queue)
        while entry.short and place and self._may_be_overtaken(self._queue[place - 1]):
            place -= 1
            self._queue[place].passed += 1
        return place

    def _may_be_overtaken(self, entry: Waiting[Owner]) -> bool:
        return not (entry.short or entry.taken or entry.ready) and entry.passed < self.budget.max_overtakes

    def _expire(self, now: float) -> list[Owner]:
        if now < self._next_deadline:
            return []
        late = [entry for entry in self._queue if entry.deadline is not None and entry.deadline <= now]
        expired = self._remove(late)
        deadlines = (entry.deadline for entry in self._queue if entry.deadline is not None)
        self._next_deadline = min(chain(deadlines, [float("inf")]))
        return expired

    def _remove(self, entries: list[Waiting[Owner]]) -> list[Owner]:
        if entries:
            gone = {id(entry) for entry in entries}
            self._queue = deque(entry for entry in self._queue if id(entry) not in gone)
            self.tokens -= sum(entry.tokens for entry in entries)
            self.ready_rows -= sum(entry.rows for entry in entries if entry.ready)
        return [entry.owner for entry in entries]


def gathering_seconds(running: int) -> float:
    """Return the time that a sentence may wait to be encoded together with later ones, while so many are running.

    None while few run: the decoder has room, and the sentence would be late for no gain.
    """
    return min(max(running - FEW_RUNNING, 0) * GATHER_SECONDS, LONGEST_GATHER)


def _may_wait(entry: Waiting[Any], now: float, running: int) -> bool:
    """Return whether a sentence may wait longer before it is encoded."""
    hurries = entry.deadline is not None and entry.deadline - now < HURRY_SECONDS
    return not hurries and now - entry.since < gathering_seconds(running)
