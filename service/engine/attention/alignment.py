"""From attention weights to readable ones: tokens without the special ones.

Weights are [..., R, C]: rows attend, columns are attended to. `service.bundle.alignment`, which training uses too,
reads links from them.
"""

from collections.abc import Sequence

import numpy as np

from service.engine.jobs import FloatArray
from service.engine.types import Specials, TokenOrWord


def limit_specials(
    weights: FloatArray, rows: Sequence[TokenOrWord], columns: Sequence[TokenOrWord], specials: Specials
) -> FloatArray:
    """Keep the rows and columns of special tokens, remove them, or remove them and rescale the rows to sum to 1.

    A row that attends only to special tokens (a decoder's first) has nothing to rescale and stays zero.
    """
    if specials == "keep":
        return weights
    kept: FloatArray = weights[..., [not t.special for t in rows], :][..., [not t.special for t in columns]]
    if specials == "drop":
        return kept
    total = kept.sum(axis=-1, keepdims=True)
    scaled: FloatArray = np.divide(kept, total, out=np.zeros_like(kept), where=total > 0)
    return scaled
