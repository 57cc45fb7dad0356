"""Arrays of fixed shapes on a GPU, and the step over them, which CUDA records once and repeats with one call.

The arrays have room for some sentences, the slots, and for a number of tokens on either side. A step reads and writes
them where they are. Rehearsed on the CPU, they are in its memory, and nothing is recorded.
"""

import itertools
import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime

from service.bundle.limits import step_candidates
from service.bundle.manifest import ArraySpec, GraphSet
from service.engine.jobs import IntArray
from service.engine.model.buffers import Array
from service.engine.model.device import NODE_BY_NODE, log_once

Value = Any  # onnxruntime.OrtValue, which has no types
Session = Any  # onnxruntime.InferenceSession

STARTS, COPIES = -1, -2  # in `kept`: the first row of a sentence that starts, and its other rows
BETWEEN = {"live_tokens": np.int64, "live_rows": np.int64, "live_sums": np.float64}  # what a step chose
NOT_RECORDED = "-1"
_NUMBERS = itertools.count(1)  # of recordings: a bucket has its own


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


@dataclass(slots=True, eq=False)
class SlotGraphs:
    """The sessions of a running batch on a device, and the arrays that they exchange."""

    step: Session
    join: Session
    arrays: GraphSet
    device: str
    records: bool = False  # whether steps are recorded; not after a failure


class Bucket:
    """Arrays on a device for so many sentences, of at most so many tokens on either side, and the step over them."""

    def __init__(self, graphs: SlotGraphs, sentences: int, beam_size: int, length: int) -> None:
        self.sentences, self.beam_size, self.length = sentences, beam_size, length
        self._graphs = graphs
        # What `kept` is where a sentence starts, or where there is none.
        self.starts = np.full((sentences, beam_size), COPIES, np.int32)
        self.starts[:, 0] = STARTS
        width = step_candidates(beam_size)
        self.values: dict[str, Value] = {
            name: onnxruntime.OrtValue.ortvalue_from_numpy(array, graphs.device, 0)
            for name, array in self._arrays(width).items()
        }
        self._host = {"total_length": np.array([length], np.int32), "candidates": np.array([width], np.int64)}
        self._written: dict[str, bytes] = {}
        self._binding = self.bound(self)
        self._options = onnxruntime.RunOptions()
        if graphs.records:
            self._record()

    def _arrays(self, width: int) -> dict[str, Array]:
        """Return what every array holds at first, with so many candidates of each row."""
        graphs, per_slot, rows = self._graphs, (self.sentences, self.beam_size), self.sentences * self.beam_size
        sizes = {"B": self.sentences, "N": rows, "S": self.length, "T": self.length}
        shapes = {
            spec.name: [axis if isinstance(axis, int) else sizes[axis] for axis in spec.axes]
            for spec in (*graphs.arrays.of_sentences, *graphs.arrays.state)
        }
        # Ones: the scores of a slot without a sentence are numbers, too.
        arrays = {spec.name: np.ones(shapes[spec.name], spec.dtype) for spec in graphs.arrays.of_sentences}
        arrays |= {spec.name: np.zeros(shapes[spec.name], spec.dtype) for spec in graphs.arrays.state}
        arrays |= {name: np.zeros(per_slot, dtype) for name, dtype in BETWEEN.items()}
        arrays["kept"] = self.starts.copy()
        arrays["choice"] = np.zeros((self.sentences, 3 * self.beam_size), np.float32)
        arrays["lengths"], arrays["source_lengths"] = np.zeros(rows, np.int32), np.ones(self.sentences, np.int64)
        arrays["own_rows"], arrays["positions"] = np.arange(rows).reshape(per_slot), np.arange(self.length)
        arrays["top_ids"] = np.zeros((*per_slot, width), np.int64)
        arrays["top_logprobs"] = np.zeros((*per_slot, width), np.float32)
        return arrays

    def _record(self) -> None:
        """Let CUDA record the step, if it can. ONNX Runtime runs it several times for that, so it is of no sentence."""
        self._options.add_run_config_entry("gpu_graph_id", str(next(_NUMBERS)))
        try:
            self.run()
        except Exception as error:  # ONNX Runtime raises its own classes, which it does not export
            log_once(logging.WARNING, f"{NODE_BY_NODE}: {error}")
            self._graphs.records = False
            self._options.add_run_config_entry("gpu_graph_id", NOT_RECORDED)

    def bound(self, before: "Bucket") -> Any:
        """Return a binding of the step that reads the choice and the state of another bucket, and writes its own."""
        graphs, binding = self._graphs, self._graphs.step.io_binding()
        own = ("kept", "source_lengths", "own_rows", "positions", *(spec.name for spec in graphs.arrays.of_sentences))
        inputs = {name: self.values[name] for name in own}
        inputs |= {name: before.values[name] for name in BETWEEN}
        inputs["held_lengths"] = before.values["lengths"]
        inputs |= {f"held_{spec.name}": self._held(before, spec) for spec in graphs.arrays.state}
        for entry in graphs.step.get_inputs():
            if entry.name in self._host:
                binding.bind_cpu_input(entry.name, self._host[entry.name])
            else:
                binding.bind_ortvalue_input(entry.name, inputs[entry.name])
        for entry in graphs.step.get_outputs():
            binding.bind_ortvalue_output(entry.name, self.values[entry.name.removeprefix("next_")])
        return binding

    def _held(self, before: "Bucket", spec: ArraySpec) -> Value:
        """Return a state of another bucket with room for as many tokens as this one has.

        It goes by the host: a batch moves to longer arrays a few times, and a node for it would run in every step.
        """
        value = before.values[spec.name]
        if "T" not in spec.axes or before.length == self.length:
            return value
        room = [(0, self.length - before.length if axis == "T" else 0) for axis in spec.axes]
        return onnxruntime.OrtValue.ortvalue_from_numpy(np.pad(value.numpy(), room), self._graphs.device, 0)

    def run(self, before: "Bucket | None" = None) -> None:
        """Run a step; `before`: it continues the rows of another bucket."""
        if before is None or before is self:
            self._graphs.step.run_with_iobinding(self._binding, self._options)
            return
        options = onnxruntime.RunOptions()
        options.add_run_config_entry("gpu_graph_id", NOT_RECORDED)
        self._graphs.step.run_with_iobinding(self.bound(before), options)

    def write(self, name: str, array: Array) -> None:
        """Write an array of the host to the device, unless it is there."""
        content = array.tobytes()
        if name in BETWEEN or self._written.get(name) != content:
            self._written[name] = content
            self.values[name].update_inplace(array)

    def take(self, arrays: dict[str, Value], sources: IntArray) -> None:
        """Take sentences of an encoder run into the memory: for each slot its number, after those of the slots."""
        binding = self._graphs.join.io_binding()
        binding.bind_cpu_input("sources", sources)
        for spec in self._graphs.arrays.of_sentences:
            binding.bind_ortvalue_input(spec.name, self.values[spec.name])
            binding.bind_ortvalue_input(f"new_{spec.name}", arrays[spec.name])
            binding.bind_ortvalue_output(f"next_{spec.name}", self.values[spec.name])
        self._graphs.join.run_with_iobinding(binding)
