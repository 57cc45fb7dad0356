"""A network's parameters in the layout of the graphs: matrices, embedding tables and vectors.

They are made from a PyTorch state dict and, for warm starts from a bundle, converted back to one. A ``Layout`` says
once, for both ways, which parameters of the network are in which matrix.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from service.bundle.vocabulary import BOS, PAD

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
SCORED_BIAS = "output.scored_bias"
"""The output bias of forced decoding, where given translations may hold more than the model writes."""
SUPPRESSED = -1e9
"""Added to the logits of tokens that are never produced."""


class Part(NamedTuple):
    """Some columns of a matrix: one linear map of the network."""

    weight: str
    bias: str
    """A map that has no such parameter has no bias."""
    size: int | None = None
    """The number of columns; None: the rest, or as many as ``order`` has."""
    order: npt.NDArray[np.int64] | None = None
    """The network's row of each column, where the graphs have another order."""

    def read(self, state: StateArrays) -> Matrix:
        """Return the map as a matrix."""
        rows = slice(None) if self.order is None else self.order
        bias = state.get(self.bias)
        return Matrix(np.ascontiguousarray(state[self.weight][rows].T), None if bias is None else bias[rows])

    def put(self, state: StateArrays, matrix: Matrix, columns: slice) -> None:
        """Write these columns of a matrix back."""
        rows = slice(None) if self.order is None else np.argsort(self.order)
        state[self.weight] = np.ascontiguousarray(matrix.weight[:, columns].T[rows])
        if matrix.bias is not None and self.bias:
            state[self.bias] = np.ascontiguousarray(matrix.bias[columns][rows])


def linear(name: str, size: int | None = None, order: npt.NDArray[np.int64] | None = None, biased: bool = True) -> Part:
    """Return an ``nn.Linear`` of the network."""
    return Part(f"{name}.weight", f"{name}.bias" if biased else "", size, order)


@dataclass(frozen=True, slots=True)
class Layout:
    """Which parameters of a network are in which matrix, table or vector of its graphs."""

    matrices: dict[str, list[Part]]
    """Products with the same input are one matrix, so that one product replaces several."""
    tables: dict[str, str]
    """The table of each embedding of the network; several may share one."""
    vectors: dict[str, str]
    """The network's name of each vector; a map to one number is a column."""
    output_bias: str
    scale: float = 1.0
    """The factor of all tables."""

    def parameters(self, state: StateArrays) -> Parameters:
        """Return the parameters of a state dict."""
        result = Parameters()
        for name, parts in self.matrices.items():
            result.matrices[name] = joined([part.read(state) for part in parts])
        for name, table in self.tables.items():
            result.tables.setdefault(table, state[name] * np.float32(self.scale))
        for vector, name in self.vectors.items():
            result.vectors[vector] = state[name].reshape(-1, 1) if state[name].shape[0] == 1 else state[name]
        result.vectors[OUTPUT_BIAS] = suppressed_bias(state[self.output_bias])
        return result

    def state(self, parameters: Parameters) -> StateArrays:
        """Return the inverse of ``parameters``; the biases of suppressed tokens become zero."""
        state: StateArrays = {}
        for name, parts in self.matrices.items():
            begin = 0
            for part in parts:
                size = part.size if part.order is None else len(part.order)
                part.put(state, parameters.matrices[name], slice(begin, None if size is None else begin + size))
                begin += size or 0
        for name, table in self.tables.items():
            state[name] = parameters.tables[table] / np.float32(self.scale)
        for vector, name in self.vectors.items():
            array = parameters.vectors[vector]
            state[name] = array.reshape(1, -1) if array.shape[-1] == 1 else array
        state[self.output_bias] = parameters.vectors[OUTPUT_BIAS].copy()
        state[self.output_bias][[PAD, BOS]] = 0
        return state


def suppressed_bias(bias: Floats) -> Floats:
    """Return the output bias, with a large negative value for tokens that no translation may contain."""
    result = bias.astype(np.float32, copy=True)
    result[[PAD, BOS]] = SUPPRESSED
    return result


def joined(matrices: list[Matrix]) -> Matrix:
    """Return matrices with the same input as one matrix."""
    biased = any(matrix.bias is not None for matrix in matrices)
    biases = [np.zeros(m.weight.shape[1], np.float32) if m.bias is None else m.bias for m in matrices]
    weight = np.concatenate([matrix.weight for matrix in matrices], axis=1)
    return Matrix(weight, np.concatenate(biases) if biased else None)
