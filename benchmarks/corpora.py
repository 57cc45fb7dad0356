"""Real sentences to measure with, and where their lengths come from."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TEST_SETS = ROOT.parent / "shared" / "data" / "test"
FALLBACK = Path(__file__).with_name("data") / "sentences.en-fr.tsv"
LONGEST = 600
"""Characters; what is longer is another text, not a sentence."""


class Corpus(NamedTuple):
    """Sentences with their references."""

    name: str
    sources: list[str]
    references: list[str]


def load_corpus(name: str, pair: str, count: int, folder: Path = TEST_SETS) -> Corpus:
    """``count`` sentences of a test set, spread evenly over it; our own few, repeated, where the set is not there."""
    path = folder / f"{name}.{pair}.tsv.gz"
    if path.is_file():
        lines = gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()
    else:
        name, lines = "own", FALLBACK.read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t") for line in lines if line.count("\t") == 1 and len(line) <= 2 * LONGEST]
    chosen = spread(pairs, count)
    return Corpus(name, [source for source, _ in chosen], [reference for _, reference in chosen])


def spread(pairs: Sequence[list[str]], count: int) -> list[list[str]]:
    """Pick ``count`` entries at even distances; where there are fewer, they come round again."""
    if len(pairs) < count:
        return [pairs[i % len(pairs)] for i in range(count)]
    return [pairs[i * len(pairs) // count] for i in range(count)]
