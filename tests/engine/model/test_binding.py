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


def test_a_binding_keeps_no_array_alive(session: onnxruntime.InferenceSession) -> None:
    binding, data = Binding(session), numbers(1, 2)
    binding.read("data", data, 2)
    alive = weakref.ref(data)
    del data
    assert alive() is None
