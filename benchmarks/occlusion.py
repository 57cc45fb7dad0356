"""Measures how far attention agrees with occlusion: `python -m benchmarks.occlusion PAIRS.tsv MODEL...`.

For each target word of a reference translation, the weights over the source words are compared with the log-probability
that the word loses without each source word: by Spearman's rank correlation, and by whether both name the same one.
Words of punctuation alone are left out of rows. Sentences have 4 to 15 words.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from service.bundle.load import load_bundle
from service.engine import AttentionOptions, Selector, open_translator

Heads = dict[str, tuple[Selector, Selector]]
HEADS: Heads = {"alignment head": ("align", "align"), "mean of all heads": ("mean", "mean")}


def pairs(path: Path, count: int) -> Iterator[tuple[str, str]]:
    """Yield the first sentence pairs of 4 to 15 source words, each source once."""
    seen: set[str] = set()
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            source, target = line.rstrip("\n").split("\t")[:2]
            if 4 <= len(source.split()) <= 15 and source not in seen:
                seen.add(source)
                yield source, target
            if len(seen) == count:
                return


def ranks(values: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Return ranks from 0; equal values share the mean of their ranks."""
    unique, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = counts.cumsum()
    return np.asarray(((ends - counts + ends - 1) / 2)[places] if len(unique) else [], np.float64)


def spearman(first: npt.NDArray[np.floating], second: npt.NDArray[np.floating]) -> float:
    """Return the rank correlation of two rows; NaN if one is constant."""
    a, b = ranks(first), ranks(second)
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / size if size else float("nan")


async def measure(model: Path, path: Path, count: int) -> dict[str, dict[str, float]]:
    """Return rank correlation and agreement for each choice of heads."""
    translator = open_translator(load_bundle(model))
    await translator.start()
    found: dict[str, list[tuple[float, bool]]] = {name: [] for name in HEADS}
    for source, target in pairs(path, count):
        lost = await translator.attention(source, target, AttentionOptions("occlusion", tokens="word"))
        for name, (layer, head) in HEADS.items():
            seen = await translator.attention(source, target, AttentionOptions("cross", layer, head, "word"))
            columns = [at for at, token in enumerate(seen.source_tokens) if not token.special]
            for row, token in enumerate(seen.target_tokens):
                weights = seen.weights[row, columns]
                if any(map(str.isalnum, token.text)) and not np.isnan(weights).any():
                    same = bool(weights.argmax() == lost.weights[row].argmax())
                    found[name].append((spearman(weights, lost.weights[row]), same))
    await translator.stop(1)
    return {
        name: {
            "words": len(rows),
            "spearman": round(float(np.nanmean([correlation for correlation, _ in rows])), 4),
            "same word": round(float(np.mean([same for _, same in rows])), 4),
        }
        for name, rows in found.items()
    }


def main() -> None:
    """Print the results of every model as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", type=Path, help="TSV of source and target; .gz too")
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--sentences", type=int, default=200)
    arguments = parser.parse_args()
    for model in arguments.models:
        print(json.dumps({model.name: asyncio.run(measure(model, arguments.pairs, arguments.sentences))}))  # noqa: T201


if __name__ == "__main__":
    main()
