"""The ONNX graph of the sentence network, built by hand (ADR 9), with float32 or int8 weights."""

from typing import Literal

import numpy as np
import numpy.typing as npt
from onnx import ModelProto

from training.export.graphs.blocks import FLOAT, INT32, INT64, valid_positions
from training.export.graphs.builder import GraphBuilder
from training.export.weights import WeightStore
from training.sentence.network import FullHidden, SentenceNetwork, SplitHidden

Precision = Literal["fp32", "int8"]
Floats = npt.NDArray[np.float32]


class SentenceGraph:
    """Builds the graph: ids int64 [B, N] and lengths int64 [B] in, embedding, attention and classes out."""

    def __init__(self, network: SentenceNetwork, store: WeightStore, precision: Precision) -> None:
        self._network, self._store, self._precision = network, store, precision
        self._graph = GraphBuilder("sentence", store)
        self._state = {name: value.detach().numpy() for name, value in network.state_dict().items()}

    def build(self) -> ModelProto:
        """Return the model; its weights are in the store."""
        graph, config = self._graph, self._network.config
        ids = graph.input("ids", INT64, ["B", "N"])
        lengths = graph.input("lengths", INT64, ["B"])
        states = self._states(ids, lengths)
        attention = self._attention(states, ids, lengths)
        matrix = graph.op("MatMul", attention, states)
        hidden = graph.op("Relu", self._hidden(matrix))
        vector = self._affine("vector", hidden)
        norm = graph.op("ReduceL2", vector, graph.integers(-1), keepdims=1)
        norm = graph.op("Max", norm, graph.constant(np.array(1e-12, np.float32)))
        graph.output("embedding", graph.op("Div", vector, norm), FLOAT, ["B", config.width])
        graph.output("attention", attention, FLOAT, ["B", config.hops, "N"])
        for name in ("language", "domain"):
            logprobs = graph.op("LogSoftmax", self._affine(name, hidden), axis=-1)
            graph.output(f"{name}_logprobs", logprobs, FLOAT, ["B", self._state[f"{name}.bias"].shape[0]])
        return graph.model()

    def _states(self, ids: str, lengths: str) -> str:
        """Return H [B, N, states]; the rows of padding are zeros, except for their token embeddings."""
        graph, config = self._graph, self._network.config
        steps = graph.op("Transpose", self._embedded(ids), perm=[1, 0, 2])
        gru = graph.ops(
            "GRU",
            [steps, *self._recurrent(), graph.op("Cast", lengths, to=INT32)],
            1,
            hidden_size=config.hidden,
            direction="bidirectional",
            linear_before_reset=1,
        )[0]
        joined = graph.reshape(graph.op("Transpose", gru, perm=[2, 0, 1, 3]), 0, 0, 2 * config.hidden)
        if not config.embedding_states:
            return joined
        return graph.op("Concat", joined, graph.op("Transpose", steps, perm=[1, 0, 2]), axis=-1)

    def _embedded(self, ids: str) -> str:
        """Return the token embeddings [B, N, E]; only the rows of these tokens are turned into floats."""
        graph, table = self._graph, self._state["embedding.weight"]
        if self._precision == "fp32":
            self._store.add("embedding.weight", table)
            return graph.op("Gather", graph.weight("embedding.weight"), ids)
        rows, scales = quantised(table)
        self._store.add("embedding.weight", rows)
        self._store.add("embedding.scale", scales[:, None])
        found = graph.op("Cast", graph.op("Gather", graph.weight("embedding.weight"), ids), to=FLOAT)
        return graph.op("Mul", found, graph.op("Gather", graph.weight("embedding.scale"), ids))

    def _recurrent(self) -> list[str]:
        """Return the operands W [2, 3u, E], R [2, 3u, u] and B [2, 6u] of the GRU node."""
        directions, units = ("forwards", "backwards"), self._network.config.hidden
        result = []
        for kind in ("ih", "hh"):
            parts = [_gates(self._state[f"{each}.weight_{kind}_l0"], units) for each in directions]
            joined = np.concatenate(parts)
            result.append(self._graph.reshape(self._matrix(f"gru.{kind}", joined), 2, 3 * units, joined.shape[1]))
        biases = [
            np.concatenate([_gates(self._state[f"{each}.bias_{kind}_l0"], units) for kind in ("ih", "hh")])
            for each in directions
        ]
        self._store.add("gru.bias", np.stack(biases))
        return [*result, self._graph.weight("gru.bias")]

    def _attention(self, states: str, ids: str, lengths: str) -> str:
        """Return A [B, r, N]."""
        graph = self._graph
        scores = graph.op("MatMul", graph.op("Tanh", self._product("w1", states)), self._transposed("w2"))
        scores = graph.op("Transpose", scores, perm=[0, 2, 1])
        valid = valid_positions(graph, lengths, ids, axis=1, between=1)
        low = graph.constant(np.array(-np.inf, np.float32))
        return graph.op("Softmax", graph.op("Where", valid, scores, low), axis=-1)

    def _hidden(self, matrix: str) -> str:
        """Return the hidden units before the activation: M [B, r, states] → [B, units]."""
        graph, hidden = self._graph, self._network.hidden
        if isinstance(hidden, FullHidden):
            return self._affine("hidden.all", graph.reshape(matrix, 0, -1))
        assert isinstance(hidden, SplitHidden)
        parts = []
        for name, order in (("rows", [1, 0, 2]), ("columns", [2, 0, 1])):
            weight = self._state[f"hidden.{name}"]
            if not weight.size:
                continue
            groups, inputs, units = weight.shape
            # Stored [groups · units, inputs], so that a row is one unit and has one scale.
            stored = self._matrix(f"hidden.{name}", weight.transpose(0, 2, 1).reshape(-1, inputs))
            operand = graph.op("Transpose", graph.reshape(stored, groups, units, inputs), perm=[0, 2, 1])
            product = graph.op("MatMul", graph.op("Transpose", matrix, perm=order), operand)
            parts.append(graph.reshape(graph.op("Transpose", product, perm=[1, 0, 2]), 0, groups * units))
        joined = graph.op("Concat", *parts, axis=-1) if len(parts) > 1 else parts[0]
        self._store.add("hidden.bias", self._state["hidden.bias"])
        return graph.op("Add", joined, graph.weight("hidden.bias"))

    def _affine(self, name: str, values: str) -> str:
        self._store.add(f"{name}.bias", self._state[f"{name}.bias"])
        return self._graph.op("Add", self._product(name, values), self._graph.weight(f"{name}.bias"))

    def _product(self, name: str, values: str) -> str:
        return self._graph.op("MatMul", values, self._transposed(name))

    def _transposed(self, name: str) -> str:
        return self._graph.op("Transpose", self._matrix(name, self._state[f"{name}.weight"]), perm=[1, 0])

    def _matrix(self, name: str, weight: Floats) -> str:
        """Return a matrix [out, in] as floats; int8 ones are dequantised once, when the model is loaded."""
        if self._precision == "fp32":
            self._store.add(f"{name}.weight", weight)
            return self._graph.weight(f"{name}.weight")
        rows, scales = quantised(weight)
        self._store.add(f"{name}.weight", rows)
        self._store.add(f"{name}.scale", scales)
        operands = (self._graph.weight(f"{name}.weight"), self._graph.weight(f"{name}.scale"))
        return self._graph.op("DequantizeLinear", *operands, axis=0)


def quantised(weight: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """Return int8 [rows, …] and the scale of each row, so that row · scale is close to the weight."""
    scales = np.abs(weight).max(axis=1) / 127
    scales = np.where(scales > 0, scales, 1).astype(np.float32)
    return np.round(weight / scales[:, None]).astype(np.int8), scales


def _gates(weight: Floats, units: int) -> Floats:
    """Return a GRU's parameters in ONNX' order of gates: PyTorch has reset, update, new; ONNX update, reset, new."""
    reset, update, new = np.split(weight, [units, 2 * units])
    return np.concatenate([update, reset, new])
