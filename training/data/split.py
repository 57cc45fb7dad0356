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


def spread(corpora: Sequence[str], count: int) -> list[int]:
    """Return indices of about ``count`` rows, ascending, with a share of each of their ``corpora``, one at least."""
    chosen: list[int] = []
    for corpus, size in Counter(corpora).items():
        numbers = [i for i, name in enumerate(corpora) if name == corpus]
        number = min(size, max(1, round(count * size / len(corpora))))
        places = np.linspace(0, size - 1, number).round().astype(int)
        chosen += [numbers[place] for place in places.tolist()]
    return sorted(chosen)
