"""Which positions a CTranslate2 model adds to its embeddings: ours, or a table that is kept as it is."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from training.imports.files import ImportRefused
from training.imports.tensors import Array
from training.networks.positions import sinusoidal_table

LONGEST = 512
"""Tokens of a side."""


def _stored_positions(weights: Mapping[str, Array]) -> list[Array]:
    stored = [weights.get(f"{side}/position_encodings/encodings") for side in ("encoder", "decoder")]
    return [table for table in stored if table is not None]


def known_layout(weights: Mapping[str, Array], width: int) -> str | None:
    """Return which of our sinusoids the model stores; None: none of them."""
    found = _stored_positions(weights)
    for layout in ("interleaved", "halves", "marian"):
        if found and all(np.allclose(table, sinusoidal_table(len(table), width, layout), atol=2e-3) for table in found):
            return layout
    return None


def position_array(weights: Mapping[str, Array], width: int, where: Path) -> Array | None:
    """Return a table of positions that is none of our sinusoids: shifted ones, learnt ones; None: it is one of them.

    A model without a table has the one that CTranslate2 makes: Marian's, from position 1 (``layers/common.cc``).
    """
    if known_layout(weights, width) is not None:
        return None
    positions = _stored_positions(weights) or [sinusoidal_table(LONGEST + 1, width, "marian")[1:]]
    if not all(np.array_equal(positions[0], table) for table in positions):
        raise ImportRefused(f"{where}: encoder and decoder have different positions; one table of both can be imported")
    return positions[0][:LONGEST]
