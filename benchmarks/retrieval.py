"""Measures how sentence embeddings find translations: `python -m benchmarks.retrieval PAIRS.tsv --from en --to fr`.

Retrieval: the pairs are shuffled and cut into samples of 1,000. In each, the translation of every sentence is looked
for among the 1,000 of the other language, by the cosine and by three scores that correct it for hubs, which are
sentences that are near to many. Only the best one counts; a paraphrase of the right answer is wrong.

Mining: the pairs of the first sample are hidden among the sentences of one language of 4,000 other pairs, and among
those of the other language of 4,000 others again, and `align-corpus` looks for them.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.corpora import ROOT
from benchmarks.tables import markdown
from service.cli.align_corpus import embedded
from service.embedding import Embedder
from service.embedding.mining import NEIGHBOURS, MinedPair, mine

Floats = npt.NDArray[np.float32]
Pair = tuple[str, str]

SAMPLE = 1000
OTHERS = 4000
SINKHORN_ROUNDS = 10
LEAST_SCORES = (1.05, 1.1, 1.15, 1.2, 1.25, 1.3)


def distinct_pairs(path: Path) -> list[Pair]:
    """Return the pairs of a TSV, without those that repeat a sentence of either side, always in the same random order.

    A sentence that occurs twice would have two right answers.
    """
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t")[:2] for line in file]
    sides: tuple[set[str], set[str]] = (set(), set())
    found: list[Pair] = []
    for place in np.random.default_rng(1).permutation(len(lines)).tolist():
        first, second = lines[place]
        keys = (first.lower(), second.lower())
        if not any(key in side for key, side in zip(keys, sides, strict=True)):
            found.append((first, second))
            for key, side in zip(keys, sides, strict=True):
                side.add(key)
    return found


def ratio_margin(cosines: Floats, neighbours: int = NEIGHBOURS) -> Floats:
    """Return each cosine over the mean of those of both sentences to their nearest (Artetxe and Schwenk 2019)."""
    rows = np.sort(cosines, axis=1)[:, -neighbours:].mean(axis=1, keepdims=True)
    columns = np.sort(cosines, axis=0)[-neighbours:].mean(axis=0)
    return np.asarray(2 * cosines / (rows + columns), np.float32)


def inverted_softmax(cosines: Floats, scale: float) -> Floats:
    """Return the probability of each query (row) given the answer (column), not the other way round.

    An answer that is near to many queries gives little to each (Smith et al. 2017, arXiv 1702.03859, equation 9).
    """
    weights = np.exp(scale * (cosines - cosines.max(axis=0)))
    return np.asarray(weights / weights.sum(axis=0), np.float32)


def sinkhorn(cosines: Floats, scale: float, rounds: int = SINKHORN_ROUNDS) -> Floats:
    """Return the scores of a matching of all queries with all answers: every column sums to 1, every row nearly.

    The softmax is taken over the queries and over the answers in turn (Cuturi 2013, arXiv 1306.0895, algorithm 1),
    which is right where every sentence has one partner. One round without rows is the inverted softmax.
    """
    weights = inverted_softmax(cosines, scale).astype(np.float64)
    for _ in range(rounds):
        weights /= weights.sum(axis=1, keepdims=True)
        weights /= weights.sum(axis=0)
    return np.asarray(weights, np.float32)


def top1(scores: Floats) -> float:
    """Return the share of queries (rows) whose best answer has their own number."""
    return float((scores.argmax(axis=1) == np.arange(len(scores))).mean())


def retrieval(first: Floats, second: Floats, scale: float) -> dict[str, float]:
    """Return the share of right answers for each score, from the first side to the second."""
    cosines = first @ second.T
    return {
        "cosine": top1(cosines),
        "ratio margin": top1(ratio_margin(cosines)),
        "inverted softmax": top1(inverted_softmax(cosines, scale)),
        "Sinkhorn": top1(sinkhorn(cosines, scale)),
    }


def vectors(embedder: Embedder, texts: Sequence[str]) -> Floats:
    """Return the embeddings [texts, D]."""
    return np.stack([found.embedding for found in embedder.embed(texts, truncate=True)])


def retrieval_rows(embedder: Embedder, pairs: Sequence[Pair], languages: Pair) -> Iterator[tuple[str, ...]]:
    """Yield direction, score, mean and deviation over the samples, least and most, in percent."""
    scale = float(embedder.manifest.card["recipe"]["optimisation"]["scale"])
    firsts, seconds = (vectors(embedder, side) for side in zip(*pairs, strict=True))
    count = len(pairs) // SAMPLE
    for one, other, direction in ((firsts, seconds, languages), (seconds, firsts, languages[::-1])):
        parts = [slice(SAMPLE * at, SAMPLE * (at + 1)) for at in range(count)]
        results = [retrieval(one[part], other[part], scale) for part in parts]
        for score in results[0]:
            values = 100 * np.array([result[score] for result in results])
            spread = f"{values.mean():.1f} ± {values.std(ddof=1):.1f}" if count > 1 else f"{values.mean():.1f}"
            yield " → ".join(direction), score, spread, f"{values.min():.1f}–{values.max():.1f}"


def mining_rows(embedder: Embedder, pairs: Sequence[Pair], languages: Pair) -> Iterator[tuple[str, str, str]]:
    """Yield the least score of a pair, and precision and recall of the pairs that have it."""
    others = min(OTHERS, (len(pairs) - SAMPLE) // 2)
    sides = ([first for first, _ in pairs], [second for _, second in pairs])
    lines = (sides[0][: SAMPLE + others], sides[1][:SAMPLE] + sides[1][SAMPLE + others : SAMPLE + 2 * others])
    one, other = (embedded(embedder, text, language) for text, language in zip(lines, languages, strict=True))
    found = mine(one.vectors, other.vectors)
    for least in LEAST_SCORES:
        kept = [pair for pair in found if pair.score >= least]
        right = sum(_is_right(pair, one.numbers, other.numbers) for pair in kept)
        yield f"{least:g}", f"{100 * right / max(1, len(kept)):.1f} %", f"{100 * right / SAMPLE:.1f} %"


def _is_right(pair: MinedPair, sources: Sequence[int], targets: Sequence[int]) -> bool:
    return sources[pair.source] == targets[pair.target] < SAMPLE


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path, help="TSV of two languages; .gz too; at least 1,000 pairs")
    parser.add_argument("--from", dest="source", required=True, help="language of the first column")
    parser.add_argument("--to", dest="target", required=True, help="language of the second column")
    parser.add_argument("--bundle", type=Path, default=ROOT / "models" / "sentence")
    arguments = parser.parse_args()
    pairs = distinct_pairs(arguments.pairs)
    if len(pairs) < SAMPLE:
        parser.error(f"{arguments.pairs} has {len(pairs)} different pairs; at least {SAMPLE} are needed")
    embedder, languages = Embedder(arguments.bundle), (arguments.source, arguments.target)
    head = ("direction", "score", f"top-1 of {SAMPLE:,}, %", "least–most")
    print(f"{len(pairs) // SAMPLE} samples\n\n{markdown(head, retrieval_rows(embedder, pairs, languages))}\n")  # noqa: T201
    print(markdown(("--min-score", "precision", "recall"), mining_rows(embedder, pairs, languages)))  # noqa: T201


if __name__ == "__main__":
    main()
