"""Admission to the batch: the budget holds, order is kept, and no sentence waits forever."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.engine.jobs import SearchOptions, SentenceJob
from service.engine.scheduling.admission import ThroughputEstimator
from service.engine.scheduling.pending import Budget, PendingSentence
from service.engine.scheduling.scheduler import (
    LONGEST_GATHER,
    Scheduler,
    gathering_seconds,
    share_of,
)


@dataclass
class Queue:
    """A scheduler whose sentences are called by the letter that is their number."""

    scheduler: Scheduler

    def add(self, entries: list[PendingSentence]) -> None:
        self.scheduler.add(entries)

    def plan(
        self, now: float, rows: int, sentences: int = 0, most: int | None = None, share: int | None = None
    ) -> tuple[str, str]:
        """Return the sentences that join and those that have expired."""
        plan = self.scheduler.plan(now, rows, sentences, most, share)
        return named(plan.admitted), named(plan.expired)

    def admitted(self, rows: int, sentences: int = 0, most: int | None = None, share: int | None = None) -> str:
        return self.plan(0.0, rows, sentences, most, share)[0]

    def to_encode(self, now: float = 0.0, running: int = 0) -> str:
        return named(self.scheduler.to_encode(now, running))

    def can_encode(self, now: float, running: int) -> bool:
        return self.scheduler.can_encode(now, running)

    def make_ready(self, names: str) -> None:
        self.scheduler.make_ready(self.waiting(names))

    def discard(self, names: str) -> str:
        return named(self.scheduler.discard(self.waiting(names)))

    def waiting(self, names: str) -> set[PendingSentence]:
        return {each for each in self.scheduler._queue if chr(each.id) in names}


def named(sentences: Iterable[PendingSentence]) -> str:
    return "".join(chr(each.id) for each in sentences)


def waiting_for(
    number: int, rows: int, tokens: int, short: bool, *, since: float = 0.0, deadline: float | None = None
) -> PendingSentence:
    return PendingSentence(number, SentenceJob((3,) * tokens, SearchOptions(rows), deadline), since, short)


def scheduler(entries: list[PendingSentence], **budget: int) -> Queue:
    made = Queue(Scheduler(Budget(**budget)))
    made.add(entries)
    return made


def encoded(names: str, rows: int = 1, tokens: int = 5, deadline: float | None = None) -> list[PendingSentence]:
    made = [waiting_for(ord(name), rows, tokens, True, deadline=deadline) for name in names]
    for each in made:
        each.ready = True
    return made


def arrived(
    names: str, tokens: int = 5, since: float = 0.0, deadline: float | None = None, short: bool = True
) -> list[PendingSentence]:
    return [waiting_for(ord(name), 4, tokens, short, since=since, deadline=deadline) for name in names]


long = partial(arrived, tokens=30, short=False)


def test_the_longest_sentence_of_a_request_is_first_and_requests_keep_their_order() -> None:
    queue = scheduler([*encoded("s", tokens=3), *encoded("l", tokens=9), *encoded("o", tokens=3)])
    queue.add(encoded("x", tokens=30))
    assert queue.admitted(0) == "lsox"


def test_a_thread_with_its_share_leaves_the_rest_to_others() -> None:
    queue = scheduler(encoded("abcdef", rows=4), rows=64)
    assert queue.scheduler.ready == 6
    assert queue.admitted(0, most=32, share=3) == "abc"
    assert queue.admitted(12, 3, most=32, share=3) == ""
    assert queue.admitted(0, most=32, share=1) == "d"
    assert queue.admitted(28, 7, most=32, share=10) == "e"


def test_a_step_has_few_sentences_and_its_last_place_is_for_short_requests() -> None:
    texts = long("abcdefgh")
    for each in texts:
        each.ready = True
    queue = scheduler([*texts, *encoded("xy", rows=4)], rows=64, sentences=5)
    assert queue.admitted(0) == "abcdx"
    assert queue.admitted(20, 5) == ""
    assert queue.admitted(16, 4) == "y"
    assert queue.admitted(16, 4) == ""
    assert queue.admitted(12, 3) == "e"


@pytest.mark.parametrize(
    ("sentences", "first", "shares"),
    [(9, 0, [5, 4]), (40, 48, [40, 0]), (60, 48, [48, 12]), (120, 48, [60, 60]), (100, 48, [48, 48, 4])],
)
def test_the_shares_of_several_threads(sentences: int, first: int, shares: list[int]) -> None:
    assert [share_of(number, sentences, len(shares), first) for number in range(len(shares))] == shares


def test_small_ones_pass_a_large_one_that_does_not_fit_yet_but_only_so_often() -> None:
    queue = scheduler(encoded("L", rows=8), rows=8, max_overtakes=3)
    for name in "0123456789":
        queue.add(encoded(name))
    assert queue.admitted(4) == "012"
    assert queue.admitted(3) == ""
    assert queue.admitted(0) == "L"


def test_those_whom_the_encoder_has_taken_are_passed_by_nobody() -> None:
    queue = scheduler(long("ab"))
    assert queue.to_encode() == "ab"
    queue.add(arrived("c"))
    queue.make_ready("ab")
    assert queue.to_encode() == "c"
    assert queue.admitted(0) == "ab"


def test_long_sentences_are_passed_only_so_often() -> None:
    queue = scheduler(long("a"), max_overtakes=2)
    queue.add(arrived("xyz"))
    assert queue.to_encode() == "xyaz"


def test_nobody_joins_before_being_encoded_nor_before_an_older_one() -> None:
    queue = scheduler(arrived("abc"))
    assert queue.admitted(0) == ""
    queue.make_ready("a")
    assert queue.admitted(0) == "a"
    queue.make_ready("bc")
    assert queue.admitted(0) == "bc"


def test_one_run_encodes_a_bounded_number_of_tokens_but_always_someone() -> None:
    queue = scheduler(arrived("abcde", tokens=100))
    assert queue.to_encode() == "ab"
    queue.make_ready("ab")
    assert queue.to_encode() == "cd"
    assert scheduler(arrived("a", tokens=500)).to_encode() == "a"
    assert len(scheduler(arrived("a" * 100, tokens=1)).to_encode()) == 32
    assert scheduler([]).to_encode() == ""


def test_only_so_much_is_encoded_ahead_and_more_of_short_sentences() -> None:
    queue = scheduler([*encoded("abcd", tokens=150), *long("x")], rows=8)
    assert queue.to_encode() == ""
    queue.add(arrived("e"))
    assert queue.to_encode() == "e"
    queue.make_ready("e")
    assert queue.admitted(4) == "abcd"
    assert queue.to_encode() == "x"
    assert scheduler([*encoded("abcd", tokens=300), *arrived("e")]).to_encode() == ""


def test_a_sentence_is_encoded_at_once_while_few_are_running() -> None:
    for running in (0, 4):
        queue = scheduler(arrived("a", since=7.0))
        assert queue.can_encode(7.0, running)
        assert queue.to_encode(7.0, running) == "a"
        assert not queue.can_encode(7.0, running)


def test_the_more_are_running_the_longer_sentences_gather_but_never_beyond_the_bound() -> None:
    queue = scheduler(arrived("a", since=7.0))
    assert queue.to_encode(7.0, running=12) == ""
    queue.add(arrived("bc", since=7.004))
    assert not queue.can_encode(7.006, running=12)
    later = 7.001 + gathering_seconds(12)
    assert not queue.can_encode(later, running=40)
    assert queue.to_encode(later, running=12) == "abc"
    assert scheduler(arrived("a", since=7.0)).to_encode(7.001 + LONGEST_GATHER, running=1000) == "a"


def test_enough_tokens_and_near_deadlines_end_the_gathering() -> None:
    assert scheduler(arrived("abcd", tokens=16)).to_encode(0.0, running=40) == "abcd"
    assert scheduler(arrived("abc", tokens=16)).to_encode(0.0, running=40) == ""
    assert scheduler([*arrived("a"), *arrived("b", deadline=0.5)]).to_encode(0.0, running=40) == "ab"
    assert scheduler(arrived("a", deadline=30.0)).to_encode(0.0, running=40) == ""


def test_discarding_takes_out_those_who_wait_and_gives_their_room_back() -> None:
    queue = scheduler(encoded("abc"))
    assert queue.discard("b") == "b"
    assert (queue.scheduler.tokens, queue.scheduler.ready) == (10, 2)
    assert queue.admitted(0) == "ac"


def test_room_is_counted_in_sentences_and_tokens_unless_nobody_waits() -> None:
    queue = scheduler(encoded("a", tokens=10), queued_sentences=3, queued_tokens=100)
    assert queue.scheduler.has_room(2, 90)
    assert not queue.scheduler.has_room(3, 10)
    assert not queue.scheduler.has_room(1, 91)
    assert scheduler([], queued_sentences=3).scheduler.has_room(50, 10)


class Arrival(NamedTuple):
    step: int
    rows: int
    tokens: int


@settings(deadline=None, max_examples=60)
@given(
    arrivals=st.lists(
        st.builds(Arrival, st.integers(0, 30), st.integers(1, 8), st.integers(1, 80)), min_size=1, max_size=60
    ),
    rows=st.integers(8, 24),
    sentences=st.integers(1, 12),
    max_overtakes=st.integers(0, 5),
)
@example(arrivals=[Arrival(0, 1, 1)] * 7 + [Arrival(0, 1, 2)] * 2, rows=8, sentences=12, max_overtakes=0)
def test_the_budget_holds_and_everybody_is_served_in_bounded_time(
    arrivals: list[Arrival], rows: int, sentences: int, max_overtakes: int
) -> None:
    queue = Scheduler(Budget(rows=rows, sentences=sentences, max_overtakes=max_overtakes))
    order = sorted(range(len(arrivals)), key=lambda index: (arrivals[index].step, -arrivals[index].tokens))
    running: dict[int, int] = {}  # sentence → step at which it ends
    passed_by = dict.fromkeys(order, 0)
    waiting = order.copy()  # those who have come and those who will
    stays = 5
    for step in range(31 + len(arrivals) * (stays + 1)):
        coming = [
            waiting_for(index, each.rows, each.tokens, each.tokens < 16)
            for index, each in enumerate(arrivals)
            if each.step == step
        ]
        for sentence in coming:
            sentence.ready = True
        queue.add(coming)
        running = {index: end for index, end in running.items() if end > step}
        load = sum(arrivals[index].rows for index in running)
        admitted = [each.id for each in queue.plan(float(step), load, len(running)).admitted]
        for index in admitted:
            running[index] = step + stays
            for older in waiting[: waiting.index(index)]:
                passed_by[older] += older not in admitted
        waiting = [index for index in waiting if index not in admitted]
        assert sum(arrivals[index].rows for index in running) <= rows
    assert waiting == []
    # Those passed in one plan are at most as many as fit, and the count is looked at after each of them.
    assert max(passed_by.values()) <= max_overtakes + 1


def test_it_follows_a_model_that_becomes_slower_and_skips_idle_hours() -> None:
    throughput = ThroughputEstimator()
    for at in range(100):
        throughput.round(0.1 * at, left=10, waiting=500)
    throughput.round(10.0, left=10, waiting=0)
    for at in range(400):
        throughput.round(7200 + 0.1 * at, left=1, waiting=500)  # a tenth of it, two hours later
    assert throughput.seconds_for(100) == pytest.approx(10, rel=0.3)
