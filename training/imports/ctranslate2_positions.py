"""Which positions a CTranslate2 model adds to its embeddings: ours, or a table that is kept as it is."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from training.imports.files import ImportRefused
from training.imports.tensors import Array
from training.networks.positions import sinusoidal_table

LONGEST = 512
"""Tokens of a side."""


def positions_of(weights: Mapping[str, Array], width: int, where: Path) -> tuple[str, Array | None]:
    """Return our name of the positions, and their table if it is none of our sinusoids: shifted ones, learnt ones.

    A model without a table has the one that CTranslate2 makes: Marian's, from position 1 (``layers/common.cc``).
    """
    stored = [weights.get(f"{side}/position_encodings/encodings") for side in ("encoder", "decoder")]
    tables = [table for table in stored if table is not None] or [sinusoidal_table(LONGEST + 1, width, "marian")[1:]]
    for layout in ("interleaved", "halves", "marian"):
        if all(np.allclose(table, sinusoidal_table(len(table), width, layout), atol=2e-3) for table in tables):
            return layout, None
    if not all(np.array_equal(tables[0], table) for table in tables):
        raise ImportRefused(f"{where}: encoder and decoder have different positions; one table of both can be imported")
    return "learned", tables[0][:LONGEST]
