"""Admission to the batch: the budget holds, order is kept, and no sentence waits forever."""

from functools import partial
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.engine.scheduling.division import share_of
from service.engine.scheduling.pending import WorkerSettings
from service.engine.scheduling.scheduler import LONGEST_GATHER, Budget, Plan, Scheduler, Waiting, gathering_seconds


def scheduler(entries: list[Waiting[str]], **budget: int) -> Scheduler[str]:
    made: Scheduler[str] = Scheduler(Budget(**budget))
    made.add(entries)
    return made


def encoded(names: str, rows: int = 1, tokens: int = 5, deadline: float | None = None) -> list[Waiting[str]]:
    return [Waiting(name, rows, tokens, deadline, short=True, ready=True) for name in names]


def arrived(
    names: str, tokens: int = 5, since: float = 0.0, deadline: float | None = None, short: bool = True
) -> list[Waiting[str]]:
    return [Waiting(name, 4, tokens, deadline, short, since) for name in names]


long = partial(arrived, tokens=30, short=False)


def test_the_longest_sentence_of_a_request_is_first_and_requests_keep_their_order() -> None:
    queue = scheduler([*encoded("s", tokens=3), *encoded("l", tokens=9), *encoded("o", tokens=3)])
    queue.add(encoded("x", tokens=30))
    assert queue.plan(0.0, 0).admitted == ["l", "s", "o", "x"]


def test_a_thread_with_its_share_leaves_the_rest_to_others() -> None:
    queue = scheduler(encoded("abcdef", rows=4), rows=64)
    assert queue.ready_rows == 24
    assert queue.plan(0.0, 0, most=32, share=12).admitted == ["a", "b", "c"]
    assert queue.plan(0.0, 12, most=32, share=12).admitted == []
    assert queue.plan(0.0, 0, most=32, share=1).admitted == ["d"]
    assert queue.plan(0.0, 28, most=32, share=40).admitted == ["e"]


@pytest.mark.parametrize(
    ("rows", "first_rows", "shares"),
    [(9, 0, [5, 4]), (40, 48, [40, 0]), (60, 48, [48, 12]), (120, 48, [60, 60]), (100, 48, [48, 48, 4])],
)
def test_the_shares_of_several_threads(rows: int, first_rows: int, shares: list[int]) -> None:
    assert [share_of(number, rows, len(shares), first_rows) for number in range(len(shares))] == shares


def test_small_ones_pass_a_large_one_that_does_not_fit_yet_but_only_so_often() -> None:
    queue = scheduler(encoded("L", rows=8), rows=8, max_overtakes=3)
    for name in "0123456789":
        queue.add(encoded(name))
    assert queue.plan(0.0, 4).admitted == ["0", "1", "2"]
    assert queue.plan(0.0, 3).admitted == []
    assert queue.plan(0.0, 0).admitted == ["L"]


def test_a_short_sentence_is_encoded_before_long_ones() -> None:
    queue = scheduler(long("1234"))
    queue.add(arrived("ab"))
    queue.add([*long("5"), *arrived("c")])
    assert queue.to_encode() == ["a", "b", "c", "1", "2", "3", "4", "5"]


def test_those_whom_the_encoder_has_taken_are_passed_by_nobody() -> None:
    queue = scheduler(long("ab"))
    assert queue.to_encode() == ["a", "b"]
    queue.add(arrived("c"))
    queue.make_ready({"a", "b"})
    assert queue.to_encode() == ["c"]
    assert queue.plan(0.0, 0).admitted == ["a", "b"]


def test_long_sentences_are_passed_only_so_often() -> None:
    queue = scheduler(long("a"), max_overtakes=2)
    queue.add(arrived("xyz"))
    assert queue.to_encode() == ["x", "y", "a", "z"]


def test_nobody_joins_before_being_encoded_nor_before_an_older_one() -> None:
    queue = scheduler(arrived("abc"))
    assert queue.plan(0.0, 0).admitted == []
    queue.make_ready({"a"})
    assert queue.plan(0.0, 0).admitted == ["a"]
    queue.make_ready({"gone", "b", "c"})
    assert queue.plan(0.0, 0).admitted == ["b", "c"]


def test_one_run_encodes_a_bounded_number_of_tokens_but_always_someone() -> None:
    queue = scheduler(arrived("abcde", tokens=100))
    assert queue.to_encode() == ["a", "b"]
    queue.make_ready({"a", "b"})
    assert queue.to_encode() == ["c", "d"]
    assert scheduler(arrived("a", tokens=500)).to_encode() == ["a"]
    assert len(scheduler(arrived("a" * 100, tokens=1)).to_encode()) == 32
    assert scheduler([]).to_encode() == []


def test_only_so_much_is_encoded_ahead_and_more_of_short_sentences() -> None:
    queue = scheduler([*encoded("abcd", tokens=150), *long("x")], rows=8)
    assert queue.to_encode() == []
    queue.add(arrived("e"))
    assert queue.to_encode() == ["e"]
    queue.make_ready({"e"})
    assert queue.plan(0.0, 4).admitted == ["a", "b", "c", "d"]
    assert queue.to_encode() == ["x"]
    assert scheduler([*encoded("abcd", tokens=300), *arrived("e")]).to_encode() == []


def test_a_sentence_is_encoded_at_once_while_few_are_running() -> None:
    for running in (0, 4):
        queue = scheduler(arrived("a", since=7.0))
        assert queue.can_encode(7.0, running)
        assert queue.to_encode(7.0, running) == ["a"]
        assert not queue.can_encode(7.0, running)


def test_the_more_are_running_the_longer_sentences_gather_but_never_beyond_the_bound() -> None:
    queue = scheduler(arrived("a", since=7.0))
    assert queue.to_encode(7.0, running=12) == []
    queue.add(arrived("bc", since=7.004))
    assert not queue.can_encode(7.006, running=12)
    later = 7.001 + gathering_seconds(12)
    assert not queue.can_encode(later, running=40)
    assert queue.to_encode(later, running=12) == ["a", "b", "c"]
    assert scheduler(arrived("a", since=7.0)).to_encode(7.001 + LONGEST_GATHER, running=1000) == ["a"]


def test_enough_tokens_and_near_deadlines_end_the_gathering() -> None:
    assert scheduler(arrived("abcd", tokens=16)).to_encode(0.0, running=40) == ["a", "b", "c", "d"]
    assert scheduler(arrived("abc", tokens=16)).to_encode(0.0, running=40) == []
    assert scheduler([*arrived("a"), *arrived("b", deadline=0.5)]).to_encode(0.0, running=40) == ["a", "b"]
    assert scheduler(arrived("a", deadline=30.0)).to_encode(0.0, running=40) == []


def test_the_late_leave_with_the_next_plan_and_are_named() -> None:
    queue = scheduler([*encoded("l", deadline=5.0), *encoded("m", deadline=9.0), *encoded("p")])
    assert queue.plan(5.0, 256).expired == ["l"]
    assert queue.plan(6.0, 256).expired == []
    assert queue.plan(9.0, 0) == Plan(["p"], ["m"])
    assert queue.tokens == 0


def test_discarding_takes_out_those_who_wait_and_gives_their_room_back() -> None:
    queue = scheduler(encoded("abc"))
    assert queue.discard({"b", "not here"}) == ["b"]
    assert (queue.tokens, queue.ready_rows) == (10, 2)
    assert queue.plan(0.0, 0).admitted == ["a", "c"]


def test_room_is_counted_in_sentences_and_tokens_unless_nobody_waits() -> None:
    queue = scheduler(encoded("a", tokens=10), queued_sentences=3, queued_tokens=100)
    assert queue.has_room(2, 90)
    assert not queue.has_room(3, 10)
    assert not queue.has_room(1, 91)
    assert scheduler([], queued_sentences=3).has_room(50, 10)


def test_settings_under_which_someone_would_wait_for_ever_are_refused() -> None:
    for wrong in ({"rows": 7}, {"max_overtakes": -1}, {"queued_tokens": 0}):
        with pytest.raises(ValueError, match=r"must be|may need"):
            Budget(**wrong)
    with pytest.raises(ValueError, match="3 decode threads need 8 rows each"):
        WorkerSettings(Budget(rows=16), inter_threads=3)


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
    max_overtakes=st.integers(0, 5),
)
@example(arrivals=[Arrival(0, 1, 1)] * 7 + [Arrival(0, 1, 2)] * 2, rows=8, max_overtakes=0)
def test_the_budget_holds_and_everybody_is_served_in_bounded_time(
    arrivals: list[Arrival], rows: int, max_overtakes: int
) -> None:
    queue: Scheduler[int] = Scheduler(Budget(rows=rows, max_overtakes=max_overtakes))
    order = sorted(range(len(arrivals)), key=lambda index: (arrivals[index].step, -arrivals[index].tokens))
    running: dict[int, int] = {}  # sentence → step at which it ends
    passed_by = dict.fromkeys(order, 0)
    waiting = order.copy()  # those who have come and those who will
    stays = 5
    for step in range(31 + len(arrivals) * (stays + 1)):
        queue.add(
            Waiting(index, each.rows, each.tokens, short=each.tokens < 16, ready=True)
            for index, each in enumerate(arrivals)
            if each.step == step
        )
        running = {index: end for index, end in running.items() if end > step}
        admitted = queue.plan(float(step), sum(arrivals[index].rows for index in running)).admitted
        for index in admitted:
            running[index] = step + stays
            for older in waiting[: waiting.index(index)]:
                passed_by[older] += older not in admitted
        waiting = [index for index in waiting if index not in admitted]
        assert sum(arrivals[index].rows for index in running) <= rows
    assert waiting == []
    # Those passed in one plan are at most as many as fit, and the count is looked at after each of them.
    assert max(passed_by.values()) <= max_overtakes + 1
