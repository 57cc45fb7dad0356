"""Runs the float graphs on development text to find fixed scales for real activations."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from service.bundle.vocabulary import EOS
from training.data.dataset import EncodedPairs
from training.export.architecture import NetworkConfig, make_graphs
from training.export.graph import GraphBuilder
from training.export.parameters import Floats, Parameters
from training.export.precision import Arithmetic
from training.export.quantise import float_store
from training.export.sessions import open_session, run

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
        graph.recording = True
        make_graphs(config, arithmetic).forced(graph)
        sites = graph.expose_sites()
        store.write(folder)
        onnx.save_model(graph.model(), str(folder / "forced.onnx"))
        session = open_session(folder / "forced.onnx")
    lengths = [(len(np.asarray(source)), len(np.asarray(target))) for source, target in pairs]
    samples = {site: RowSample(total) for site, total in _count_rows(session, sites, lengths).items()}
    for pair in pairs:
        for site, rows in _rows_of(session, sites, pair).items():
            samples[site].add(rows)
    return arithmetic.products, {site: sample.rows for site, sample in samples.items()}


class RowSample:
    """At most 4,096 of the rows that arrive, spread evenly, in a random order with a fixed seed.

    Their number is known before, so only the rows that are kept take memory.
    """

    def __init__(self, total: int) -> None:
        order = np.random.default_rng(0).permutation(total)[:_ROWS]
        self._places = np.argsort(order)
        self._wanted = order[self._places]
        self._total, self._seen = total, 0
        self._rows: Floats | None = None

    def add(self, rows: Floats) -> None:
        """Keep what is wanted of the next rows [R, K]."""
        if self._rows is None:
            self._rows = np.empty((len(self._wanted), rows.shape[1]), rows.dtype)
        first, end = np.searchsorted(self._wanted, (self._seen, self._seen + len(rows)))
        self._rows[self._places[first:end]] = rows[self._wanted[first:end] - self._seen]
        self._seen += len(rows)

    @property
    def rows(self) -> Floats:
        """Return the rows that were kept; every row must have arrived."""
        assert self._seen == self._total, f"{self._seen} rows of {self._total}"
        assert self._rows is not None
        return self._rows


def _rows_of(session: onnxruntime.InferenceSession, sites: Sequence[str], pair: IdPair) -> dict[str, Floats]:
    """Return the values at every site for one pair, as rows [R, K]."""
    source, target = (np.asarray(ids, np.int64)[None] for ids in pair)
    feeds = {"source": source, "source_lengths": np.array([source.shape[1]])}
    feeds |= {"target": target, "target_lengths": np.array([target.shape[1]])}
    result = run(session, feeds)
    return {site: (values := result[f"site:{site}"]).reshape(-1, values.shape[-1]) for site in sites}


def _count_rows(
    session: onnxruntime.InferenceSession, sites: Sequence[str], lengths: Sequence[tuple[int, int]]
) -> dict[str, int]:
    """Return how many rows every site has over pairs of these lengths.

    One pair has a + b·S + c·T + d·S·T rows, because each axis of a site has a fixed length, S or T. Four pairs of one
    and two tokens show the numbers.
    """
    shapes = [(1, 1), (2, 1), (1, 2), (2, 2)]
    probes = [_rows_of(session, sites, (np.full(s, EOS), np.full(t, EOS))) for s, t in shapes]
    totals = {}
    for site in sites:
        one, source, target, both = (len(probe[site]) for probe in probes)
        by_source, by_target, by_both = source - one, target - one, both - source - target + one
        totals[site] = sum(
            one + (s - 1) * by_source + (t - 1) * by_target + (s - 1) * (t - 1) * by_both for s, t in lengths
        )
    return totals


def calibration_pairs(development: EncodedPairs, count: int) -> list[IdPair]:
    """Return development pairs spread evenly over all corpora, which are stored one after the other."""
    chosen = np.unique(np.linspace(0, len(development) - 1, min(count, len(development))).astype(int))
    return [(development.source[int(i)], development.target[int(i)]) for i in chosen]
