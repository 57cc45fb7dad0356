"""Integers stand for floats closely, and in a range that every CPU multiplies exactly."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto

from training.export.graphs.builder import GraphBuilder
from training.export.graphs.precision import Calibration, Int8Arithmetic, Operand, QuantisedRange
from training.export.parameters import Floats, Matrix, Parameters
from training.export.quantise import (
    WEIGHT_LIMIT,
    RowSample,
    choose_range,
    make_plan,
    quantise_weight,
    quantised_store,
)
from training.export.sessions import open_session, run

RANDOM = np.random.default_rng(0)


def test_weights_keep_their_limit_and_come_back() -> None:
    assert 2 * 255 * WEIGHT_LIMIT < 2**15, "two products must fit in the saturating instruction"
    weight = RANDOM.normal(size=(64, 32)).astype(np.float32) * np.geomspace(0.01, 10, 32, dtype=np.float32)
    quantised = quantise_weight(weight, axis=1)
    assert np.abs(quantised.values.astype(int)).max() <= WEIGHT_LIMIT
    error = np.linalg.norm(quantised.values * quantised.scale - weight, axis=0) / np.linalg.norm(weight, axis=0)
    assert error.max() < 0.02


def test_a_table_has_a_scale_for_each_row_and_zero_rows_survive() -> None:
    table = RANDOM.normal(size=(10, 16)).astype(np.float32)
    table[0] = 0
    quantised = quantise_weight(table, axis=0)
    assert quantised.scale.shape == (10,)
    assert not quantised.values[0].any()
    assert np.isfinite(quantised.scale).all()


def test_a_range_suits_its_values() -> None:
    heavy = RANDOM.standard_t(3, size=50_000).astype(np.float32)
    assert choose_range(heavy, symmetric=True).scale * 127 < 0.9 * np.abs(heavy).max(), "heavy tails are clipped"
    assert choose_range(np.maximum(heavy, 0), symmetric=False).zero == 0, "no negative values: the whole range"
    assert {choose_range(heavy * size, symmetric=True).zero for size in (0.01, 5)} == {128}


def _product(
    matrix: Matrix, samples: dict[str, Floats], plan: Calibration, folder: Path
) -> onnxruntime.InferenceSession:
    """Return a graph that multiplies what the samples are examples of with a matrix."""
    store = quantised_store(Parameters({"matrix": matrix}), {"matrix": tuple(samples)}, samples, plan, "weights.bin")
    graph = GraphBuilder("product", store)
    operands = [
        Operand(site, graph.input(site, TensorProto.FLOAT, ["N", sample.shape[1]])) for site, sample in samples.items()
    ]
    result = Int8Arithmetic(plan).product(graph, "matrix", *operands)
    graph.output("result", result, TensorProto.FLOAT, ["N", "M"])
    store.write(folder)
    onnx.save_model(graph.model(), str(folder / "product.onnx"))
    return open_session(folder / "product.onnx")


def _relative(ours: Floats, exact: Floats) -> float:
    return float(np.linalg.norm(ours - exact) / np.linalg.norm(exact))


@pytest.mark.parametrize("by_row", [False, True])
def test_a_quantised_product_is_close(by_row: bool, tmp_path: Path) -> None:
    bias = RANDOM.normal(size=48).astype(np.float32)
    matrix = Matrix(RANDOM.normal(size=(64, 48)).astype(np.float32), bias)
    samples = {"x": RANDOM.normal(size=(200, 64)).astype(np.float32)}
    plan = Calibration({"x": choose_range(samples["x"], False)}, frozenset({"matrix"} if by_row else ()))
    session = _product(matrix, samples, plan, tmp_path)
    result = run(session, {"x": samples["x"]})["result"]
    assert _relative(result, samples["x"] @ matrix.weight + bias) < 0.02
    np.testing.assert_array_equal(run(session, {"x": samples["x"][:1]})["result"], result[:1])


def test_parts_of_very_different_size_keep_their_precision(tmp_path: Path) -> None:
    """An embedding of hundredths beside a state of ones: each has a scale of its own in one product."""
    matrix = Matrix(np.vstack([RANDOM.normal(size=(32, 24)) * 50, RANDOM.normal(size=(32, 24))]).astype(np.float32))
    small, large = (RANDOM.normal(size=(200, 32)).astype(np.float32) * size for size in (0.02, 1.0))
    samples = {"small": small, "large": large}
    plan = make_plan(Parameters({"matrix": matrix}), {"matrix": ("small", "large")}, samples)
    result = run(_product(matrix, samples, plan, tmp_path), samples)["result"]
    assert _relative(result, np.hstack([small, large]) @ matrix.weight) < 0.02


def test_a_product_that_loses_too_much_gets_a_scale_for_each_row() -> None:
    """Rows whose sizes differ a hundredfold do not fit one scale; ordinary ones do."""
    weight = RANDOM.normal(size=(32, 16)).astype(np.float32)
    parameters, calm = Parameters({"matrix": Matrix(weight)}), RANDOM.normal(size=(400, 32)).astype(np.float32)
    wild = calm * np.geomspace(0.01, 1, 400, dtype=np.float32)[:, None]
    assert not make_plan(parameters, {"matrix": ("x",)}, {"x": calm}).by_row
    assert make_plan(parameters, {"matrix": ("x",)}, {"x": wild}).by_row == {"matrix"}


def test_graphs_share_nothing_but_weights() -> None:
    """One arithmetic builds many graphs, and Python gives a new one the address of one that is gone."""
    samples = {"x": np.ones((2, 4), np.float32)}
    parameters, plan = (
        Parameters({"matrix": Matrix(np.ones((4, 2), np.float32))}),
        Calibration({"x": QuantisedRange(1.0, 0)}),
    )
    store = quantised_store(parameters, {"matrix": ("x",)}, samples, plan, "w")
    arithmetic = Int8Arithmetic(plan)
    for _ in range(20):
        graph = GraphBuilder("g", store)
        tensor = graph.input("x", TensorProto.FLOAT, ["N", 4])
        for _ in range(2):
            arithmetic.product(graph, "matrix", Operand("x", tensor))
        assert [node.op_type for node in graph.nodes].count("QuantizeLinear") == 1


@pytest.mark.parametrize("total", [1, 300, 4096, 9000])
def test_a_sample_of_rows_is_the_same_however_they_arrive(total: int) -> None:
    rows = np.random.default_rng(1).normal(size=(total, 3)).astype(np.float32)
    found = []
    for parts in (1, 7):
        sample = RowSample()
        for part in np.array_split(rows, parts):
            sample.add(part)
        found.append(sample.rows)
    assert found[0].tobytes() == found[1].tobytes()
    assert len(np.unique(found[0], axis=0)) == min(total, 4096)
    assert abs(float(np.isin(rows[: total // 2], found[0]).all(1).sum()) - len(found[0]) / 2) < 150
