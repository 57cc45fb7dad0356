"""Chooses sentences: development data, so that no other translation of a source is trained on, and samples."""

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from training.data.cleaning import Pair


def sentence_hash(sentence: str) -> int:
    """Return a 64-bit hash of a sentence without its case and final punctuation."""
    key = sentence.lower().rstrip(" .!?").encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")


def held_out(pairs: Sequence[Pair], count: int) -> set[int]:
    """Return the ``count`` smallest hashes of source sentences, a stable choice if pairs are added or reordered."""
    return set(sorted({sentence_hash(source) for source, _ in pairs})[:count])


def split(pairs: Sequence[Pair], development: set[int]) -> tuple[list[Pair], list[Pair]]:
    """Return (training, development) pairs; development keeps the first translation of each source sentence."""
    training: list[Pair] = []
    chosen: dict[int, Pair] = {}
    for pair in pairs:
        key = sentence_hash(pair[0])
        if key in development:
            chosen.setdefault(key, pair)
        else:
            training.append(pair)
    return training, [chosen[key] for key in sorted(chosen)]


def subset(pairs: Sequence[Pair], count: int | None) -> list[Pair]:
    """Return at most ``count`` pairs: those whose source sentences have the smallest hashes."""
    if count is None or len(pairs) <= count:
        return list(pairs)
    return sorted(pairs, key=lambda pair: sentence_hash(pair[0]))[:count]


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
