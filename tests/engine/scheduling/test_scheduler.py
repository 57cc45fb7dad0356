"""Admission to the batch: the budget holds, order is kept, and no sentence waits forever."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.engine.scheduling.division import Division, share_of
from service.engine.scheduling.scheduler import LONGEST_GATHER, Budget, Plan, Scheduler, Waiting, gathering_seconds


def scheduler(entries: list[Waiting[str]], **budget: int) -> Scheduler[str]:
    made: Scheduler[str] = Scheduler(Budget(**budget))
    made.add(entries)
    return made


def waiting(name: str, rows: int = 1, tokens: int = 5, deadline: float | None = None) -> Waiting[str]:
    return Waiting(name, rows, tokens, deadline, short=True, ready=True)


def unprepared(names: str, tokens: int) -> list[Waiting[str]]:
    return [Waiting(name, 1, tokens, short=True) for name in names]


def test_the_default_budget_holds_forty_sentences_of_four_rows() -> None:
    queue = scheduler([waiting(str(index), rows=4) for index in range(100)])
    assert len(queue.plan(0.0, 0).admitted) >= 40


def test_the_oldest_are_admitted_first_while_rows_last() -> None:
    queue = scheduler([waiting(name, rows=4) for name in "abcd"], rows=12)
    assert queue.plan(0.0, 0).admitted == ["a", "b", "c"]
    assert queue.plan(0.0, 12).admitted == []
    assert queue.plan(0.0, 8).admitted == ["d"]


def test_the_longest_sentence_of_a_request_is_first_and_requests_keep_their_order() -> None:
    queue = scheduler([waiting("short", tokens=3), waiting("long", tokens=9), waiting("other", tokens=3)])
    queue.add([waiting("longest", tokens=30)])
    assert queue.plan(0.0, 0).admitted == ["long", "short", "other", "longest"]


def test_a_thread_with_its_share_leaves_the_rest_to_others() -> None:
    queue = scheduler([waiting(name, rows=4) for name in "abcdef"], rows=64)
    assert queue.ready_rows == 24
    assert queue.plan(0.0, 0, most=32, share=12).admitted == ["a", "b", "c"]
    assert queue.plan(0.0, 12, most=32, share=12).admitted == []
    assert queue.plan(0.0, 0, most=32, share=1).admitted == ["d"]
    assert queue.plan(0.0, 28, most=32, share=40).admitted == ["e"]


@pytest.mark.parametrize(
    ("rows", "first_rows", "shares"),
    [(0, 0, [0, 0]), (9, 0, [5, 4]), (40, 48, [40, 0]), (60, 48, [48, 12]), (120, 48, [60, 60]), (160, 48, [80, 80])],
)
def test_the_shares_of_two_threads(rows: int, first_rows: int, shares: list[int]) -> None:
    assert [share_of(number, rows, 2, first_rows) for number in range(2)] == shares


@given(st.integers(0, 500), st.integers(1, 6), st.integers(0, 100))
def test_shares_are_all_the_rows_and_later_threads_have_no_more(rows: int, threads: int, first_rows: int) -> None:
    shares = [share_of(number, rows, threads, first_rows) for number in range(threads)]
    assert sum(shares) == rows
    assert shares == sorted(shares, reverse=True)


def test_the_second_thread_has_no_work_while_the_first_runs_few_rows() -> None:
    queue = scheduler([waiting(name, rows=4) for name in "abc"], rows=64)
    division = Division(queue, threads=2, first_rows=8)
    assert division.plan(1, 0.0, 4, 1).admitted == ["a"]  # of 16 rows, 8 are the second thread's, which runs 4
    assert division.plan(0, 0.0, 0, 0).admitted == ["b", "c"]
    queue.add([waiting("d", rows=4)])
    division.note(0, 4, 1)
    division.note(1, 0, 0)
    assert not division.has_work(1)
    assert division.has_work(0)
    division.note(0, 8, 2)
    assert division.has_work(1)
    assert division.plan(0, 0.0, 8, 2).admitted == []
    assert division.plan(1, 0.0, 0, 0).admitted == ["d"]


def test_a_small_one_may_pass_a_large_one_that_does_not_fit_yet() -> None:
    queue = scheduler([waiting("large", rows=8), waiting("small", rows=1)], rows=8)
    assert queue.plan(0.0, 4).admitted == ["small"]
    assert queue.plan(0.0, 0).admitted == ["large"]


def test_a_large_one_is_passed_only_so_often() -> None:
    queue = scheduler([waiting("large", rows=8)], rows=8, max_overtakes=3)
    for index in range(10):
        queue.add([waiting(str(index))])
    assert queue.plan(0.0, 4).admitted == ["0", "1", "2"]
    assert queue.plan(0.0, 3).admitted == []
    assert queue.plan(0.0, 0).admitted == ["large"]


def long(names: str, ready: bool = False) -> list[Waiting[str]]:
    return [Waiting(name, 4, 30, ready=ready) for name in names]


def test_rows_are_kept_for_short_sentences() -> None:
    queue = scheduler(long("abcdefghijklmnopqrst", ready=True), rows=64)
    assert len(queue.plan(0.0, 0).admitted) == 15
    queue.add([waiting("short", rows=4)])
    assert queue.plan(0.0, 60).admitted == ["short"]


def test_a_short_sentence_is_encoded_before_long_ones() -> None:
    queue = scheduler(long("1234"))
    queue.add(unprepared("ab", 5))
    queue.add([*long("5"), *unprepared("c", 5)])
    assert queue.to_encode() == ["a", "b", "c", "1", "2", "3", "4", "5"]


def test_those_whom_the_encoder_has_taken_are_passed_by_nobody() -> None:
    queue = scheduler(long("ab"))
    assert queue.to_encode() == ["a", "b"]
    queue.add(unprepared("c", 5))
    queue.make_ready({"a", "b"})
    assert queue.to_encode() == ["c"]
    assert queue.plan(0.0, 0).admitted == ["a", "b"]


def test_long_sentences_are_passed_only_so_often() -> None:
    queue = scheduler(long("a"), max_overtakes=2)
    queue.add(unprepared("xyz", 5))
    assert queue.to_encode() == ["x", "y", "a", "z"]


def test_nobody_joins_before_being_encoded_nor_before_an_older_one() -> None:
    queue = scheduler(unprepared("abc", 5))
    assert queue.plan(0.0, 0).admitted == []
    queue.make_ready({"a"})
    assert queue.plan(0.0, 0).admitted == ["a"]
    queue.make_ready({"gone", "b", "c"})
    assert queue.plan(0.0, 0).admitted == ["b", "c"]


def test_one_run_encodes_a_bounded_number_of_tokens_but_always_someone() -> None:
    queue = scheduler(unprepared("abcde", 100))
    assert queue.to_encode() == ["a", "b"]
    queue.make_ready({"a", "b"})
    assert queue.to_encode() == ["c", "d"]
    assert scheduler(unprepared("a", 500)).to_encode() == ["a"]
    assert len(scheduler(unprepared("a" * 100, 1)).to_encode()) == 32
    assert scheduler([]).to_encode() == []


def arrived(names: str, since: float, tokens: int = 5, deadline: float | None = None) -> list[Waiting[str]]:
    return [Waiting(name, 4, tokens, deadline, short=True, since=since) for name in names]


def test_a_sentence_is_encoded_at_once_while_few_are_running() -> None:
    for running in range(5):
        queue = scheduler(arrived("a", since=7.0))
        assert queue.can_encode(7.0, running)
        assert queue.to_encode(7.0, running) == ["a"]
        assert not queue.can_encode(7.0, running)


def test_sentences_gather_under_load_and_are_encoded_together() -> None:
    queue = scheduler(arrived("a", since=7.0))
    assert queue.to_encode(7.0, running=12) == []
    queue.add(arrived("bc", since=7.004))
    assert not queue.can_encode(7.006, running=12)
    assert queue.to_encode(7.001 + gathering_seconds(12), running=12) == ["a", "b", "c"]
    assert queue.to_encode(8.0, running=12) == []


def test_the_more_are_running_the_longer_a_sentence_waits_but_never_beyond_the_bound() -> None:
    waits = [gathering_seconds(running) for running in range(60)]
    assert waits == sorted(waits)
    assert waits[0] == 0.0
    assert waits[8] < waits[12] < waits[-1] == LONGEST_GATHER
    assert scheduler(arrived("a", since=7.0)).to_encode(7.001 + LONGEST_GATHER, running=1000) == ["a"]


def test_enough_tokens_and_near_deadlines_end_the_gathering() -> None:
    assert scheduler(arrived("abcd", since=7.0, tokens=16)).to_encode(7.0, running=40) == ["a", "b", "c", "d"]
    assert scheduler(arrived("abc", since=7.0, tokens=16)).to_encode(7.0, running=40) == []
    queue = scheduler([*arrived("a", since=7.0), *arrived("b", since=7.0, deadline=7.5)])
    assert queue.to_encode(7.0, running=40) == ["a", "b"]
    assert scheduler(arrived("a", since=7.0, deadline=37.0)).to_encode(7.0, running=40) == []


def test_cancelled_sentences_leave_while_they_gather() -> None:
    queue = scheduler(arrived("abc", since=7.0))
    assert queue.to_encode(7.0, running=40) == []
    assert queue.discard({"a", "c"}) == ["a", "c"]
    assert queue.to_encode(7.001 + LONGEST_GATHER, running=40) == ["b"]


def test_only_so_much_is_encoded_ahead_and_more_of_short_sentences() -> None:
    queue = scheduler([*(waiting(name, tokens=150) for name in "abcd"), *long("x")], rows=8)
    assert queue.to_encode() == []
    queue.add(unprepared("e", 5))
    assert queue.to_encode() == ["e"]
    queue.make_ready({"e"})
    assert queue.plan(0.0, 4).admitted == ["a", "b", "c", "d"]
    assert queue.to_encode() == ["x"]
    assert scheduler([*(waiting(name, tokens=300) for name in "abcd"), *unprepared("e", 5)]).to_encode() == []


def test_whoever_fits_joins_at_once_when_nobody_else_waits() -> None:
    assert scheduler([waiting("a")], rows=16).plan(0.0, 15).admitted == ["a"]


def test_the_late_leave_with_the_next_plan_and_are_named() -> None:
    queue = scheduler([waiting("late", deadline=5.0), waiting("later", deadline=9.0), waiting("patient")])
    assert queue.plan(5.0, 256).expired == ["late"]
    assert queue.plan(6.0, 256).expired == []
    assert queue.plan(9.0, 0) == Plan(["patient"], ["later"])
    assert queue.tokens == 0


def test_discarding_takes_out_those_who_wait_and_gives_their_room_back() -> None:
    queue = scheduler([waiting(name) for name in "abc"])
    assert queue.discard({"b", "not here"}) == ["b"]
    assert queue.tokens == 10
    assert queue.plan(0.0, 0).admitted == ["a", "c"]


def test_room_is_counted_in_sentences_and_tokens() -> None:
    queue = scheduler([waiting("a", tokens=10)], queued_sentences=3, queued_tokens=100)
    assert queue.has_room(2, 90)
    assert not queue.has_room(3, 10)
    assert not queue.has_room(1, 91)


def test_a_request_larger_than_the_queue_is_taken_when_nobody_else_waits() -> None:
    assert scheduler([], queued_sentences=3).has_room(50, 10)


@pytest.mark.parametrize("wrong", [{"rows": 7}, {"max_overtakes": -1}, {"queued_tokens": 0}])
def test_a_budget_under_which_someone_would_wait_for_ever_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"must be|may need"):
        Budget(**wrong)


@settings(deadline=None, max_examples=60)
@given(
    arrivals=st.lists(st.tuples(st.integers(0, 30), st.integers(1, 8), st.integers(1, 80)), min_size=1, max_size=60),
    rows=st.integers(8, 24),
    max_overtakes=st.integers(0, 5),
)
@example(arrivals=[(0, 1, 1)] * 7 + [(0, 1, 2)] * 2, rows=8, max_overtakes=0)
def test_the_budget_holds_and_everybody_is_served_in_bounded_time(
    arrivals: list[tuple[int, int, int]], rows: int, max_overtakes: int
) -> None:
    queue: Scheduler[int] = Scheduler(Budget(rows=rows, max_overtakes=max_overtakes))
    running: dict[int, int] = {}  # sentence → step at which it ends
    passed_by = dict.fromkeys(range(len(arrivals)), 0)
    served: set[int] = set()
    stays = 5
    for step in range(31 + len(arrivals) * (stays + 1)):
        queue.add(
            Waiting(index, arrivals[index][1], arrivals[index][2], short=arrivals[index][2] < 16, ready=True)
            for index in arriving(arrivals, step)
        )
        running = {index: end for index, end in running.items() if end > step}
        plan = queue.plan(float(step), sum(arrivals[index][1] for index in running))
        for index in plan.admitted:
            running[index] = step + stays
            for other in passed_by:
                older = place_of(arrivals, other) < place_of(arrivals, index)
                passed_by[other] += older and other not in served and other not in plan.admitted
        served |= set(plan.admitted)
        assert sum(arrivals[index][1] for index in running) <= rows
    assert served == set(range(len(arrivals)))
    # Those passed in one plan are at most as many as fit, and the count is looked at after each of them.
    assert max(passed_by.values()) <= max_overtakes + 1


def place_of(arrivals: list[tuple[int, int, int]], index: int) -> tuple[int, int, int]:
    """Return what orders the queue: the arrival, then the longest sentence of a request first."""
    return arrivals[index][0], -arrivals[index][2], index


def arriving(arrivals: list[tuple[int, int, int]], step: int) -> list[int]:
    return [index for index, (when, _, _) in enumerate(arrivals) if when == step]
