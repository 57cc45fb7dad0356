"""Batches from a separate process, as with a GPU, are the same."""

from itertools import islice

import numpy as np
import pytest
import torch

from training.data.batching import Batch, TokenBatches
from training.data.dataset import EncodedPairs, Side
from training.data.link_table import LinkTable
from training.trainer.data import _Stream, loader


@pytest.mark.slow
def test_a_process_of_its_own_gives_the_same_batches() -> None:
    offsets = np.arange(0, 401, 4)
    side = Side(np.random.default_rng(0).integers(3, 99, 400).astype(np.uint16), offsets)
    links = LinkTable.of([frozenset({(0, 1), (2, 3)})] * 100)
    stream = _Stream(TokenBatches([EncodedPairs(side, side)], [1.0], 40, seed=1, links=[links]), 3, 0, 1)

    def first(beside: bool) -> list[Batch]:
        return list(islice(iter(loader(stream, beside)), 5))

    for own, other in zip(first(beside=False), first(beside=True), strict=True):
        assert torch.equal(own.source, other.source)
        assert torch.equal(own.target_out, other.target_out)
        assert own.links is not None
        assert other.links is not None
        assert torch.equal(own.links, other.links)
