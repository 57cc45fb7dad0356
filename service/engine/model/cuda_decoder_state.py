"""Memory and state of running sentences on a GPU: each step transfers only tokens to it and candidates from it.

The arrays are OrtValues that never leave the device; small graphs (`row_graph`) on the same device move their rows. An
array is replaced instead of changed in place, because on a GPU a copy costs less than a launch per row.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnxruntime

from service.bundle.limits import SOURCE_STEP
from service.bundle.manifest import ArraySpec, GraphSet
from service.engine.jobs import IntArray
from service.engine.model.batching import EncodedSentences
from service.engine.model.buffers import Array, capacity_for, round_up
from service.engine.model.decoder_state import LEAST_TOKENS
from service.engine.model.interface import Candidates, Encoded
from service.engine.model.row_graphs import RowOperation, row_graph

Value = Any  # onnxruntime.OrtValue, which has no types
Session = Any  # onnxruntime.InferenceSession


def run_on_device(session: Session, feeds: dict[str, Value | Array], device: str) -> dict[str, Value]:
    """Run a graph whose results stay on the device; feeds are arrays of the host or values of the device."""
    binding = session.io_binding()
    for name, value in feeds.items():
        if isinstance(value, np.ndarray):
            binding.bind_cpu_input(name, value)
        else:
            binding.bind_ortvalue_input(name, value)
    names = [output.name for output in session.get_outputs()]
    for name in names:
        binding.bind_output(name, device)
    session.run_with_iobinding(binding)
    return dict(zip(names, binding.get_outputs(), strict=True))


class DeviceRows:
    """Takes rows of arrays on a device, appends and lengthens arrays; sessions are opened at the first use."""

    def __init__(self, device: str, open_graph: Callable[[bytes], Session]) -> None:
        self.device = device
        self._open_graph = open_graph
        self._sessions: dict[tuple[RowOperation, str], Session] = {}

    def zeros(self, shape: Sequence[int], dtype: str) -> Value:
        """Return an array of zeros."""
        return onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(shape, dtype), self.device, 0)

    def take(self, value: Value, dtype: str, rows: IntArray) -> Value:
        """Return value[rows]."""
        return self._run("take", dtype, {"data": value, "rows": rows})

    def append(self, value: Value, dtype: str, more: Value) -> Value:
        """Return both arrays, one after the other along axis 0."""
        return self._run("append", dtype, {"data": value, "more": more})

    def lengthen(self, value: Value, dtype: str, axis: int, size: int) -> Value:
        """Return the array with its axis cut, or padded with zeros, to `size`."""
        shape = value.shape()
        if shape[axis] == size:
            return value
        pads = np.zeros(2 * len(shape), np.int64)
        pads[len(shape) + axis] = size - shape[axis]
        return self._run("lengthen", dtype, {"data": value, "pads": pads})

    def _run(self, operation: RowOperation, dtype: str, feeds: dict[str, Value | Array]) -> Value:
        key = (operation, dtype)
        if key not in self._sessions:
            self._sessions[key] = self._open_graph(row_graph(operation, dtype))
        return run_on_device(self._sessions[key], feeds, self.device)["result"]


class CudaDecoderState:
    """Decoder state in device memory; satisfies interface.DecoderState."""

    def __init__(
        self,
        session: Session,
        graphs: GraphSet,
        shape: tuple[int, int],
        rows: DeviceRows,
    ) -> None:
        self._session, self._rows, self._beam_size = session, rows, shape[0]
        self._taken = {entry.name for entry in session.get_inputs()}
        self._memory, self._state = graphs.memory, graphs.state
        self._values: dict[str, Value] = {}  # every memory and state array, exactly as large as the sentences need
        self._following: dict[str, Value] = {}  # fixed states after the last step
        self._source_lengths: IntArray = np.zeros(0, np.int64)
        self._lengths: Array = np.zeros(0, np.int32)  # [N]
        self._candidates = np.array([shape[1]], np.int64)

    def join(self, encoded: Encoded, sentences: Sequence[int], places: Sequence[int] | None = None) -> None:
        """Put the encoded sentences with these indices into the places of sentences that have left, or to the end."""
        assert isinstance(encoded, EncodedSentences)
        if not sentences:
            return
        arrived: list[int] = []
        for arrays, rows, at in encoded.parts(sentences):
            self._append_run(arrays, np.array(rows, np.int64))
            arrived += at
        before, added = len(self._source_lengths), len(sentences)
        # The runs were appended one after the other: put the new sentences into their places.
        order = np.arange(before + added)
        order[before:] = before + np.argsort(arrived)
        if places is not None:
            order[list(places)] = order[before:].copy()
            order = order[: max(before, max(places) + 1)]
        lengths = np.array([encoded.lengths[sentence] for sentence in sentences], np.int64)
        joined = np.concatenate([self._source_lengths, lengths[arrived]])
        self._lengths = np.concatenate([self._lengths, np.zeros(added * self._beam_size, np.int32)])
        self._fit_caches(before * self._beam_size)
        self._source_lengths, self._lengths = joined[order], self._lengths[self._rows_of(order)]
        self._keep(order)

    def set_candidates(self, candidates: int) -> None:
        """Set the number of candidates per row."""
        self._candidates = np.array([candidates], np.int64)

    def step(self, tokens: IntArray) -> Candidates:
        """Give every row its token, [B, K], and return the candidates for the next."""
        self._fit_caches(len(self._lengths))
        host: dict[str, Array] = {
            "tokens": np.ascontiguousarray(tokens),
            "lengths": self._lengths,
            "total_length": np.array([self._lengths.max() + 1], np.int32),
            "source_lengths": self._source_lengths,
            "candidates": self._candidates,
        }
        binding = self._session.io_binding()
        for name, array in host.items():
            if name in self._taken:
                binding.bind_cpu_input(name, array)
        for name, value in self._values.items():
            if name in self._taken:
                binding.bind_ortvalue_input(name, value)
        binding.bind_output("top_ids", "cpu")
        binding.bind_output("top_logprobs", "cpu")
        for spec in self._state:
            if spec.kind == "cache":  # the graph writes into the buffer it reads
                binding.bind_ortvalue_output(f"next_{spec.name}", self._values[spec.name])
            else:
                binding.bind_output(f"next_{spec.name}", self._rows.device)
        self._session.run_with_iobinding(binding)
        ids, logprobs, *following = binding.get_outputs()
        self._following = dict(zip((spec.name for spec in self._state), following, strict=True))
        self._lengths = self._lengths + np.int32(1)
        return Candidates(ids.numpy(), logprobs.numpy())

    def reorder(self, parents: IntArray | None) -> None:
        """Make every row, [B * K], continue row `parents` of the last step."""
        moves = parents is not None and bool((parents != np.arange(len(parents))).any())
        for spec in self._state:
            value = self._following[spec.name] if spec.kind == "fixed" else self._values[spec.name]
            self._values[spec.name] = (
                self._rows.take(value, spec.dtype, parents) if moves and parents is not None else value
            )

    def remove(self, removed: Sequence[int], holes: IntArray, movers: IntArray) -> None:
        """Remove sentences; the last ones move into the holes."""
        order = np.arange(len(self._source_lengths))
        order[holes] = movers
        order = order[: len(order) - len(removed)]
        self._source_lengths = self._source_lengths[order]
        self._lengths = self._lengths[self._rows_of(order)]
        if len(order):
            self._keep(order)
        else:
            self._values = {}

    def _append_run(self, arrays: dict[str, Value], rows: IntArray) -> None:
        """Append rows of an encoder run to memory and fixed state."""
        for spec in self._memory:
            self._append(spec, self._rows.take(arrays[spec.name], spec.dtype, rows))
        for spec in self._state:
            if spec.kind == "fixed":
                initial = self._rows.take(arrays[f"initial_{spec.name}"], spec.dtype, np.repeat(rows, self._beam_size))
                self._append(spec, initial)

    def _append(self, spec: ArraySpec, more: Value) -> None:
        present = self._values.get(spec.name)
        if "S" in spec.axes:
            axis = spec.axes.index("S")
            size = max(more.shape()[axis], present.shape()[axis] if present is not None else 0)
            size = round_up(size, SOURCE_STEP)
            more = self._rows.lengthen(more, spec.dtype, axis, size)
            present = None if present is None else self._rows.lengthen(present, spec.dtype, axis, size)
        self._values[spec.name] = more if present is None else self._rows.append(present, spec.dtype, more)

    def _fit_caches(self, rows: int) -> None:
        """Fit caches to all rows, of which the first `rows` are in use, and to the next entry of each."""
        needed = int(self._lengths.max()) + 1
        for spec in self._state:
            if spec.kind != "cache":
                continue
            axis, value = spec.axes.index("T"), self._values.get(spec.name)
            if value is None:
                shape = [axis if isinstance(axis, int) else LEAST_TOKENS for axis in spec.axes]
                value = self._rows.zeros([len(self._lengths), *shape[1:]], spec.dtype)
            elif len(self._lengths) > rows:
                # The content of new rows has no effect yet, so copies of a row are as good as zeros.
                filler = np.zeros(len(self._lengths) - rows, np.int64)
                value = self._rows.take(value, spec.dtype, np.concatenate([np.arange(rows), filler]))
            size = capacity_for(needed, value.shape()[axis])
            self._values[spec.name] = self._rows.lengthen(value, spec.dtype, axis, size)

    def _keep(self, order: IntArray) -> None:
        """Put sentences into this order and remove those that it does not contain."""
        for specs, index in ((self._memory, order), (self._state, self._rows_of(order))):
            for spec in specs:
                value = self._values[spec.name]
                if value.shape()[0] != len(index) or (index != np.arange(len(index))).any():
                    self._values[spec.name] = self._rows.take(value, spec.dtype, index)

    def _rows_of(self, sentences: IntArray) -> IntArray:
        rows: IntArray = (sentences[:, None] * self._beam_size + np.arange(self._beam_size)).ravel()
        return rows
