"""A sample of the development data has every corpus in its share."""

from collections import Counter

import pytest

from training.data.split import shares, spread


@pytest.mark.parametrize(
    ("sizes", "count", "expected"),
    [
        ([1500, 200, 50], 400, [343, 46, 11]),
        ([600, 300], 500, [333, 167]),
        ([1500, 200, 200, 50, 200], 400, [279, 37, 37, 10, 37]),
        ([30, 20], 500, [30, 20]),
        ([10_000, 1], 10, [9, 1]),
    ],
)
def test_each_corpus_has_its_share_and_at_least_one(sizes: list[int], count: int, expected: list[int]) -> None:
    assert shares(sizes, count) == expected


def test_sentences_are_spread_over_each_corpus() -> None:
    corpora = ["general"] * 600 + ["domain"] * 300

    chosen = spread(corpora, 9)

    assert Counter(corpora[i] for i in chosen) == {"general": 6, "domain": 3}
    assert chosen == sorted(set(chosen))
    assert {0, 599, 600, 899} <= set(chosen)
