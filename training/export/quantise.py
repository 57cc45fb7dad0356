"""Quantises weights to int8; runs the float graphs on development text to find fixed scales for activations."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from training.data.dataset import EncodedPairs
from training.export.graphs.architecture import NetworkConfig, make_graphs
from training.export.graphs.builder import GraphBuilder
from training.export.graphs.precision import Arithmetic, Calibration, QuantisedRange
from training.export.intgemm import Intgemm
from training.export.parameters import Floats, Matrix, Parameters
from training.export.sessions import open_session, run
from training.export.weights import WeightStore

WEIGHT_LIMIT = 64
_CLIPS = np.linspace(0.5, 1.0, 26)
_BY_ROW_LIMIT = 2e-3
"""The squared error of a product, relative to its result, above which each row gets its own activation scale."""

_AT_ONCE = 8192
"""Rows of a table: this needs several copies of them, and a table may have a gigabyte."""


@dataclass(frozen=True, slots=True)
class Quantised:
    """``weight ≈ values · scale`` along an axis."""

    values: npt.NDArray[np.int8]
    scale: Floats


def quantise_weight(weight: Floats, axis: int, importance: Floats | None = None) -> Quantised:
    """Quantise with one scale for each index of ``axis``, clipped if that reduces the squared error.

    ``importance`` weighs the other axis: the mean square of the values that it is multiplied by.
    """
    if axis == 0 and len(weight) > _AT_ONCE:
        parts = [quantise_weight(weight[at : at + _AT_ONCE], 0, importance) for at in range(0, len(weight), _AT_ONCE)]
        values, scale = np.concatenate([p.values for p in parts]), np.concatenate([p.scale for p in parts])
        return Quantised(values, scale)
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


def choose_range(values: Floats, symmetric: bool) -> QuantisedRange:
    """Return the scale and zero point with the smallest squared error over sampled values."""
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    flat = values.ravel()
    flat = flat[:: max(1, flat.size // 100_000)]
    best, least = QuantisedRange(1.0, 128), np.inf
    for clip in np.linspace(0.2, 1.0, 33):
        candidate = _range(low * clip, high * clip, symmetric)
        error = float(((fake_quantise(flat, candidate) - flat) ** 2).mean())
        if error < least:
            best, least = candidate, error
    return best


def _range(low: float, high: float, symmetric: bool) -> QuantisedRange:
    if symmetric:
        return QuantisedRange(float(np.float32(max(-low, high, 1e-8) / 127)), 128)
    scale = float(np.float32(max(high - low, 1e-8) / 255))
    return QuantisedRange(scale, int(np.clip(round(-low / scale), 0, 255)))


def fake_quantise(values: Floats, site: QuantisedRange) -> Floats:
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
) -> Calibration:
    """Choose a range for every site and find the products that need a scale for every row.

    ``products``: the sites that each product reads. ``samples``: rows [R, K] from each site. Without ``text_seen`` the
    samples are not real text: every product that can have a scale for each row then has one, and the ranges of the
    others are widened.
    """
    parts = {site for sites in products.values() if len(sites) > 1 for site in sites}
    ranges = {site: choose_range(values, site in parts) for site, values in samples.items()}
    if not text_seen:
        ranges = {
            site: QuantisedRange(measured.scale * UNSEEN_MARGIN, measured.zero) for site, measured in ranges.items()
        }
    able = {name: sites[0] for name, sites in products.items() if len(sites) == 1 and name in parameters.matrices}
    by_row = {
        name
        for name, site in able.items()
        if not text_seen or static_error(parameters.matrices[name], samples[site], ranges[site]) > _BY_ROW_LIMIT
    }
    return Calibration(ranges, frozenset(by_row))


def static_error(matrix: Matrix, rows: Floats, site: QuantisedRange) -> float:
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
    plan: Calibration,
    location: str,
    intgemm: Intgemm | None = None,
) -> WeightStore:
    """Return every weight once as int8 with its scales, the rest as float32; ``intgemm``: those of the original."""
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
        if intgemm is not None and name in intgemm.weights:
            _add(store, name, Quantised(*intgemm.integers(name, weight, 1)))
        else:
            _add(store, name, quantise_weight(weight, 1, (rows**2).mean(0) + 1e-8))
        if matrix.bias is not None:
            store.add(f"{name}.bias", matrix.bias)
    for name, table in parameters.tables.items():
        if intgemm is not None and name in intgemm.weights:
            _add(store, name, Quantised(*intgemm.integers(name, table, 0)))
        else:
            _add(store, name, quantise_weight(table, 0))
    for name, vector in parameters.vectors.items():
        store.add(name, vector)
    for name, array in () if intgemm is None else intgemm.shifted(parameters, products, plan, store):
        store.add(name, array)
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


IdPair = tuple[npt.ArrayLike, npt.ArrayLike]
"""Source and target token ids, each with the end token."""

_ROWS = 4096


def sample_sites(
    config: NetworkConfig, parameters: Parameters, pairs: Sequence[IdPair]
) -> tuple[dict[str, tuple[str, ...]], dict[str, Floats]]:
    """Run forced decoding over pairs, one at a time to avoid padding.

    Returns the sites that every product reads, and up to 4,096 rows [R, K] from every site.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, store = Path(name), float_store(parameters, "weights.bin")
        arithmetic = Arithmetic()
        graph = GraphBuilder("forced", store)
        graph.recording = "operands"
        make_graphs(config, arithmetic).forced(graph)
        sites = graph.expose_sites()
        store.write(folder)
        onnx.save_model(graph.model(), str(folder / "forced.onnx"))
        session = open_session(folder / "forced.onnx")
    samples = {site: RowSample() for site in sites}
    for pair in pairs:
        for site, rows in _rows_of(session, sites, pair).items():
            samples[site].add(rows)
    return arithmetic.products, {site: sample.rows for site, sample in samples.items()}


class RowSample:
    """At most 4,096 of the rows that arrive, in a random order with a fixed seed; hardly more take memory."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(0)
        self._parts: list[tuple[npt.NDArray[np.float64], Floats]] = []
        """Rows with random numbers, of which the smallest are kept."""

    def add(self, rows: Floats) -> None:
        """Add the next rows [R, K]."""
        self._parts.append((self._random.random(len(rows)), rows))
        if sum(len(numbers) for numbers, _ in self._parts) > _ROWS + _ROWS // 4:
            self._parts = [self._smallest()]

    @property
    def rows(self) -> Floats:
        """Return the rows that were kept."""
        return self._smallest()[1]

    def _smallest(self) -> tuple[npt.NDArray[np.float64], Floats]:
        numbers, rows = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        kept = numbers.argsort()[:_ROWS]
        return numbers[kept], rows[kept]


def _rows_of(session: onnxruntime.InferenceSession, sites: Sequence[str], pair: IdPair) -> dict[str, Floats]:
    """Return the values at every site for one pair, as rows [R, K]."""
    source, target = (np.asarray(ids, np.int64)[None] for ids in pair)
    feeds = {"source": source, "source_lengths": np.array([source.shape[1]])}
    feeds |= {"target": target, "target_lengths": np.array([target.shape[1]])}
    result = run(session, feeds)
    return {site: (values := result[f"site:{site}"]).reshape(-1, values.shape[-1]) for site in sites}


CALIBRATION_PAIRS = 200


def calibration_pairs(development: EncodedPairs, count: int) -> list[IdPair]:
    """Return development pairs spread evenly over all corpora, which are stored one after the other."""
    chosen = np.unique(np.linspace(0, len(development) - 1, min(count, len(development))).astype(int))
    return [(development.source[int(i)], development.target[int(i)]) for i in chosen]
