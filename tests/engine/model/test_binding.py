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


def test_changed_numbers_of_a_bound_array_are_read_without_binding_it_again(
    session: onnxruntime.InferenceSession,
) -> None:
    binding, data, result = Binding(session), numbers(1, 2, 3), numbers(0, 0)
    rows = np.array([2, 0], np.int64)
    for _ in range(2):
        binding.read("data", data, 3)
        binding.read("rows", rows, 2)
        binding.write("result", result, 2)
        binding.run()
        assert result[:, 0].tolist() == [data[2, 0], data[0, 0]]
        data *= 10


def test_another_array_or_another_number_of_entries_replaces_the_bound_one(
    session: onnxruntime.InferenceSession,
) -> None:
    binding, result = Binding(session), numbers(0, 0, 0)
    rows = np.array([1, 0, 1], np.int64)
    for data, count in ((numbers(1, 2), 2), (numbers(3, 4), 2), (numbers(5, 6), 3)):
        binding.read("data", data, 2)
        binding.read("rows", rows, count)
        binding.write("result", result, count)
        binding.run()
        assert result[:count, 0].tolist() == [data[at, 0] for at in rows[:count]]


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
