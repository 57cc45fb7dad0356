"""Arrays that grow geometrically, so that single sentences are added at low cost, and the removal of entries."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from service.bundle.manifest import ArraySpec
from service.engine.jobs import IntArray

Array = npt.NDArray[Any]
Arrays = dict[str, Array]

LEAST_CAPACITY = 4


def capacity_for(needed: int, present: int) -> int:
    """Return the capacity to allocate for `needed` entries, given the `present` capacity."""
    return present if needed <= present else max(needed, 2 * present, LEAST_CAPACITY)


def round_up(needed: int, step: int) -> int:
    """Return the least multiple of `step` for `needed` entries, at least one step, so that no array is empty."""
    return max(-(-needed // step), 1) * step


def grow(array: Array, needed: int, axis: int = 0) -> Array:
    """Return the array if its axis holds `needed` entries, else a larger one with the same entries and zeros."""
    present = array.shape[axis]
    if needed <= present:
        return array
    shape = list(array.shape)
    shape[axis] = capacity_for(needed, present)
    # zeros, not empty: entries that are masked out still enter products, where a stray infinity would become NaN
    larger = np.zeros(shape, array.dtype)
    larger[(slice(None),) * axis + (slice(present),)] = array
    return larger


def plan_swap_remove(size: int, removed: Sequence[int]) -> tuple[IntArray, IntArray]:
    """Return (holes, movers): the moves that remove the entries `removed` (ascending, distinct) of an array of `size`.

    The last entries move into the holes, and the first `size - len(removed)` remain. No hole is also a mover.
    """
    left = size - len(removed)
    gone = set(removed)
    holes = [index for index in removed if index < left]
    movers = [index for index in range(left, size) if index not in gone]
    return np.asarray(holes, np.int64), np.asarray(movers, np.int64)


def swap_remove(records: list[Any], removed: int, holes: IntArray, movers: IntArray) -> None:
    """Apply the moves of `plan_swap_remove` to a list with so many removed entries."""
    for hole, mover in zip(holes.tolist(), movers.tolist(), strict=True):
        records[hole] = records[mover]
    del records[len(records) - removed :]


class StateBuffer:
    """An array of a decoder state, with spare capacity: an entry for each row or sentence along axis 0.

    It may also have an axis of variable length (S, T or O).
    """

    def __init__(self, spec: ArraySpec, length: int) -> None:
        varying = [index for index, axis in enumerate(spec.axes) if index and isinstance(axis, str)]
        self.axis = varying[0] if varying else None
        self.letter = str(spec.axes[varying[0]]) if varying else ""
        self._padding = spec.padding
        shape = [0, *(axis if isinstance(axis, int) else length for axis in spec.axes[1:])]
        self.array: Array = np.zeros(shape, spec.dtype)

    @property
    def length(self) -> int:
        """Return the capacity of the variable axis; 0 without one."""
        return 0 if self.axis is None else self.array.shape[self.axis]

    def resize(self, capacity: int, length: int, rows: int, used: int) -> None:
        """Make room for so many entries and so long a variable axis; keep `used` places of the first `rows`.

        Nothing else is copied, so memory that no row uses is not touched.
        """
        assert self.axis is not None
        shape = list(self.array.shape)
        shape[0], shape[self.axis] = capacity, length
        before, part = self.array, (slice(rows), *self._inner(used))
        # zeros, not empty: entries that are masked out still enter products, where a stray infinity would become NaN
        self.array = np.zeros(shape, before.dtype)
        self.array[part] = before[part]

    def fit(self, needed: int, rows: int) -> None:
        """Give the variable axis exactly `needed` entries; keep those of the first `rows`, with padding after them."""
        assert self.axis is not None
        before = self.length
        self.resize(len(self.array), needed, rows, min(before, needed))
        if self._padding is not None and needed > before:
            self.array[(slice(rows), *self._inner(needed, before))] = self._padding

    def put(self, place: int, values: Array) -> None:
        """Write an entry, cut or padded along the variable axis if the lengths differ."""
        held = self.array[place]
        if held.shape == values.shape:
            held[...] = values
            return
        assert self.axis is not None
        given = values.shape[self.axis - 1]
        part = self._inner(min(given, self.length))
        held[part] = values[part]
        if self._padding is not None:
            held[self._inner(self.length, given)] = self._padding

    def move(self, to: Sequence[int], rows: Sequence[int], used: Sequence[int]) -> None:
        """Copy the first `used` entries of each of `rows` to the row in `to`; no row of `to` is read afterwards.

        Row by row, because one long row beside short ones would otherwise set the length of every copy.
        """
        array = self.array
        for place, row, count in zip(to, rows, used, strict=True):
            part = self._inner(count)
            array[(place, *part)] = array[(row, *part)]

    def _inner(self, used: int, begin: int = 0) -> tuple[Any, ...]:
        """Return the index of the axes after the first, up to entries `begin` to `used` of the variable one."""
        assert self.axis is not None
        return (*(slice(None),) * (self.axis - 1), slice(begin, used))
