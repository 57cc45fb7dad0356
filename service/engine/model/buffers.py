"""Arrays that grow geometrically, so that single sentences are added at low cost, and the removal of entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from service.engine.types import IntArray

LEAST_CAPACITY = 4


def capacity_for(needed: int, present: int) -> int:
    """Return the capacity to allocate for `needed` entries, given the `present` capacity."""
    return present if needed <= present else max(needed, 2 * present, LEAST_CAPACITY)


def round_up(needed: int, step: int) -> int:
    """Return the least multiple of `step` for `needed` entries, at least one step, so that no array is empty."""
    return max(-(-needed // step), 1) * step


def grow(array: npt.NDArray[Any], needed: int, axis: int = 0) -> npt.NDArray[Any]:
    """Return the array if its axis holds `needed` entries, else a larger one with the same entries and zeros."""
    capacity = capacity_for(needed, array.shape[axis])
    return array if capacity == array.shape[axis] else resized(array, capacity, axis)


def resized(array: npt.NDArray[Any], size: int, axis: int) -> npt.NDArray[Any]:
    """Return a copy whose axis has `size` entries: the first ones of the array, then zeros."""
    shape = list(array.shape)
    kept = min(size, shape[axis])
    shape[axis] = size
    # zeros, not empty: entries that are masked out still enter products, where a stray infinity would become NaN
    copy = np.zeros(shape, array.dtype)
    part = (slice(None),) * axis + (slice(kept),)
    copy[part] = array[part]
    return copy


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
