"""Links of training pairs: kept flat, turned into what attention should be."""

from pathlib import Path

import pytest
import torch

from training.data.links import LinkTable, attention_targets


def test_a_table_comes_back_from_its_file(tmp_path: Path) -> None:
    sentences = [frozenset({(0, 1), (2, 0)}), frozenset[tuple[int, int]](), frozenset({(3, 3)})]

    LinkTable.of(sentences).save(tmp_path / "links.npz")
    table = LinkTable.load(tmp_path / "links.npz")

    assert [frozenset(map(tuple, table[i].tolist())) for i in range(len(table))] == sentences


def test_a_missing_table_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="training links"):
        LinkTable.load(tmp_path / "links.npz")


def test_a_target_token_with_two_links_shares_its_weight() -> None:
    table = LinkTable.of([frozenset({(0, 0), (2, 0), (1, 1)})])

    wanted = attention_targets([table[0]], target=3, source=4)

    expected = torch.tensor([[[0.5, 0, 0.5, 0], [0, 1, 0, 0], [0, 0, 0, 0]]])
    torch.testing.assert_close(wanted, expected)
