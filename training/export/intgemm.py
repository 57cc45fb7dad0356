"""Products with the integers and multipliers of a quantised Marian model, as intgemm computes them.

An input x becomes ``clip(round(x · a), ±127) + 127``, and the bias of a product takes the 127 back: then float32 rounds
where it does in Marian. Facts: browsermt/marian-dev, ``tensors/cpu/intgemm_interface.h``; the code is our own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from training.export.graphs.precision import SHIFTED, Calibration, QuantisedRange
from training.export.parameters import Floats, Parameters
from training.export.weights import WeightStore

ZERO = np.float32(127)
"""What is added to integers from -127 to 127."""
_ONE = np.float32(1)


@dataclass(frozen=True, slots=True)
class Intgemm:
    """The multipliers of a model whose weights are eight-bit integers."""

    weights: Mapping[str, Floats]
    """Of each column of a matrix, and of each row of a table; other weights are rounded by us."""
    activations: Mapping[str, np.float32]
    """Of the input of a matrix or table; without one, each row of the input has its own scale."""

    def plan(self, plan: Calibration, products: Mapping[str, tuple[str, ...]]) -> Calibration:
        """Return the plan with these multipliers in the place of what was measured."""
        ranges, by_row = dict(plan.ranges), set(plan.by_row)
        for site in ranges:
            readers = {name for name, sites in products.items() if sites == (site,) and name in self.weights}
            read_ranges = {self.activations.get(name) for name in readers}
            multiplier = read_ranges.pop() if len(read_ranges) == 1 else None
            if multiplier is None:
                by_row |= readers
            else:
                ranges[site] = QuantisedRange(float(_ONE / multiplier), int(ZERO), shifted=True)
                by_row -= readers
        return Calibration(ranges, frozenset(by_row))

    def integers(self, name: str, weight: Floats, axis: int) -> tuple[npt.NDArray[np.int8], Floats]:
        """Return the integers of a weight, and their scale along an axis."""
        scale = _ONE / self.weights[name]
        return np.rint(weight / np.expand_dims(scale, 1 - axis)).astype(np.int8), scale

    def shifted(
        self, parameters: Parameters, products: Mapping[str, tuple[str, ...]], plan: Calibration, store: WeightStore
    ) -> Iterator[tuple[str, Floats]]:
        """Yield scale and bias of every product whose input is shifted, with their names in the store."""
        for name, matrix in parameters.matrices.items():
            if name in plan.by_row or name not in self.weights or not plan.ranges[products[name][0]].shifted:
                continue
            of_input, of_weight = self.activations[name], self.weights[name]
            sums = store[f"{name}.weight"].sum(axis=0, dtype=np.int32).astype(np.float32)
            back = -((ZERO / of_input) * (ZERO / of_weight)) / ZERO
            yield f"{name}.{SHIFTED}", _ONE / (of_input * of_weight)
            yield f"{name}.{SHIFTED}_bias", sums * back + (0 if matrix.bias is None else matrix.bias)
