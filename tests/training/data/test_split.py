"""Which sentences are held out of training, and samples of them in which every corpus has its share."""

import random
from collections import Counter

import pytest

from training.data.split import held_out, sentence_hash, shares, split, spread, subset

PAIRS = [(f"Sentence number {i // 3}.", f"Phrase {i}.") for i in range(90)]
"""Each English sentence three times, as Tatoeba has it."""


def test_no_held_out_sentence_is_trained_on() -> None:
    training, development = split(PAIRS, held_out(PAIRS, 10))
    assert len(development) == 10
    assert len(training) == 90 - 30
    assert not {source for source, _ in training} & {source for source, _ in development}
    pairs = [("Go.", "Va !"), ("go", "allez"), ("GO!", "Vas-y !")]  # one sentence, in other case and with other marks
    assert split(pairs, held_out(pairs, 1)) == ([], [("Go.", "Va !")])


def test_choices_are_stable() -> None:
    before = held_out(PAIRS, 10)
    assert held_out(random.Random(0).sample(PAIRS, len(PAIRS)), 10) == before
    assert len(held_out([*PAIRS, ("Something new.", "Du neuf.")], 10) & before) >= 9
    assert sentence_hash("Go.") == sentence_hash("go !") == 3811555861924027547  # on every machine
    assert subset(PAIRS, None) == subset(PAIRS, 1000) == PAIRS
    assert len(subset(PAIRS, 17)) == 17
    assert set(subset(PAIRS, 15)) <= set(subset(PAIRS, 30))


@pytest.mark.parametrize(
    ("sizes", "count", "expected"),
    [
        ([1500, 200, 50], 400, [343, 46, 11]),
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
