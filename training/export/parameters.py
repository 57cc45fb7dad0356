"""A network's parameters in the layout of the graphs: matrices, embedding tables and vectors.

They are made from a PyTorch state dict and, for warm starts from a bundle, converted back to one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
StateArrays = dict[str, Floats]
"""A state dict as numpy arrays."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """``x @ weight + bias``."""

    weight: Floats
    """[K, N]."""
    bias: Floats | None = None
    """[N]."""


@dataclass(slots=True)
class Parameters:
    """All parameters that the graphs of one network read."""

    matrices: dict[str, Matrix] = field(default_factory=dict)
    tables: dict[str, Floats] = field(default_factory=dict)
    """Embeddings [V, E]; one of them may also be the output matrix, transposed."""
    vectors: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    """Parameters that are never quantised: norms, biases of the vocabulary, positions."""

    @property
    def count(self) -> int:
        """Return the number of trained parameters; positions do not count."""
        matrices = sum(m.weight.size + (0 if m.bias is None else m.bias.size) for m in self.matrices.values())
        tables = sum(table.size for table in self.tables.values())
        return matrices + tables + sum(v.size for name, v in self.vectors.items() if name != POSITIONS)


POSITIONS = "positions"
OUTPUT_BIAS = "output.bias"
SUPPRESSED = -1e9
"""Added to the logits of tokens that are never produced."""


def suppressed_bias(bias: Floats, never: tuple[int, ...]) -> Floats:
    """Return the output bias, with a large negative value for tokens that no translation may contain."""
    result = bias.astype(np.float32, copy=True)
    result[list(never)] = SUPPRESSED
    return result


def linear(state: StateArrays, name: str) -> Matrix:
    """Return an ``nn.Linear`` of the state dict."""
    return Matrix(np.ascontiguousarray(state[f"{name}.weight"].T), state.get(f"{name}.bias"))


def joined(*matrices: Matrix) -> Matrix:
    """Return matrices with the same input as one matrix, so that one product replaces several."""
    biased = any(matrix.bias is not None for matrix in matrices)
    empty = [np.zeros(matrix.weight.shape[1], np.float32) for matrix in matrices]
    biases = [matrix.bias if matrix.bias is not None else zero for matrix, zero in zip(matrices, empty, strict=True)]
    weight = np.concatenate([matrix.weight for matrix in matrices], axis=1)
    return Matrix(weight, np.concatenate(biases) if biased else None)


def put_linear(state: StateArrays, name: str, matrix: Matrix, columns: slice = slice(None)) -> None:
    """Write (some columns of) a matrix back as an ``nn.Linear``."""
    state[f"{name}.weight"] = np.ascontiguousarray(matrix.weight[:, columns].T)
    if matrix.bias is not None:
        state[f"{name}.bias"] = np.ascontiguousarray(matrix.bias[columns])
