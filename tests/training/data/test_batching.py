"""Batches: within budget, complete, the same for the same seed, divided among processes, with their links."""

from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from training.data.batching import Batch, TokenBatches, ordered_batches, plan_epoch
from training.data.dataset import EncodedPairs, Side, epoch_entries
from training.data.link_table import LinkTable, attention_targets
from training.runs.fingerprint import PreparedError
from training.trainer.data import _Stream, loader


def pairs(count: int, seed: int, longest: int = 20) -> EncodedPairs:
    random = np.random.default_rng(seed)

    def side() -> Side:
        offsets = np.cumsum([0, *random.integers(1, longest + 1, count)])
        ids = random.integers(3, 60_000, int(offsets[-1])).astype(np.uint16)
        ids[offsets[1:] - 1] = 2
        return Side(ids, offsets)

    return EncodedPairs(side(), side())


CORPORA = [pairs(300, 1), pairs(50, 2)]


def stream(count: int, position: int = 0, rank: int = 0, processes: int = 1) -> list[Batch]:
    batches = TokenBatches(CORPORA, [1.0, 2.0], 200, seed=7)
    return list(islice(batches.stream(position, rank, processes), count))


def test_every_pair_is_seen_as_often_as_its_weight_says_and_fractions_are_drawn_anew() -> None:
    first, second = (epoch_entries([100, 40, 10], [1.0, 0.25, 2.5], seed=3, epoch=epoch).tolist() for epoch in (0, 1))
    assert first != second
    seen = Counter((corpus, pair) for corpus, pair in first)
    assert all(seen[0, i] == 1 for i in range(100))
    assert Counter(seen[1, i] for i in range(40)) == {1: 10, 0: 30}
    assert Counter(seen[2, i] for i in range(10)) == {2: 5, 3: 5}


def test_an_epoch_is_complete_within_the_budget_and_mostly_full() -> None:
    plan, again, *others = (
        plan_epoch(CORPORA, [1.0, 2.0], 200, seed, epoch) for seed, epoch in ((7, 0), (7, 0), (7, 1), (8, 0))
    )
    assert all(np.array_equal(one, other) for one, other in zip(plan, again, strict=True))
    assert not any(np.array_equal(plan[0], other[0]) for other in others)
    seen = Counter(tuple(entry) for entries in plan for entry in entries.tolist())
    assert len(seen) == 350
    assert sum(seen.values()) == 400
    batches = stream(len(plan))
    assert max(max(batch.source.numel(), batch.target_out.numel()) for batch in batches) <= 200
    assert sum(int(batch.target_lengths.sum()) for batch in batches) / (200 * len(plan)) > 0.5
    longer_than_the_budget = plan_epoch([pairs(10, 1, longest=40)], [1.0], 8, seed=1, epoch=0)
    assert sum(len(entries) for entries in longer_than_the_budget) == 10


@pytest.mark.parametrize(("position", "rank", "processes"), [(7, 0, 1), (100, 0, 1), (50, 1, 2)])
def test_a_stream_started_late_gives_what_the_whole_one_gives(position: int, rank: int, processes: int) -> None:
    whole = stream(position + 5, 0, rank, processes)
    late = stream(5, position, rank, processes)
    assert all(torch.equal(a.source, b.source) for a, b in zip(whole[position:], late, strict=True))


def test_too_few_batches_for_the_processes_is_an_error() -> None:
    batches = TokenBatches([pairs(2, 1)], [1.0], 1000, seed=1)
    with pytest.raises(ValueError, match="too few for 4 processes"):
        next(batches.stream(processes=4))


def test_ordered_batches_hold_every_pair_once_and_where_it_came_from() -> None:
    seen = []
    for indices, batch in ordered_batches(CORPORA[0], 100):
        seen += indices
        for index, row, length in zip(indices, batch.source, batch.source_lengths.tolist(), strict=True):
            assert row[:length].tolist() == CORPORA[0].source[index].tolist()
    assert sorted(seen) == list(range(300))


def corpus(lengths: list[int], first: int = 3) -> EncodedPairs:
    """Pairs whose sides have these lengths; their ids count from ``first``."""
    offsets = np.cumsum([0, *lengths])
    side = Side(np.arange(first, first + offsets[-1]).astype(np.uint16), offsets)
    return EncodedPairs(side, side)


def test_a_table_comes_back_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "links.npz"
    sentences = [frozenset({(0, 1), (2, 0)}), frozenset[tuple[int, int]](), frozenset({(3, 3)})]
    with pytest.raises(FileNotFoundError, match="training links"):
        LinkTable.load(path, corpus([3, 1, 4]))
    LinkTable.of(sentences).save(path, corpus([3, 1, 4]))
    table = LinkTable.load(path, corpus([3, 1, 4]))
    assert [frozenset(map(tuple, table[i].tolist())) for i in range(len(table))] == sentences
    wrong = r"links\.npz does not belong to the prepared text: run `python -m training links` again"
    for other in (corpus([3, 1, 4], first=9), corpus([3, 1, 4, 1])):
        with pytest.raises(PreparedError, match=wrong):
            LinkTable.load(path, other)


def test_a_target_token_with_two_links_shares_its_weight() -> None:
    table = LinkTable.of([frozenset({(0, 0), (2, 0), (1, 1)})])
    wanted = attention_targets([table[0]], target=3, source=4)
    expected = torch.tensor([[[0.5, 0, 0.5, 0], [0, 1, 0, 0], [0, 0, 0, 0]]])
    torch.testing.assert_close(wanted, expected)


@pytest.mark.slow
def test_a_process_of_its_own_gives_the_same_batches() -> None:
    links = LinkTable.of([frozenset({(0, 1), (2, 3)})] * 100)
    stream = _Stream(TokenBatches([corpus([4] * 100)], [1.0], 40, seed=1, links=[links]), 3, 0, 1)
    own, apart = (list(islice(iter(loader(stream, beside)), 5)) for beside in (False, True))
    for one, other in zip(own, apart, strict=True):
        assert torch.equal(one.source, other.source)
        assert torch.equal(one.target_out, other.target_out)
        assert one.links is not None
        assert other.links is not None
        assert torch.equal(one.links, other.links)
