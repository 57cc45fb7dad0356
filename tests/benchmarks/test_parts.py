"""The parts of the measurements that decide something: arrivals, percentiles, the search for a rate, tables."""

import gzip
import itertools
import json
import math
import os
from pathlib import Path

import pytest

from benchmarks.corpora import load_corpus
from benchmarks.load.__main__ import Rows, with_repeats
from benchmarks.load.arrivals import fine_rates, percentile, poisson, should_raise_rate, verdict
from benchmarks.load.processor_time import Usage
from benchmarks.tables import markdown, put


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


def test_near_the_edge_rates_rise_by_a_twentieth_and_stay_below_the_one_that_failed() -> None:
    assert list(fine_rates(100.0, 1.12)) == pytest.approx([105.0, 110.25])
    assert list(fine_rates(0.0, 1.12)) == []


def test_a_measurement_is_in_the_file_before_the_next_one_begins(tmp_path: Path) -> None:
    rows = Rows(tmp_path / "bench" / "load.json")
    for rate in (50, 56):
        rows.add([{"rate": rate}])
        assert json.loads((tmp_path / "bench" / "load.json").read_text())[-1] == {"rate": rate}
    assert len(rows) == 2


def test_sentences_are_spread_over_the_test_set(tmp_path: Path) -> None:
    lines = "".join(f"source {number}\ttarget {number}\n" for number in range(100))
    (tmp_path / "some.en-fr.tsv.gz").write_bytes(gzip.compress(lines.encode()))
    corpus = load_corpus("some", "en-fr", 4, tmp_path)
    assert corpus.sources == ["source 0", "source 25", "source 50", "source 75"]
    assert corpus.references[1] == "target 25"


def test_without_the_test_set_our_own_sentences_are_used(tmp_path: Path) -> None:
    corpus = load_corpus("some", "en-fr", 30, tmp_path)
    assert (corpus.name, len(corpus.sources), len(corpus.references)) == ("own", 30, 30)


def test_a_table_is_replaced_where_it_stands(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n<!-- a -->\nold\n<!-- /a -->\n\nafter\n", encoding="utf-8")
    put("a", markdown(("what", "ms"), [("x", 1.5)]), page)
    put("b", "second", page)
    text = page.read_text(encoding="utf-8")
    assert "old" not in text
    assert text.index("| x | 1.5 |") < text.index("after") < text.index("second")
    assert "| --- | ---: |" in text


def test_a_stream_with_repeats_has_so_many_of_recent_texts() -> None:
    texts = [f"text {number}" for number in range(2000)]
    stream = with_repeats(texts, 0.3)
    assert list(dict.fromkeys(stream)) == texts
    assert len(stream) == pytest.approx(2000 / 0.7, rel=0.05)
    seen: list[str] = []
    for text in stream:
        assert text not in seen or text in seen[-200:]
        seen.append(text)


def test_what_other_programs_use_is_what_the_measured_ones_do_not() -> None:
    before = Usage(clock=10.0, busy=5.0, processes={1: 1.0, 2: 0.5}, client=0.2)
    after = Usage(clock=14.0, busy=12.0, processes={1: 4.0, 2: 0.5}, client=0.7)
    cores = os.cpu_count() or 1
    assert after.others_since(before) == pytest.approx((7.0 - 3.0 - 0.5) / (4.0 * cores))
    assert before.others_since(before._replace(clock=9.0)) == 0.0
    assert Usage.of([os.getpid()]).busy >= 0.0
