"""A numpy translator for Marian's students with SSRU decoders: slow, plain, and the measure for our own engine.

Facts name their place in marian-nmt/marian-dev (marian) or browsermt/marian-dev (browsermt); the code is our own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tests.support.marian_students import Student, embeddings, is_product, number, quantised, vocabulary_sizes

Array = NDArray[np.float32]
EOS, UNKNOWN = 0, 1  # marian src/data/sentencepiece_vocab.cpp: spm_train with these ids


@dataclass(frozen=True)
class Step:
    """What one decoder step gives: logits of the candidates, cells of the layers, attention by layer and head."""

    logits: Array
    cells: tuple[Array, ...]
    attention: Array


@dataclass(frozen=True)
class Translation:
    """A translation: ids with the end, normalised score, a row of the alignment head for every id."""

    ids: tuple[int, ...]
    score: float
    alignment: Array


@dataclass(frozen=True)
class _Hypothesis:
    """A beginning of a translation in a beam."""

    ids: tuple[int, ...] = ()
    score: float = 0.0
    cells: tuple[Array, ...] = ()
    rows: tuple[Array, ...] = ()


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
        states = original = self._prepared(states, "encoder_emb", "transformer-postprocess-emb")
        for layer in range(1, number(self.student.options, "enc-depth") + 1):
            prefix = f"encoder_l{layer}"
            states, _ = self._attention(states, None, f"{prefix}_self")
            states = self._feed_forward(states, f"{prefix}_ffn")
        return self._finished(states, original, "encoder_top", "transformer-postprocess-top")

    def start(self) -> tuple[Array, ...]:
        """Return the cells before the first step: zeros (marian src/models/transformer.h, startState)."""
        width, depth = (number(self.student.options, name) for name in ("dim-emb", "dec-depth"))
        return (np.zeros((1, width), np.float32),) * depth

    def step(
        self, memory: Array, cells: Sequence[Array], previous: int | None, position: int, candidates: Sequence[int]
    ) -> Step:
        """Decode one position; the first has no previous id, its embedding is zero (marian src/models/decoder.h)."""
        zero = np.zeros((1, number(self.student.options, "dim-emb")), np.float32)
        states = self._embedded(zero if previous is None else self._embedding(1, [previous]), first=position)
        states = original = self._prepared(states, "decoder_emb", "transformer-postprocess-emb")
        new_cells, attention = [], []
        for layer, cell in enumerate(cells, start=1):
            prefix = f"decoder_l{layer}"
            states, new_cell = self.recurrent(states, cell, f"{prefix}_rnn")
            states, weights = self._attention(states, memory, f"{prefix}_context")
            states = self._feed_forward(states, f"{prefix}_ffn")
            new_cells.append(new_cell)
            attention.append(weights[:, 0])
        states = self._finished(states, original, "decoder_top", "transformer-postprocess-top")
        return Step(self._output(states, candidates)[0], tuple(new_cells), np.array(attention))

    def aligned(self, step: Step) -> Array:
        """Return the row that Marian exports: head 0 of the guided layer (marian transformer.h, collectOneHead)."""
        layer = str(self.student.options["transformer-guided-alignment-layer"])
        row: Array = step.attention[-1 if layer == "last" else int(layer) - 1, 0]
        return row

    def greedy(
        self, source: Sequence[int], candidates: Sequence[int] | None = None, *, length_factor: float = 2.0
    ) -> Translation:
        """Translate by the best id of each step."""
        allowed, memory = self._allowed(candidates), self.encode(source)
        made = _Hypothesis(cells=self.start())
        while made.ids[-1:] != (EOS,) and len(made.ids) < length_factor * len(source):
            step, scores = self._continued(made, memory, allowed)
            best = int(scores.argmax())
            made = self._extended(made, step, allowed[best], made.score + float(scores[best]))
        return Translation(made.ids, made.score / len(made.ids), np.array(made.rows))

    def beam(
        self,
        source: Sequence[int],
        candidates: Sequence[int] | None = None,
        *,
        size: int,
        normalize: float = 1.0,
        word_penalty: float = 0.0,
        length_factor: float = 2.0,
    ) -> Translation:
        """Translate by beam search; a finished hypothesis makes the beam narrower (marian beam_search.cpp, history.h).

        The score is (sum of log probabilities - word penalty * length) / length ** normalize; the end counts.
        """
        allowed, memory = self._allowed(candidates), self.encode(source)
        beam, finished = [_Hypothesis(cells=self.start())], []
        width = size
        while width:
            beam = sorted(self._expanded(beam, memory, allowed, width), key=lambda made: -made.score)[:width]
            last = len(beam[0].ids) >= length_factor * len(source)
            finished += [made for made in beam if last or made.ids[-1] == EOS]
            beam = [made for made in beam if made.ids[-1] != EOS]
            width = 0 if last else len(beam)
        scored = [((made.score - word_penalty * len(made.ids)) / len(made.ids) ** normalize, made) for made in finished]
        score, best = max(scored, key=lambda pair: pair[0])
        return Translation(best.ids, score, np.array(best.rows))

    def measured_alphas(self) -> dict[str, float]:
        """Return the activations' multipliers of the sentences seen (browsermt scripts/alphas/extract_stats.py)."""
        return {name: 127 / float(np.mean(seen) + 1.1 * np.std(seen)) for name, seen in self.largest.items()}

    def _expanded(
        self, beam: Sequence[_Hypothesis], memory: Array, allowed: Sequence[int], width: int
    ) -> Iterator[_Hypothesis]:
        """Continue every hypothesis of a beam by its best ids."""
        for made in beam:
            step, scores = self._continued(made, memory, allowed)
            for place in np.argsort(-scores, kind="stable")[:width]:
                yield self._extended(made, step, allowed[place], made.score + float(scores[place]))

    def _continued(self, made: _Hypothesis, memory: Array, allowed: Sequence[int]) -> tuple[Step, Array]:
        """Return the next step of a hypothesis and the log probabilities of the candidates."""
        previous = made.ids[-1] if made.ids else None
        step = self.step(memory, made.cells, previous, len(made.ids), allowed)
        return step, _log_softmax(step.logits, allowed)

    def _extended(self, made: _Hypothesis, step: Step, piece: int, score: float) -> _Hypothesis:
        """Return a hypothesis with one more id."""
        return _Hypothesis((*made.ids, piece), score, step.cells, (*made.rows, self.aligned(step)))

    def _allowed(self, candidates: Sequence[int] | None) -> Sequence[int]:
        """Return the ids that the output layer scores."""
        return range(vocabulary_sizes(self.student.options)[1]) if candidates is None else candidates

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

    def _prepared(self, states: Array, prefix: str, option: str = "transformer-preprocess") -> Array:
        """Apply what comes before a layer: "n" is a norm with names of its own, "d" is nothing when translating."""
        return self._norm(states, prefix, "_pre") if "n" in str(self.student.options[option]) else states

    def _finished(self, states: Array, residual: Array, prefix: str, option: str = "transformer-postprocess") -> Array:
        """Apply what comes after a layer: "a" adds its input, "n" is a norm, in the order of the letters."""
        for operation in str(self.student.options[option]):
            if operation == "a":
                states = states + residual
            elif operation == "n":
                states = self._norm(states, prefix)
        return states

    def _norm(self, states: Array, prefix: str, suffix: str = "") -> Array:
        """Normalise each row (marian src/layers/generic.h: 1e-6 under the root)."""
        centred = states - states.mean(axis=-1, keepdims=True)
        deviation = np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + np.float32(1e-6))
        scale, bias = (self.student.weights[f"{prefix}_ln_{part}{suffix}"] for part in ("scale", "bias"))
        normalised: Array = scale * (centred / deviation) + bias
        return normalised

    def recurrent(self, states: Array, cell: Array, prefix: str) -> tuple[Array, Array]:
        """Apply an SSRU: the forget gate keeps the cell, the rest is new (marian src/rnn/cells.h, class SSRU)."""
        inputs = self._prepared(states, prefix)
        forget = _sigmoid(self._product(inputs, f"{prefix}_Wf", f"{prefix}_bf"))
        cell = forget * cell + (1 - forget) * self._product(inputs, f"{prefix}_W")
        return self._finished(np.maximum(cell, 0), states, f"{prefix}_ffn"), cell

    def _attention(self, states: Array, memory: Array | None, prefix: str) -> tuple[Array, Array]:
        """Attend to a memory, or to the states themselves; also return the weights by head."""
        inputs = self._prepared(states, f"{prefix}_Wo")
        memory = states if memory is None else memory
        query, key, value = (
            self._heads(self._product(given, f"{prefix}_W{part}", f"{prefix}_b{part}"))
            for given, part in ((inputs, "q"), (memory, "k"), (memory, "v"))
        )
        weights = _softmax(query @ key.transpose(0, 2, 1) * np.float32(1 / np.sqrt(query.shape[-1])))
        joined = (weights @ value).transpose(1, 0, 2).reshape(states.shape)
        if not self.student.options["transformer-no-projection"]:
            joined = self._product(joined, f"{prefix}_Wo", f"{prefix}_bo")
        return self._finished(joined, states, f"{prefix}_Wo"), weights

    def _heads(self, states: Array) -> Array:
        """Cut rows into consecutive slices, one a head."""
        return states.reshape(len(states), number(self.student.options, "transformer-heads"), -1).transpose(1, 0, 2)

    def _feed_forward(self, states: Array, prefix: str) -> Array:
        """Apply the feed-forward layers, with the activation between them."""
        depth = number(self.student.options, "transformer-ffn-depth")
        inner = self._prepared(states, f"{prefix}_ffn")
        for layer in range(1, depth + 1):
            inner = self._product(inner, f"{prefix}_W{layer}", f"{prefix}_b{layer}")
            if layer < depth:
                swish = self.student.options["transformer-ffn-activation"] == "swish"
                inner = inner * _sigmoid(inner) if swish else np.maximum(inner, 0)
        return self._finished(inner, states, f"{prefix}_ffn")

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


def _sigmoid(values: Array) -> Array:
    """Return the logistic function."""
    gate: Array = np.float32(1) / (np.float32(1) + np.exp(-values))
    return gate


def _softmax(scores: Array) -> Array:
    """Return probabilities along the last axis."""
    powers: Array = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights: Array = powers / powers.sum(axis=-1, keepdims=True)
    return weights


def _log_softmax(logits: Array, candidates: Sequence[int]) -> Array:
    """Return log probabilities; unknown is never chosen, yet counts in the sum (marian beam_search.cpp)."""
    shifted = logits - logits.max()
    scores: Array = shifted - np.log(np.exp(shifted).sum())
    scores[np.array(candidates) == UNKNOWN] = -np.inf
    return scores
