"""A run reads and writes the arrays that are bound now, and no array stays in memory because it was bound once."""

import weakref

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest

from service.engine.model.binding import Binding
from service.engine.model.onnx_graph import row_graph

Floats = npt.NDArray[np.float32]


@pytest.fixture(scope="module")
def session() -> onnxruntime.InferenceSession:
    """Return a session that takes `rows` of `data`."""
    return onnxruntime.InferenceSession(row_graph("take", "float32"), providers=["CPUExecutionProvider"])


def numbers(*values: float) -> Floats:
    return np.array(values, np.float32)[:, None]


def test_a_run_reads_the_arrays_as_they_are_now(session: onnxruntime.InferenceSession) -> None:
    """The numbers of a bound array may change, and another array or number of entries may take its place."""
    binding, first, result = Binding(session), numbers(1, 2), numbers(0, 0, 0)
    rows = np.array([1, 0, 1], np.int64)
    for data, count in ((first, 2), (first, 2), (numbers(3, 4), 2), (numbers(5, 6), 3)):
        binding.read("data", data, 2)
        binding.read("rows", rows, count)
        binding.write("result", result, count)
        binding.run()
        assert result[:count, 0].tolist() == [data[at, 0] for at in rows[:count]]
        first *= 10


def test_an_output_can_be_left_to_onnx_runtime_and_bound_again(session: onnxruntime.InferenceSession) -> None:
    binding, data, result = Binding(session), numbers(1, 2, 3), numbers(0)
    binding.read("data", data, 3)
    rows = np.array([1], np.int64)
    binding.read("rows", rows, 1)
    binding.allocate("result")
    allocated = binding.run()
    assert allocated is not None
    assert allocated.tolist() == [[2]]
    binding.allocate(None)
    binding.write("result", result, 1)
    assert binding.run() is None
    assert result.tolist() == [[2]]


def test_a_binding_keeps_no_array_alive(session: onnxruntime.InferenceSession) -> None:
    binding, data = Binding(session), numbers(1, 2)
    binding.read("data", data, 2)
    alive = weakref.ref(data)
    del data
    assert alive() is None
