"""Masks by lengths: of rows, and of single queries as in d2l.ai's masked softmax."""

import pytest
import torch

from training.networks.attention import masked_softmax, valid_positions


@pytest.mark.parametrize(
    ("lengths", "seen"),
    [
        ([2, 3], [[[1, 1, 0, 0]] * 2, [[1, 1, 1, 0]] * 2]),
        ([[1, 3], [2, 4]], [[[1, 0, 0, 0], [1, 1, 1, 0]], [[1, 1, 0, 0], [1, 1, 1, 1]]]),
    ],
    ids=["of rows", "of single queries"],
)
def test_no_weight_lies_beyond_the_length(lengths: list[int] | list[list[int]], seen: list[list[list[int]]]) -> None:
    given = torch.tensor(lengths)
    valid = valid_positions(given, 4)
    weights = masked_softmax(torch.rand(2, 2, 4), valid if given.ndim == 2 else valid[:, None])
    assert (weights > 0).int().tolist() == seen
    assert torch.allclose(weights.sum(-1), torch.ones(2, 2))
