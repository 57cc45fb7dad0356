"""The parts of the measurements that decide something: arrivals, percentiles, the search for a rate, tables."""

import itertools
import math
import os

import pytest

from benchmarks.load.arrivals import percentile, poisson, should_raise_rate, verdict
from benchmarks.load.processor_time import Usage


def test_arrivals_have_the_rate_and_the_spread_of_independent_ones() -> None:
    moments = list(poisson(50, 200, seed=1))
    assert moments == sorted(moments)
    assert len(moments) == pytest.approx(50 * 200, rel=0.05)
    gaps = [after - before for before, after in itertools.pairwise(moments)]
    mean = sum(gaps) / len(gaps)
    deviation = math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / len(gaps))
    assert deviation == pytest.approx(mean, rel=0.1)  # as an exponential distribution has it
    assert moments == list(poisson(50, 200, seed=1))


def test_percentiles_are_values_that_were_measured() -> None:
    values = [float(number) for number in range(1, 101)]
    assert [percentile(values, share) for share in (0.5, 0.99)] == [50, 99]
    assert percentile([], 0.99) == math.inf


def test_one_bad_moment_does_not_decide_whether_a_rate_is_held() -> None:
    held = ([False], [False, True], [False, True, True], [True, True], [True, False, False])
    assert [verdict(each) for each in held] == [None, None, True, True, False]


def test_a_climb_ends_after_two_rates_in_a_row_that_were_not_held() -> None:
    assert all(map(should_raise_rate, ([], [False], [False, True, False])))
    assert not should_raise_rate([True, False, False])


def test_what_other_programs_use_is_what_the_measured_ones_do_not() -> None:
    before = Usage(clock=10.0, busy=5.0, processes={1: 1.0, 2: 0.5}, client=0.2)
    after = Usage(clock=14.0, busy=12.0, processes={1: 4.0, 2: 0.5}, client=0.7)
    cores = os.cpu_count() or 1
    assert after.others_since(before) == pytest.approx((7.0 - 3.0 - 0.5) / (4.0 * cores))
    assert before.others_since(before._replace(clock=9.0)) == 0.0
    assert Usage.of([os.getpid()]).busy >= 0.0
