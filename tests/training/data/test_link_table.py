"""Links of training pairs: kept flat, turned into what attention should be."""

from pathlib import Path

import numpy as np
import pytest
import torch

from training.data.dataset import EncodedPairs, Side
from training.data.link_table import LinkTable, attention_targets
from training.runs.fingerprint import PreparedError


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
