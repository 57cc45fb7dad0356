"""Runs the float graphs on development text to find fixed scales for real activations."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx

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
        seen: dict[str, list[Floats]] = {site: [] for site in sites}
        for source, target in pairs:
            source_ids, target_ids = (np.asarray(ids, np.int64)[None] for ids in (source, target))
            feeds = {"source": source_ids, "source_lengths": np.array([source_ids.shape[1]])}
            feeds |= {"target": target_ids, "target_lengths": np.array([target_ids.shape[1]])}
            result = run(session, feeds)
            for site in sites:
                values = result[f"site:{site}"]
                seen[site].append(values.reshape(-1, values.shape[-1]))
    return arithmetic.products, {site: _thin(np.concatenate(rows)) for site, rows in seen.items()}


def _thin(rows: Floats) -> Floats:
    """Return at most 4,096 rows, spread evenly, in a random order with a fixed seed."""
    order = np.random.default_rng(0).permutation(len(rows))[:_ROWS]
    return np.ascontiguousarray(rows[order])


def calibration_pairs(development: EncodedPairs, count: int) -> list[IdPair]:
    """Return development pairs spread evenly over all corpora, which are stored one after the other."""
    chosen = np.unique(np.linspace(0, len(development) - 1, min(count, len(development))).astype(int))
    return [(development.source[int(i)], development.target[int(i)]) for i in chosen]
