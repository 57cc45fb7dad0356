"""Attention pooling: kernels against their formulas and the learned width."""

import numpy as np
import pytest
import torch

from training.pooling import KernelPooling, learn_width, make_examples, pooling_error, pooling_weights

KEYS = torch.tensor([0.0, 1.0, 3.0], dtype=torch.float64)
QUERIES = torch.tensor([0.5, 2.9], dtype=torch.float64)
DISTANCES = ((0.25**2, 0.25**2, 1.25**2), (1.45**2, 0.95**2, 0.05**2))
"""Squares of the distances of each query to the keys, in widths of 2."""


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("average", [[1 / 3] * 3, [1 / 3] * 3]),
        ("boxcar", [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]),
        ("triangular", [[0.5, 0.5, 0.0], [0.0, 0.05, 0.95]]),
        ("gaussian", [np.exp(-np.array(d) / 2) / np.exp(-np.array(d) / 2).sum() for d in DISTANCES]),
        ("epanechnikov", [[0.5, 0.5, 0.0], [0.0, 0.0975 / (0.0975 + 0.9975), 0.9975 / (0.0975 + 0.9975)]]),
    ],
)
def test_a_kernel_weighs_keys_as_its_formula_says(kernel: str, expected: list[list[float]]) -> None:
    weights = pooling_weights(QUERIES, KEYS, kernel, 2.0)
    np.testing.assert_allclose(weights, expected, atol=1e-12)


def test_the_learned_width_predicts_left_out_values_better_than_half_or_twice_of_it() -> None:
    examples = make_examples()
    width = learn_width(examples)

    def error(of: float) -> float:
        return pooling_error(KernelPooling(examples, "gaussian", of), left_out=True).item()

    assert 0.1 < width < 1.0
    assert error(width) < min(error(width / 2), error(2 * width))
