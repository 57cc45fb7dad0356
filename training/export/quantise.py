"""Weights and activations as 8-bit integers: scales and their errors.

Weights are symmetric for each output channel within ±64: with uint8 activations the sum of two products stays
below 2¹⁵, so that the saturating instruction of CPUs without VNNI (vpmaddubsw) is exact, and every CPU gives the
same numbers. Activations are uint8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from training.export.parameters import Floats, Matrix, Parameters
from training.export.precision import Plan, Range
from training.export.weights import WeightStore

WEIGHT_LIMIT = 64
_CLIPS = np.linspace(0.5, 1.0, 26)
_BY_ROW_LIMIT = 2e-3
"""The squared error of a product, relative to its result, above which each row gets its own activation scale."""


@dataclass(frozen=True, slots=True)
class Quantised:
    """``weight ≈ values · scale`` along an axis."""

    values: npt.NDArray[np.int8]
    scale: Floats


def quantise_weight(weight: Floats, axis: int, importance: Floats | None = None) -> Quantised:
    """Quantise with one scale for each index of ``axis``, clipped if that reduces the squared error.

    ``importance`` weighs the other axis: the mean square of the values that it is multiplied by.
    """
    columns = weight if axis == 1 else weight.T  # [K, N]
    power = np.ones((len(columns), 1), np.float32) if importance is None else importance[:, None]
    highest = np.maximum(np.abs(columns).max(axis=0), 1e-12)
    best, least = highest / WEIGHT_LIMIT, np.full(columns.shape[1], np.inf)
    for clip in _CLIPS:
        scale = highest * (clip / WEIGHT_LIMIT)
        error = (power * (np.clip(np.rint(columns / scale), -WEIGHT_LIMIT, WEIGHT_LIMIT) * scale - columns) ** 2).sum(0)
        better = error < least
        best[better], least[better] = scale[better], error[better]
    best = best.astype(np.float32)
    values = np.clip(np.rint(columns / best), -WEIGHT_LIMIT, WEIGHT_LIMIT).astype(np.int8)
    return Quantised(np.ascontiguousarray(values if axis == 1 else values.T), best)


def choose_range(values: Floats, symmetric: bool) -> Range:
    """Return the scale and zero point with the smallest squared error over sampled values."""
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    flat = values.ravel()
    flat = flat[:: max(1, flat.size // 100_000)]
    best, least = Range(1.0, 128), np.inf
    for clip in np.linspace(0.2, 1.0, 33):
        candidate = _range(low * clip, high * clip, symmetric)
        error = float(((fake_quantise(flat, candidate) - flat) ** 2).mean())
        if error < least:
            best, least = candidate, error
    return best


def _range(low: float, high: float, symmetric: bool) -> Range:
    if symmetric:
        return Range(float(np.float32(max(-low, high, 1e-8) / 127)), 128)
    scale = float(np.float32(max(high - low, 1e-8) / 255))
    return Range(scale, int(np.clip(round(-low / scale), 0, 255)))


def fake_quantise(values: Floats, site: Range) -> Floats:
    """Return the values after quantisation to uint8 and back."""
    quantised = np.clip(np.rint(values / np.float32(site.scale)) + site.zero, 0, 255)
    result: Floats = (quantised - site.zero).astype(np.float32) * np.float32(site.scale)
    return result


UNSEEN_MARGIN = 1.25
"""The factor by which a fixed range is widened if calibration had no real text."""


def make_plan(
    parameters: Parameters,
    products: Mapping[str, tuple[str, ...]],
    samples: Mapping[str, Floats],
    text_seen: bool = True,
) -> Plan:
    """Choose a range for every site and find the products that need a scale for every row.

    ``products``: the sites that each product reads. ``samples``: rows [R, K] from each site. Without ``text_seen`` the
    samples are not real text: every product that can have a scale for each row then has one, and the ranges of the
    others are widened.
    """
    parts = {site for sites in products.values() if len(sites) > 1 for site in sites}
    ranges = {site: choose_range(values, site in parts) for site, values in samples.items()}
    if not text_seen:
        ranges = {site: Range(each.scale * UNSEEN_MARGIN, each.zero) for site, each in ranges.items()}
    able = {name: sites[0] for name, sites in products.items() if len(sites) == 1 and name in parameters.matrices}
    by_row = {
        name
        for name, site in able.items()
        if not text_seen or static_error(parameters.matrices[name], samples[site], ranges[site]) > _BY_ROW_LIMIT
    }
    return Plan(ranges, frozenset(by_row))


def static_error(matrix: Matrix, rows: Floats, site: Range) -> float:
    """Return the mean squared error that a fixed activation scale adds to a product, relative to each row's result.

    A row close to zero has little weight, because its error has no effect.
    """
    rows = rows[:512]
    power = ((rows @ matrix.weight) ** 2).mean(axis=1)
    lost = (((fake_quantise(rows, site) - rows) @ matrix.weight) ** 2).mean(axis=1)
    return float((lost / (power + 0.01 * power.mean() + 1e-12)).mean())


def quantised_store(
    parameters: Parameters,
    products: Mapping[str, tuple[str, ...]],
    samples: Mapping[str, Floats],
    plan: Plan,
    location: str,
) -> WeightStore:
    """Return every weight once as int8 with its scales, the rest as float32."""
    store = WeightStore(location)
    for name, matrix in parameters.matrices.items():
        sites = products[name]
        weight, rows = matrix.weight, np.concatenate([samples[site][:4096] for site in sites], axis=1)
        if len(sites) > 1:
            # The scales of the parts are folded into the matrix, so that one product is enough for all of them.
            sizes = [samples[site].shape[1] for site in sites]
            folded = np.repeat([plan.ranges[site].scale for site in sites], sizes).astype(np.float32)
            weight, rows = weight * folded[:, None], rows / folded
            store.add(f"{name}.rows", 1 / folded)
        _add(store, name, quantise_weight(weight, 1, (rows**2).mean(0) + 1e-8))
        if matrix.bias is not None:
            store.add(f"{name}.bias", matrix.bias)
    for name, table in parameters.tables.items():
        _add(store, name, quantise_weight(table, 0))
    for name, vector in parameters.vectors.items():
        store.add(name, vector)
    return store


def _add(store: WeightStore, name: str, quantised: Quantised) -> None:
    store.add(f"{name}.weight", quantised.values)
    store.add(f"{name}.scale", quantised.scale)


def float_store(parameters: Parameters, location: str) -> WeightStore:
    """Return every weight as float32."""
    store = WeightStore(location)
    for name, matrix in parameters.matrices.items():
        store.add(f"{name}.weight", matrix.weight)
        if matrix.bias is not None:
            store.add(f"{name}.bias", matrix.bias)
    for name, table in parameters.tables.items():
        store.add(f"{name}.weight", table)
    for name, vector in parameters.vectors.items():
        store.add(name, vector)
    return store
