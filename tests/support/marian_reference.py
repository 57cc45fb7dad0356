"""A numpy translator for Marian's students with SSRU decoders: slow, plain, and the measure for our own engine.

Facts name their place in marian-nmt/marian-dev (marian) or browsermt/marian-dev (browsermt); the code is our own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tests.support.marian_students import Student, embeddings, is_product, number, quantised, vocabulary_sizes

Array = NDArray[np.float32]
EOS, UNKNOWN = 0, 1  # marian src/data/sentencepiece_vocab.cpp: spm_train with these ids


@dataclass(frozen=True)
class Step:
    """What one decoder step gives: logits of the candidates, cells of the layers, a row of the alignment head."""

    logits: Array
    cells: tuple[Array, ...]
    alignment: Array


@dataclass(frozen=True)
class Translation:
    """A translation: ids with the end, a row of the alignment head for every id."""

    ids: tuple[int, ...]
    alignment: Array


@dataclass
class MarianReference:
    """A translator of a student; with multipliers of the activations it computes as the engine does with int8."""

    student: Student
    largest: dict[str, list[float]] = field(default_factory=dict)  # magnitudes of what each product was given
    _integers: dict[str, tuple[NDArray[np.float64], np.float32]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Round the weights once for int8."""
        if self.student.alphas:
            for name, weight in self.student.weights.items():
                if is_product(name):
                    integers, multiplier = quantised(weight)
                    self._integers[name] = integers.astype(np.float64), multiplier

    def encode(self, source: Sequence[int]) -> Array:
        """Return the encoder's output for pieces that end with the end of sentence."""
        states = self._embedded(self._embedding(0, source), first=0)
        for layer in range(1, number(self.student.options, "enc-depth") + 1):
            states, _ = self._attention(states, states, f"encoder_l{layer}_self")
            states = self._feed_forward(states, f"encoder_l{layer}_ffn")
        return states

    def step(
        self, memory: Array, cells: Sequence[Array], previous: int | None, position: int, candidates: Sequence[int]
    ) -> Step:
        """Decode one position; the first has no previous id, its embedding is zero (marian src/models/decoder.h).

        The alignment head is head 0 of the last layer (marian transformer.h, collectOneHead).
        """
        embedding = np.zeros_like(cells[0]) if previous is None else self._embedding(1, [previous])
        states, weights, new_cells = self._embedded(embedding, first=position), memory, []
        for layer, cell in enumerate(cells, start=1):
            states, new_cell = self._recurrent(states, cell, f"decoder_l{layer}_rnn")
            states, weights = self._attention(states, memory, f"decoder_l{layer}_context")
            states = self._feed_forward(states, f"decoder_l{layer}_ffn")
            new_cells.append(new_cell)
        return Step(self._output(states, candidates)[0], tuple(new_cells), weights[0, 0])

    def greedy(
        self, source: Sequence[int], candidates: Sequence[int] | None = None, *, length_factor: float = 2.0
    ) -> Translation:
        """Translate by the best id of each step; unknown is never chosen (marian beam_search.cpp)."""
        width, depth = (number(self.student.options, name) for name in ("dim-emb", "dec-depth"))
        allowed = range(vocabulary_sizes(self.student.options)[1]) if candidates is None else candidates
        memory, ids, rows = self.encode(source), list[int](), []
        cells = (np.zeros((1, width), np.float32),) * depth  # marian src/models/transformer.h, startState
        while ids[-1:] != [EOS] and len(ids) < length_factor * len(source):
            step = self.step(memory, cells, ids[-1] if ids else None, len(ids), allowed)
            step.logits[np.array(allowed) == UNKNOWN] = -np.inf
            ids.append(allowed[int(step.logits.argmax())])
            rows.append(step.alignment)
            cells = step.cells
        return Translation(tuple(ids), np.array(rows))

    def measured_alphas(self) -> dict[str, float]:
        """Return the activations' multipliers of the sentences seen (browsermt scripts/alphas/extract_stats.py)."""
        return {name: 127 / float(np.mean(seen) + 1.1 * np.std(seen)) for name, seen in self.largest.items()}

    def _embedding(self, side: int, pieces: Sequence[int]) -> Array:
        """Return embeddings of the source (0) or target (1) side; int8 ones as the floats they stand for.

        browsermt src/tensors/cpu/integer_common.h, unquantizeWemb.
        """
        name = embeddings(self.student.options)[side]
        if not self.student.alphas:
            return self.student.weights[name][list(pieces)]
        integers, multiplier = self._integers[name]
        return integers[list(pieces)].astype(np.float32) * (np.float32(1) / multiplier)

    def _embedded(self, embeddings: Array, first: int) -> Array:
        """Scale embeddings and add positions: a half of sines, then a half of cosines.

        marian src/models/transformer.h addPositionalEmbeddings, tensors/cpu/tensor_operators.cpp.
        """
        width = number(self.student.options, "dim-emb")
        half = width // 2
        places = np.arange(first, first + len(embeddings), dtype=np.float32)[:, None]
        step = np.float32(np.log(np.float32(10000))) / np.float32(half - 1)
        angles = places * np.exp(np.arange(half, dtype=np.float32) * -step)
        positions = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        embedded: Array = np.float32(np.sqrt(width)) * embeddings + positions
        return embedded

    def _finished(self, states: Array, residual: Array, prefix: str) -> Array:
        """Add the input of a layer to what it gives, and normalise (the students' postprocess is "dan")."""
        return self._norm(states + residual, prefix)

    def _norm(self, states: Array, prefix: str) -> Array:
        """Normalise each row (marian src/layers/generic.h: 1e-6 under the root)."""
        centred = states - states.mean(axis=-1, keepdims=True)
        deviation = np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + np.float32(1e-6))
        scale, bias = (self.student.weights[f"{prefix}_ln_{part}"] for part in ("scale", "bias"))
        normalised: Array = scale * (centred / deviation) + bias
        return normalised

    def _recurrent(self, states: Array, cell: Array, prefix: str) -> tuple[Array, Array]:
        """Apply an SSRU: the forget gate keeps the cell, the rest is new (marian src/rnn/cells.h, class SSRU)."""
        forget = np.float32(1) / (np.float32(1) + np.exp(-self._product(states, f"{prefix}_Wf", f"{prefix}_bf")))
        cell = forget * cell + (1 - forget) * self._product(states, f"{prefix}_W")
        return self._finished(np.maximum(cell, 0), states, f"{prefix}_ffn"), cell

    def _attention(self, states: Array, memory: Array, prefix: str) -> tuple[Array, Array]:
        """Attend to a memory, which may be the states themselves; also return the weights by head."""
        query, key, value = (
            self._heads(self._product(given, f"{prefix}_W{part}", f"{prefix}_b{part}"))
            for given, part in ((states, "q"), (memory, "k"), (memory, "v"))
        )
        scores = query @ key.transpose(0, 2, 1) * np.float32(1 / np.sqrt(query.shape[-1]))
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights: Array = powers / powers.sum(axis=-1, keepdims=True)
        joined = (weights @ value).transpose(1, 0, 2).reshape(states.shape)
        return self._finished(self._product(joined, f"{prefix}_Wo", f"{prefix}_bo"), states, f"{prefix}_Wo"), weights

    def _heads(self, states: Array) -> Array:
        """Cut rows into consecutive slices, one a head."""
        return states.reshape(len(states), number(self.student.options, "transformer-heads"), -1).transpose(1, 0, 2)

    def _feed_forward(self, states: Array, prefix: str) -> Array:
        """Apply the two feed-forward layers."""
        inner = np.maximum(self._product(states, f"{prefix}_W1", f"{prefix}_b1"), 0)
        return self._finished(self._product(inner, f"{prefix}_W2", f"{prefix}_b2"), states, f"{prefix}_ffn")

    def _output(self, states: Array, candidates: Sequence[int]) -> Array:
        """Score the candidates by the target embeddings (marian src/layers/generic.cpp, Output)."""
        name = embeddings(self.student.options)[1]
        return self._product(states, name, "decoder_ff_logit_out_b", list(candidates))

    def _product(self, inputs: Array, name: str, bias: str | None = None, rows: list[int] | None = None) -> Array:
        """Multiply by a weight; rows of an embedding make it the output layer's weight."""
        self.largest.setdefault(name, []).append(float(np.abs(inputs).max()))
        added: Array = self.student.weights[bias][0] if bias is not None else np.zeros(1, np.float32)
        added = added if rows is None else added[rows]
        if not self.student.alphas:
            weight = self.student.weights[name]
            return inputs @ (weight if rows is None else weight[rows].T) + added
        integers, multiplier = self._integers[name]
        integers = integers if rows is None else integers[rows].T
        alpha = np.float32(self.student.alphas[name])
        return _int8_product(inputs, alpha, integers, multiplier, added)


def _int8_product(
    inputs: Array, alpha: np.float32, integers: NDArray[np.float64], multiplier: np.float32, bias: Array
) -> Array:
    """Multiply as intgemm's shifted kernels do: inputs are moved to 0…254 and the bias takes it back.

    browsermt src/tensors/cpu/intgemm_interface.h, PrepareBiasForBNodeOp and AffineNodeOp.
    """
    shifted = np.clip(np.rint(inputs * alpha), -127, 127).astype(np.float64) + 127  # float64 holds the sums exactly
    back = np.float32(-1) * ((np.float32(127) / alpha) * (np.float32(127) / multiplier)) / np.float32(127)
    prepared = integers.sum(axis=0).astype(np.float32) * back + bias
    product: Array = (shifted @ integers).astype(np.float32) * (np.float32(1) / (alpha * multiplier)) + prepared
    return product
