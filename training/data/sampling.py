"""Representative samples of sentences: each corpus has its share, spread evenly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np


def shares(sizes: Sequence[int], count: int) -> list[int]:
    """Divide ``count`` in proportion to ``sizes`` by largest remainders; each gets at least one, and at most its size.

    The sum exceeds ``count`` if there are more parts than that.
    """
    total = sum(sizes)
    if total <= count:
        return list(sizes)
    exact = [count * size / total for size in sizes]
    given = [max(1, int(share)) if size else 0 for share, size in zip(exact, sizes, strict=True)]
    by_remainder = sorted(range(len(sizes)), key=lambda i: (int(exact[i]) - exact[i], i))
    for i in by_remainder:
        if sum(given) < count and given[i] < sizes[i] and exact[i] >= 1:
            given[i] += 1
    return given


def spread(corpora: Sequence[str], count: int) -> list[int]:
    """Return the indices of about ``count`` rows, ascending, with a share of each of their ``corpora``."""
    sizes = Counter(corpora)
    wanted = dict(zip(sizes, shares(list(sizes.values()), count), strict=True))
    chosen: list[int] = []
    for corpus, number in wanted.items():
        own = [i for i, name in enumerate(corpora) if name == corpus]
        places = np.linspace(0, len(own) - 1, number).round().astype(int)
        chosen += [own[place] for place in places.tolist()]
    return sorted(chosen)
