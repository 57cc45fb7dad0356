"""A captioner as one ONNX graph, which reads pictures and returns captions with their attention."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from service.bundle.vocabulary import BOS, EOS
from training.captions.network import CELLS, Captioner, pictures_of
from training.captions.shapes import CELL, GRID, SIZE, WORDS, Mask, Scene
from training.export.graphs.architecture import parameters_of
from training.export.graphs.bahdanau import BahdanauGraphs
from training.export.graphs.blocks import FLOAT, INT64
from training.export.graphs.builder import GraphBuilder
from training.export.graphs.precision import Arithmetic
from training.export.graphs.recurrent_encoders import encode
from training.export.layouts import SOURCE
from training.export.quantise import float_store

STEPS = 9
"""Words of the longest caption, with the end token."""
CONVOLUTION = "source_embedding.convolutions"


class Caption(NamedTuple):
    """A caption and where each of its words looked."""

    words: list[str]
    weights: npt.NDArray[np.float32]
    """[words, GRID, GRID]."""


class CaptionGraph(BahdanauGraphs):
    """The graphs of a translator, but the source is a picture, and greedy search is inside."""

    def build(self, graph: GraphBuilder, convolutions: int) -> None:
        """Build pictures [B, 3, SIZE, SIZE] → tokens [B, STEPS] and weights [B, STEPS, CELLS]."""
        values = graph.input("pictures", FLOAT, ["B", 3, SIZE, SIZE])
        rows = graph.op("Concat", graph.op("Shape", values, start=0, end=1), graph.integers(1), axis=0)  # (B, 1)
        for i in range(convolutions):
            weight, bias = (graph.weight(f"{CONVOLUTION}.{i}.{part}") for part in ("weight", "bias"))
            values = graph.op("Relu", graph.op("Conv", values, weight, bias, strides=[2, 2], pads=[1] * 4))
        values = graph.op("Transpose", graph.reshape(values, 0, 0, CELLS), perm=[0, 2, 1])
        values = graph.op("Add", values, graph.weight(f"{SOURCE}.weight"))
        every = graph.constant(np.ones((CELLS, 1, 1), np.bool_))
        encoded = encode(graph, self.arithmetic, self.config, graph.op("Transpose", values, perm=[1, 0, 2]), every)
        bridge = self.arithmetic.product(graph, "bridge", self.arithmetic.operand(graph, "final", encoded.summary))
        state = [graph.op("Tanh", bridge)]
        annotations = graph.op("Transpose", encoded.annotations, perm=[1, 0, 2])
        lengths = graph.op("Expand", graph.integers(CELLS), graph.op("Shape", annotations, start=0, end=1))
        source = self.attention.source(graph, self.attention.prepare(graph, annotations), lengths, rows)
        token = graph.op("Expand", graph.integers(BOS), rows)  # [B, 1]
        tokens, seen = [], []
        for _ in range(STEPS):
            embedded = self.arithmetic.lookup(graph, self.target_table, graph.reshape(token, -1))
            context, state, weights = self._advance(graph, embedded, state, source, "")
            logits = self.output.logits(graph, self._deep_output(graph, state[-1], embedded, context))
            token = graph.op("ArgMax", logits, axis=-1, keepdims=1)
            tokens.append(token)
            seen.append(weights)
        graph.output("tokens", graph.op("Concat", *tokens, axis=1), INT64, ["B", STEPS])
        graph.output("weights", graph.op("Concat", *seen, axis=1), FLOAT, ["B", STEPS, CELLS])


def export(network: Captioner, path: Path) -> None:
    """Write the network as one file."""
    state = {name: value.numpy() for name, value in network.state_dict().items()}
    store = float_store(parameters_of(network.config, state, 0), "weights.bin")
    for name, array in state.items():
        if name.startswith(CONVOLUTION):
            store.add(name, array)
    graph = GraphBuilder("captions", store)
    CaptionGraph(network.config, Arithmetic()).build(graph, len(network.source_embedding.convolutions))
    with TemporaryDirectory() as folder:
        store.write(Path(folder))
        apart = Path(folder) / "graph.onnx"
        apart.write_bytes(graph.model().SerializeToString(deterministic=True))
        whole = onnx.load(apart)
    path.write_bytes(whole.SerializeToString(deterministic=True))


class CaptionModel:
    """An exported captioner."""

    def __init__(self, path: Path) -> None:
        self._session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    def captions(self, shown: list[Scene]) -> list[Caption]:
        """Return the captions of pictures."""
        tokens, weights = self._session.run(None, {"pictures": pictures_of(shown).numpy()})
        words = []
        for ids, looked in zip(tokens.tolist(), weights, strict=True):
            length = ids.index(EOS) if EOS in ids else STEPS
            words.append(Caption([WORDS[i] for i in ids[:length]], looked[:length].reshape(-1, GRID, GRID)))
        return words


class Figures(NamedTuple):
    """Shares of 1."""

    right: float
    """Of pictures whose whole caption is right."""
    on_shape: float
    """Of colours and forms in right captions whose largest weight is on the shape that they name."""
    chance: float
    """The same of a cell at random."""


def measure(model: CaptionModel, shown: list[Scene]) -> Figures:
    """Measure captions and attention."""
    pairs = list(zip(shown, model.captions(shown), strict=True))
    right = [(scene, caption) for scene, caption in pairs if caption.words == scene.caption]
    hits, sizes = [], []
    for scene, caption in right:
        for place, mask in scene.named:
            touched = _touched(mask)
            hits.append(bool(touched.ravel()[caption.weights[place].argmax()]))
            sizes.append(float(touched.mean()))
    share = len(right) / len(shown)
    return Figures(share, float(np.mean(hits)), float(np.mean(sizes))) if right else Figures(0, 0, 0)


def _touched(mask: Mask) -> Mask:
    """Return the cells that have a pixel of the shape, [GRID, GRID]."""
    return np.asarray(mask.reshape(GRID, CELL, GRID, CELL).any((1, 3)), np.bool_)
