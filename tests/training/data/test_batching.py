"""Batches: within budget, complete, the same for the same seed, divided among processes."""

from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from training.data.batching import TokenBatches, collate, epoch_entries, ordered_batches, plan_epoch
from training.data.dataset import EncodedPairs, Side


def pairs(count: int, seed: int, longest: int = 20) -> EncodedPairs:
    """Random pairs; the first token of a source is unlikely to repeat within a corpus of this size."""
    random = np.random.default_rng(seed)

    def side() -> Side:
        lengths = random.integers(1, longest + 1, count)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        ids = random.integers(3, 60_000, int(offsets[-1])).astype(np.uint16)
        ids[offsets[1:] - 1] = 2
        return Side(ids, offsets)

    return EncodedPairs(side(), side())


CORPORA = [pairs(300, 1), pairs(50, 2)]


def stream(count: int, position: int = 0, rank: int = 0, processes: int = 1) -> list[torch.Tensor]:
    """Return the sources of some batches."""
    batches = TokenBatches(CORPORA, [1.0, 2.0], 200, seed=7)
    return [batch.source for batch in islice(batches.stream(position, rank, processes), count)]


def test_every_pair_is_seen_as_often_as_its_weight_says() -> None:
    entries = epoch_entries([100, 40, 10], [1.0, 0.25, 2.5], seed=3, epoch=0)
    seen = Counter((corpus, pair) for corpus, pair in entries.tolist())
    assert all(seen[0, i] == 1 for i in range(100))
    assert Counter(seen[1, i] for i in range(40)) == {1: 10, 0: 30}
    assert Counter(seen[2, i] for i in range(10)) == {2: 5, 3: 5}


def test_a_fraction_is_drawn_anew_every_epoch() -> None:
    first, second = (epoch_entries([400], [0.25], seed=3, epoch=epoch).tolist() for epoch in (0, 1))
    assert first != second


def test_batches_keep_the_budget_on_both_sides() -> None:
    for entries in plan_epoch(CORPORA, [1.0, 2.0], 200, seed=1, epoch=0):
        batch = collate(
            [CORPORA[c].source[i] for c, i in entries.tolist()], [CORPORA[c].target[i] for c, i in entries.tolist()]
        )
        assert batch.source.numel() <= 200
        assert batch.target_out.numel() <= 200


def test_a_pair_longer_than_the_budget_is_a_batch_of_its_own() -> None:
    batches = plan_epoch([pairs(10, 1, longest=40)], [1.0], 8, seed=1, epoch=0)
    assert sum(len(entries) for entries in batches) == 10


def test_an_epoch_is_complete_and_mostly_full() -> None:
    batches = plan_epoch(CORPORA, [1.0, 2.0], 200, seed=1, epoch=0)
    seen = Counter(tuple(entry) for entries in batches for entry in entries.tolist())
    assert len(seen) == 350
    assert sum(seen.values()) == 400
    lengths = [CORPORA[c].target.lengths[i] for entries in batches for c, i in entries.tolist()]
    assert sum(lengths) / (200 * len(batches)) > 0.5


def test_the_plan_depends_on_seed_and_epoch_alone() -> None:
    def plan(seed: int, epoch: int) -> list[list[list[int]]]:
        return [entries.tolist() for entries in plan_epoch(CORPORA, [1.0, 2.0], 200, seed, epoch)]

    assert plan(1, 0) == plan(1, 0)
    assert plan(1, 0) != plan(1, 1)
    assert plan(1, 0) != plan(2, 0)


@pytest.mark.parametrize("position", [0, 1, 7, 40, 100])
def test_a_stream_started_late_gives_what_the_whole_one_gives(position: int) -> None:
    whole = stream(position + 5)
    late = stream(5, position)
    assert all(torch.equal(a, b) for a, b in zip(whole[position:], late, strict=True))


def test_processes_share_an_epoch_without_overlap() -> None:
    plan = plan_epoch(CORPORA, [1.0, 2.0], 200, 7, 0)
    each = len(plan) // 2
    halves = [stream(each, rank=rank, processes=2) for rank in (0, 1)]
    whole = stream(2 * each)
    for step, (first, second) in enumerate(zip(*halves, strict=True)):
        assert torch.equal(first, whole[2 * step])
        assert torch.equal(second, whole[2 * step + 1])


def test_processes_resume_where_they_were() -> None:
    whole = stream(60, rank=1, processes=2)
    late = stream(10, position=50, rank=1, processes=2)
    assert all(torch.equal(a, b) for a, b in zip(whole[50:], late, strict=True))


def test_too_few_batches_for_the_processes_is_an_error() -> None:
    batches = TokenBatches([pairs(2, 1)], [1.0], 1000, seed=1)
    with pytest.raises(ValueError, match="too few for 4 processes"):
        next(batches.stream(processes=4))


def test_collating_shifts_the_target_behind_the_begin_token() -> None:
    batch = collate([np.array([5, 6, 2], np.uint16), np.array([7, 2], np.uint16)], [np.array([8, 2], np.uint16)] * 2)
    assert batch.source.tolist() == [[5, 6, 2], [7, 2, 0]]
    assert batch.source_lengths.tolist() == [3, 2]
    assert batch.target_in.tolist() == [[1, 8]] * 2
    assert batch.target_out.tolist() == [[8, 2]] * 2
    assert batch.to(torch.device("cpu")).target_lengths.tolist() == [2, 2]


def test_ordered_batches_hold_every_pair_once_and_where_it_came_from() -> None:
    seen = []
    for indices, batch in ordered_batches(CORPORA[0], 100):
        seen += indices
        for index, row, length in zip(indices, batch.source, batch.source_lengths.tolist(), strict=True):
            assert row[:length].tolist() == CORPORA[0].source[index].tolist()
    assert sorted(seen) == list(range(300))


def test_encoded_pairs_survive_the_disk(tmp_path: Path) -> None:
    CORPORA[1].save(tmp_path / "pairs.npz")
    loaded = EncodedPairs.load(tmp_path / "pairs.npz")
    assert len(loaded) == 50
    assert all(np.array_equal(loaded.target[i], CORPORA[1].target[i]) for i in range(50))
