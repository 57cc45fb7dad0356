"""Real sentences for the measurements."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TEST_SETS = ROOT.parent / "shared" / "data" / "test"
FALLBACK = Path(__file__).with_name("data") / "sentences.en-fr.tsv"
LONGEST = 600
"""Characters; a longer line is not a single sentence."""


class TestCorpus(NamedTuple):
    """Sentences with their references."""

    name: str
    sources: list[str]
    references: list[str]


def load_corpus(name: str, pair: str, count: int, folder: Path = TEST_SETS) -> TestCorpus:
    """Return ``count`` sentences of a test set, spread evenly; our own sentences, repeated, if the set is missing."""
    path = folder / f"{name}.{pair}.tsv.gz"
    if path.is_file():
        lines = gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()
    else:
        name, lines = "own", FALLBACK.read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t") for line in lines if line.count("\t") == 1 and len(line) <= 2 * LONGEST]
    chosen = spread(pairs, count)
    return TestCorpus(name, [source for source, _ in chosen], [reference for _, reference in chosen])


def spread(pairs: Sequence[list[str]], count: int) -> list[list[str]]:
    """Return ``count`` entries at even distances; entries repeat if there are fewer."""
    if len(pairs) < count:
        return [pairs[i % len(pairs)] for i in range(count)]
    return [pairs[i * len(pairs) // count] for i in range(count)]
