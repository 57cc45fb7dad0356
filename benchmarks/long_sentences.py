"""Writes a test set of BLEU by sentence length (docs/quality.md), the same number of sentences for each length.

`python -m benchmarks.long_sentences test.tsv` joins new sentences of the made-up grammar, which the recipe `lengths`
does not train on, one to eight in a row: so a long sentence is as easy as a short one, word by word. With
`--pairs FILE` it joins those of a test set instead (the recipe `lengths-tatoeba`).
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from benchmarks.corpora import ROOT
from training.data.augmentation import joins
from training.data.cleaning import Pair
from training.data.made_up_grammar import made_up_pairs
from training.data.reading import read_pairs
from training.recipe import load_recipe

RECIPE = ROOT / "training" / "recipes" / "lengths.yaml"
DRAWN, SEED = 12_000, 99
MOST, LONGEST, STEP = 8, 60, 10
EACH = 100


def new_pairs() -> list[Pair]:
    """Return sentences of the made-up grammar that the recipe does not train on."""
    recipe = load_recipe(RECIPE)
    trained = made_up_pairs("en", "fr", recipe.corpora[0].max_pairs or 0, recipe.seed)
    known = {source for source, _ in trained}
    return [pair for pair in dict.fromkeys(made_up_pairs("en", "fr", DRAWN, SEED)) if pair[0] not in known]


def long_sentences(pairs: Iterable[Pair], each: int = EACH) -> list[Pair]:
    """Return so many joined pairs of each length up to 60 words, in the order of their lengths, the same every time."""
    buckets: dict[int, list[Pair]] = defaultdict(list)
    for pair in joins(list(pairs), MOST, LONGEST, SEED):
        buckets[(len(pair[0].split()) - 1) // STEP].append(pair)
    return [pair for place in range(LONGEST // STEP) for pair in buckets[place][:each]]


def main() -> None:
    """Write the test set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="TSV: source, tab, reference")
    parser.add_argument("--pairs", type=Path, help="join these pairs (TSV) instead of the made-up grammar's")
    parser.add_argument("--each", type=int, default=EACH, help="sentences of each length")
    options = parser.parse_args()
    pairs = new_pairs() if options.pairs is None else read_pairs(options.pairs)
    lines = [f"{source}\t{target}\n" for source, target in long_sentences(pairs, options.each)]
    options.output.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
