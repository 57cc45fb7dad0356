"""Runs exported graphs for calibration and for the parity gate."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from training.export.graphs.blocks import SHORTLIST
from training.export.graphs.network import NetworkGraphs

Array = npt.NDArray[Any]


def open_session(path: Path, provider: str = "CPUExecutionProvider") -> onnxruntime.InferenceSession:
    """Load a graph, by default on one CPU thread.

    Integer weights that the graph uses as floats are expanded once, when it is loaded.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    return onnxruntime.InferenceSession(str(path), options, providers=[provider])


def run(session: onnxruntime.InferenceSession, feeds: dict[str, Array]) -> dict[str, Array]:
    """Run a graph; returns every output by name."""
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds), strict=True))


class Stepper:
    """Decodes with encoder and step graph as the engine does: a length for each row, caches of fixed capacity.

    ``listed`` is the shortlist, for graphs that take one.
    """

    def __init__(
        self, graphs: NetworkGraphs, folder: Path, precision: str, capacity: int, listed: Array | None = None
    ) -> None:
        self._graphs, self._capacity, self._listed = graphs, capacity, listed
        self._encoder = open_session(folder / f"encoder.{precision}.onnx")
        self._decoder = open_session(folder / f"decoder.{precision}.onnx")
        self._dtype = np.float16 if precision == "fp16" else np.float32
        self._state: dict[str, Array] = {}
        self._constant: dict[str, Array] = {}
        self._past = 0

    @property
    def has_lists(self) -> bool:
        """Return whether the graphs take a shortlist."""
        return any(value.name == SHORTLIST for value in self._encoder.get_inputs())

    def start(self, source: Array, lengths: Array) -> None:
        """Encode [B, S], [B] and begin again with one row for each sentence."""
        feeds = {"source": source, "source_lengths": lengths}
        if self.has_lists:
            assert self._listed is not None
            feeds[SHORTLIST] = np.tile(self._listed, (len(source), 1))
        encoded = run(self._encoder, feeds)
        self._past = 0
        inputs = {value.name for value in self._decoder.get_inputs()}
        self._constant = {name: array for name, array in encoded.items() if name in inputs}
        self._constant["source_lengths"] = lengths
        self._state = {}
        for name, axes in self._graphs.state:
            if self._graphs.state_kind == "fixed":
                self._state[name] = encoded[f"initial_{name}"]
            else:
                shape = [self._capacity if axis == "T" else axis for axis in axes[1:]]
                self._state[name] = np.zeros([len(source), *(int(axis) for axis in shape)], self._dtype)

    def step(self, tokens: Array, candidates: int) -> tuple[Array, Array]:
        """Return ids and log-probabilities of the best candidates after the last tokens [B], each [B, C]."""
        result = run(
            self._decoder,
            {
                **self._constant,
                **self._state,
                "tokens": tokens[:, None],
                "lengths": np.full(len(tokens), self._past, np.int32),
                "total_length": np.array([self._past + 1], np.int32),
                "candidates": np.array([candidates], np.int64),
            },
        )
        self._past += 1
        self._state = {name: result[f"next_{name}"] for name, _ in self._graphs.state}
        return result["top_ids"][:, 0], result["top_logprobs"][:, 0]
