"""A model as its float graphs in ONNX Runtime: the original of its int8 graphs where there is no PyTorch."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from service.bundle.limits import SOURCE_STEP, length_limit
from service.bundle.vocabulary import BOS, EOS
from training.data.padding import PaddedPairs, pad
from training.export.bundle import OWN_FORCED, write_compared_graphs
from training.export.compare import Reference
from training.export.graphs.architecture import make_graphs, parameters_of
from training.export.graphs.precision import Arithmetic
from training.export.manifest import ModelDescription, graph_file
from training.export.parameters import Floats, StateArrays
from training.export.parity import force
from training.export.sessions import Stepper, open_session

ROWS = 16
"""Sentences that are translated together."""


class FloatGraphs:
    """The fp32 graphs of a model; see ``float_graphs``."""

    name = "the float graph"

    def __init__(self, model: ModelDescription, state: StateArrays, float_bias: Floats, folder: Path) -> None:
        self._model, self._state, self.graphs = model, state, folder
        parameters = parameters_of(model.network, state, model.max_tokens)
        self._vocabulary = len(float_bias)
        write_compared_graphs(model.network, parameters, float_bias, folder)
        self._stepper = Stepper(make_graphs(model.network, Arithmetic()), folder, "fp32", model.max_tokens)

    def state(self) -> StateArrays:
        """Return the parameters of the model."""
        return self._state

    def reference(self, batch: PaddedPairs, bias: Floats | None = None) -> Reference:
        """Return forced decoding by the float graphs; see ``Original``. Any other bias is that of the model."""
        result = force(
            open_session(self.graphs / (OWN_FORCED if bias is None else graph_file("forced", "fp32"))), batch
        )
        self._stepper.start(batch.source, batch.source_lengths)
        best = np.stack([self._stepper.step(tokens, 1)[0][:, 0] for tokens in batch.target_in.T], 1)
        attention = {kind: weights for kind, weights in result.items() if kind.endswith("attention")}
        return Reference(result["logprobs"], attention, best, self._vocabulary)

    def translate(
        self,
        sources: Sequence[Sequence[int]],
        longest: int,
        allowed: Sequence[npt.NDArray[np.bool_]] | None = None,
        begins: Sequence[Sequence[int]] | None = None,
    ) -> list[list[int]]:
        """Return greedy translations of sources that are closed as the model reads them, without end tokens.

        ``allowed``, a bool [V] for each source: the tokens that its translation may contain; None: all. ``begins``: the
        tokens with which each translation begins, as many for all; None: none.
        """
        translations: list[list[int]] = [[] for _ in sources]
        order = sorted(range(len(sources)), key=lambda index: -len(sources[index]))
        for start in range(0, len(order), ROWS):
            group = order[start : start + ROWS]
            masks = None if allowed is None else np.stack([allowed[index] for index in group])
            first = [[] if begins is None else begins[index] for index in group]
            written = self._greedy([sources[index] for index in group], longest, masks, first)
            for index, ids in zip(group, written, strict=True):
                translations[index] = ids
        return translations

    def _greedy(
        self,
        sources: Sequence[Sequence[int]],
        longest: int,
        allowed: npt.NDArray[np.bool_] | None,
        begins: Sequence[Sequence[int]],
    ) -> list[list[int]]:
        source, lengths = pad(sources, SOURCE_STEP)
        self._stepper.start(source, lengths)
        limits = [length_limit(length, min(longest, self._model.max_tokens)) for length in lengths.tolist()]
        rows, tokens = np.arange(len(sources)), np.full(len(sources), BOS, np.int64)
        translations = [list(ids) for ids in begins]
        for given in np.array(begins, np.int64).T:
            self._stepper.step(tokens, 1)
            tokens = given
        open_rows = set(rows.tolist())
        while open_rows:
            ids, _ = self._stepper.step(tokens, 1 if allowed is None else self._vocabulary)
            best = 0 if allowed is None else allowed[rows[:, None], ids].argmax(1)
            tokens = ids[rows, best]
            for row in sorted(open_rows):
                if tokens[row] != EOS:
                    translations[row].append(int(tokens[row]))
                if tokens[row] == EOS or len(translations[row]) >= limits[row]:
                    open_rows.remove(row)
        return translations


@contextmanager
def float_graphs(model: ModelDescription, state: StateArrays, float_bias: Floats) -> Iterator[FloatGraphs]:
    """Give the fp32 graphs of a model, in a temporary folder."""
    with tempfile.TemporaryDirectory() as name:
        yield FloatGraphs(model, state, float_bias, Path(name))
