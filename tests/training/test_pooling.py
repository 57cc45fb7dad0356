"""Attention pooling: kernels against their formulas, the learned width, and the exported graph."""

import math

import numpy as np
import onnxruntime
import pytest
import torch

from service.pooling.model import GRAPH
from training.pooling import (
    KERNELS,
    KernelPooling,
    export_pooling,
    learn_width,
    make_examples,
    pooling_error,
    pooling_weights,
)

KEYS = torch.tensor([0.0, 1.0, 3.0], dtype=torch.float64)
QUERIES = torch.tensor([0.5, 2.9], dtype=torch.float64)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("average", [[1 / 3] * 3, [1 / 3] * 3]),
        ("boxcar", [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]),
        ("triangular", [[0.5, 0.5, 0.0], [0.0, 0.05, 0.95]]),
        ("epanechnikov", [[0.5, 0.5, 0.0], [0.0, 0.0975 / (0.0975 + 0.9975), 0.9975 / (0.0975 + 0.9975)]]),
    ],
)
def test_a_kernel_weighs_keys_as_its_formula_says(kernel: str, expected: list[list[float]]) -> None:
    weights = pooling_weights(QUERIES, KEYS, kernel, 2.0)
    np.testing.assert_allclose(weights, expected, atol=1e-12)


def test_the_gaussian_kernel_is_a_softmax() -> None:
    weights = pooling_weights(QUERIES, KEYS, "gaussian", 0.7)
    for row, query in enumerate(QUERIES.tolist()):
        terms = [math.exp(-(((query - key) / 0.7) ** 2) / 2) for key in KEYS.tolist()]
        np.testing.assert_allclose(weights[row], np.array(terms) / sum(terms), atol=1e-12)


def test_the_learned_width_predicts_left_out_values_better_than_half_or_twice_of_it() -> None:
    examples = make_examples()
    width = learn_width(examples)

    def error(of: float) -> float:
        return pooling_error(KernelPooling(examples, "gaussian", of), left_out=True).item()

    assert 0.1 < width < 1.0
    assert error(width) < min(error(width / 2), error(2 * width))


def test_with_each_key_among_its_own_keys_the_width_falls_towards_zero() -> None:
    """The reason for leaving one out: the error vanishes when every key attends to itself only."""
    examples = make_examples(20)
    width = learn_width(examples, left_out=False)
    assert width < learn_width(examples) / 3
    assert pooling_error(KernelPooling(examples, "gaussian", 1e-3), left_out=False).item() < 1e-6


def test_the_exported_graph_agrees_with_the_network_for_every_kernel() -> None:
    examples = make_examples(7)
    session = onnxruntime.InferenceSession(
        export_pooling(examples, dict.fromkeys(KERNELS, 0.5)).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    queries = torch.linspace(-1, 6, 9, dtype=torch.float64)
    for number, kernel in enumerate(KERNELS):
        feeds = {"queries": queries.numpy(), "width": np.array(0.8), "kernel": np.array(number)}
        fit, weights = session.run(["fit", "weights"], feeds)
        expected = KernelPooling(examples, kernel, 0.8)(queries)
        np.testing.assert_allclose(weights, expected.weights.detach(), atol=1e-12)
        np.testing.assert_allclose(fit, expected.fit.detach(), atol=1e-12)


def test_the_shipped_graph_is_what_the_command_makes() -> None:
    examples = make_examples()
    session = onnxruntime.InferenceSession(GRAPH, providers=["CPUExecutionProvider"])
    feeds = {"queries": np.zeros(1), "width": np.array(1.0), "kernel": np.array(0)}
    keys, values, widths = session.run(["keys", "values", "widths"], feeds)
    np.testing.assert_allclose(keys, examples.keys, atol=1e-9)
    np.testing.assert_allclose(values, examples.values, atol=1e-9)
    np.testing.assert_allclose(widths, [learn_width(examples, kernel) for kernel in KERNELS], atol=1e-4)
