"""A bundle whose graphs are a few lines of arithmetic, with every kind of array: memory, a cache, a fixed state.

What may follow depends on the source through the memory, on every token of the prefix and its place through the cache,
and on their order through the fixed state, so that an array that is moved wrongly shows in the numbers. `toy_rule`
says the same in numpy.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from service.bundle.manifest import SpecialIds, parse_graphs
from service.engine.jobs import FloatArray
from tests.support.fake_model import BOS, EOS
from tests.support.manifests import ONE_HEAD, manifest_document
from tests.support.vocabulary import tokenizer_json
from training.export.graphs.choice import join_graph, run_graph

VOCABULARY = 24
SPEAKING_VOCABULARY = 396  # all that its text gives; a token without a piece would be written by no real model
INT64, INT32, FLOAT = TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT
GRAPHS = {
    "device": "any",
    "encoder": "encoder.fp32.onnx",
    "decoder": "decoder.fp32.onnx",
    "forced": "forced.fp32.onnx",
    "run": "run.fp32.onnx",
    "join": "join.fp32.onnx",
    "memory": [{"name": "notes", "dtype": "float32", "axes": ["B", 2, "S"]}],
    "state": [
        {"name": "past", "dtype": "float32", "axes": ["N", 1, "T", 2], "kind": "cache"},
        {"name": "mood", "dtype": "float32", "axes": ["N", 3], "kind": "fixed"},
    ],
}


def toy_rule(source: tuple[int, ...], prefix: tuple[int, ...]) -> FloatArray:
    """Give the log-probabilities [V] of what may follow the prefix."""
    fed = np.array([BOS, *prefix], np.float32)
    notes = (np.array(source, np.float32) * 0.13).sum()
    past = (fed * (np.arange(len(fed), dtype=np.float32) + 1) * 0.017).sum()
    mood = np.float32(len(source) * 0.1)
    for token in fed:
        mood = np.tanh(mood * 0.5 + token * 0.05)
    logits = 3 * np.sin(_frequencies(VOCABULARY, 1.0) * (notes + past + mood)) + _impossible(VOCABULARY)
    result: FloatArray = (logits - np.logaddexp.reduce(logits)).astype(np.float32)
    return result


def write_toy_bundle(folder: Path, broken: bool = False) -> Path:
    """Write the bundle and return its folder; `broken` leaves an array out of the encoder."""
    return _write(folder, _decoder(VOCABULARY, 1.0), b"{}", {"vocabulary_size": VOCABULARY, "name": "toy"}, broken)


def write_speaking_bundle(folder: Path, version: int = 1, **changes: Any) -> Path:
    """Write a bundle that a server can serve: it has a tokenizer, and each version says other nonsense."""
    tokenizer = tokenizer_json(SPEAKING_VOCABULARY)
    described = {"vocabulary_size": SPEAKING_VOCABULARY, "name": "transformer-en-fr", "version": str(version)}
    decoder = _decoder(SPEAKING_VOCABULARY, 1.0 + 0.01 * version)
    return _write(folder, decoder, tokenizer.encode(), described | changes, broken=False)


def _write(folder: Path, decoder: onnx.ModelProto, tokenizer: bytes, described: dict[str, Any], broken: bool) -> Path:
    folder.mkdir(parents=True)
    arrays = parse_graphs(GRAPHS)
    running = {"run": run_graph(decoder, arrays, SpecialIds(0, BOS, EOS)), "join": join_graph(arrays)}
    models = {"encoder": _encoder(broken), "decoder": decoder, "forced": _forced(), **running}
    contents = {GRAPHS[kind]: model.SerializeToString() for kind, model in models.items()}
    contents |= {"tokenizer.json": tokenizer}
    for name, content in contents.items():
        (folder / str(name)).write_bytes(content)
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    document = manifest_document(graphs={"fp32": GRAPHS}, files=sums, attention=ONE_HEAD, **described)
    (folder / "manifest.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def _frequencies(vocabulary: int, pitch: float) -> FloatArray:
    frequencies: FloatArray = np.linspace(0.7, 9.3, vocabulary, dtype=np.float32) ** 1.3 * np.float32(pitch)
    return frequencies


def _impossible(vocabulary: int) -> FloatArray:
    return np.where(np.arange(vocabulary) < 2, -1e9, 0.0).astype(np.float32)


class _Graph:
    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def op(self, kind: str, *inputs: str, into: str | None = None, **attributes: Any) -> str:
        name = into or f"t{len(self.nodes)}"
        outputs = [name] if kind != "TopK" else [name, "top_ids"]
        self.nodes.append(helper.make_node(kind, list(inputs), outputs, **attributes))
        return name

    def const(self, value: Any, dtype: Any = np.float32) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def ints(self, *values: int) -> str:
        return self.const(values, np.int64)

    def places(self, array: str) -> str:
        """Return 0, 1, 2, … along the third axis of an array."""
        start = self.const(0, np.int64)
        end = self.op("Gather", self.op("Shape", array), self.const(2, np.int64))
        return self.op("Range", start, end, self.const(1, np.int64))

    def model(self, inputs: Sequence[tuple[str, int, Any]], outputs: Sequence[tuple[str, int, Any]]) -> onnx.ModelProto:
        taken, given = ([helper.make_tensor_value_info(*entry) for entry in side] for side in (inputs, outputs))
        graph = helper.make_graph(self.nodes, "toy", taken, given, initializer=self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _encoder(broken: bool) -> onnx.ModelProto:
    graph = _Graph()
    values = graph.op("Mul", graph.op("Cast", "source", to=FLOAT), graph.const(0.065))
    graph.op("Concat", *[graph.op("Unsqueeze", values, graph.ints(1))] * 2, into="notes", axis=1)
    long = graph.op("Mul", graph.op("Cast", "source_lengths", to=FLOAT), graph.const(0.1))
    graph.op("Expand", graph.op("Unsqueeze", long, graph.ints(1)), graph.ints(1, 3), into="m")
    graph.op("Identity", "m", into="initial_mood")
    outputs = [("notes", FLOAT, ["B", 2, "S"]), ("initial_mood", FLOAT, ["B", 3])]
    return graph.model([("source", INT64, ["B", "S"]), ("source_lengths", INT64, ["B"])], outputs[: 1 if broken else 2])


def _decoder(vocabulary: int, pitch: float) -> onnx.ModelProto:
    graph = _Graph()
    one = graph.ints(1)
    shape = graph.op("Shape", "tokens")
    fed = graph.op("Reshape", graph.op("Cast", "tokens", to=FLOAT), graph.ints(-1, 1))  # [N, 1]
    lengths = graph.op("Reshape", graph.op("Cast", "lengths", to=INT64), graph.ints(-1, 1, 1, 1))
    entry = graph.op("Expand", lengths, graph.ints(1, 1, 1, 2))
    value = graph.op("Unsqueeze", graph.op("Concat", fed, fed, axis=1), graph.ints(1, 2))  # [N, 1, 1, 2]
    graph.op("ScatterElements", _as_long(graph), entry, value, into="next_past", axis=2)
    places = graph.op("Unsqueeze", graph.places("next_past"), graph.ints(0, 1, 3))  # [1, 1, T, 1]
    seen = graph.op("LessOrEqual", places, lengths)
    weight = graph.op("Mul", graph.op("Cast", graph.op("Add", places, one), to=FLOAT), graph.const(0.0085))
    weight = graph.op("Where", seen, weight, graph.const(0.0))
    past = graph.op("ReduceSum", graph.op("Mul", "next_past", weight), graph.ints(1, 2, 3), keepdims=0)
    mood = graph.op("Mul", "mood", graph.const(0.5))
    graph.op("Tanh", graph.op("Add", mood, graph.op("Mul", fed, graph.const(0.05))), into="next_mood")
    mood = graph.op("ReduceMean", "next_mood", one, keepdims=0)
    sources = graph.op("Unsqueeze", graph.places("notes"), graph.ints(0))
    valid = graph.op("Less", sources, graph.op("Unsqueeze", "source_lengths", one))
    notes = graph.op("Where", graph.op("Unsqueeze", valid, one), "notes", graph.const(0.0))
    notes = graph.op("Unsqueeze", graph.op("ReduceSum", notes, graph.ints(1, 2), keepdims=0), one)  # [B, 1]
    notes = graph.op("Reshape", graph.op("Expand", notes, shape), graph.ints(-1))
    total = graph.op("Unsqueeze", graph.op("Add", graph.op("Add", notes, past), mood), one)
    waves = graph.op("Sin", graph.op("Mul", total, graph.const(_frequencies(vocabulary, pitch)[None])))
    waves = graph.op("Mul", waves, graph.const(3.0))
    scores = graph.op("LogSoftmax", graph.op("Add", waves, graph.const(_impossible(vocabulary)[None])), axis=1)
    square = graph.op("Concat", shape, graph.const([vocabulary], np.int64), axis=0)
    graph.op("TopK", graph.op("Reshape", scores, square), "candidates", into="top_logprobs")
    arrays: list[tuple[str, int, Any]] = [("past", FLOAT, ["N", 1, "T", 2]), ("mood", FLOAT, ["N", 3])]
    inputs: list[tuple[str, int, Any]] = [
        ("tokens", INT64, ["B", "K"]),
        ("lengths", INT32, ["N"]),
        ("total_length", INT32, [1]),
        ("source_lengths", INT64, ["B"]),
    ]
    inputs += [("candidates", INT64, [1]), ("notes", FLOAT, ["B", 2, "S"]), *arrays]
    outputs: list[tuple[str, int, Any]] = [("top_ids", INT64, ["B", "K", "C"])]
    outputs += [("top_logprobs", FLOAT, ["B", "K", "C"])]
    outputs += [(f"next_{name}", kind, shape) for name, kind, shape in arrays]
    return graph.model(inputs, outputs)


def _as_long(graph: _Graph) -> str:
    """Return the past with room for the longest row and its new entry, as a cache grows."""
    size = graph.op("Shape", "past", start=2, end=3)
    missing = graph.op("Max", graph.op("Sub", graph.op("Cast", "total_length", to=INT64), size), graph.ints(0))
    rows = graph.op("Shape", "past", end=2)
    zeros = graph.op("Expand", graph.const(0.0), graph.op("Concat", rows, missing, graph.ints(2), axis=0))
    return graph.op("Concat", "past", zeros, axis=2)


def _forced() -> onnx.ModelProto:
    """Give minus the token as its log-probability, the token as its rank, and target times source as attention."""
    graph = _Graph()
    values = graph.op("Cast", "target", to=FLOAT)
    graph.op("Neg", values, into="logprobs")
    graph.op("Identity", "target", into="ranks")
    rows = graph.op("Unsqueeze", values, graph.ints(1, 2, 4))
    columns = graph.op("Unsqueeze", graph.op("Cast", "source", to=FLOAT), graph.ints(1, 2, 3))
    graph.op("Mul", rows, columns, into="cross_attention")
    inputs = [("source", INT64, ["B", "S"]), ("source_lengths", INT64, ["B"])]
    inputs += [("target", INT64, ["B", "T"]), ("target_lengths", INT64, ["B"])]
    outputs = [("logprobs", FLOAT, ["B", "T"]), ("ranks", INT64, ["B", "T"])]
    return graph.model(inputs, [*outputs, ("cross_attention", FLOAT, ["B", 1, 1, "T", "S"])])


def sentences(count: int, seed: int = 0) -> list[tuple[int, ...]]:
    """Return sentences of random tokens, 1 to 29 of them and the end."""
    random = np.random.default_rng(seed)
    return [(*random.integers(3, VOCABULARY, random.integers(1, 30)).tolist(), EOS) for _ in range(count)]
