"""Writes the test set of BLEU by sentence length: `python -m benchmarks.long_sentences test.tsv` (docs/quality.md).

New sentences of the made-up grammar, which the recipe `lengths` does not train on, one to eight in a row: the same
number for each length from 1–10 to 51–60 words. So a long sentence is as easy as a short one, word by word.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

from benchmarks.corpora import ROOT
from training.data.augmentation import joins
from training.data.cleaning import Pair
from training.data.made_up_grammar import made_up_pairs
from training.recipe import load_recipe

RECIPE = ROOT / "training" / "recipes" / "lengths.yaml"
DRAWN, SEED = 12_000, 99
MOST, LONGEST, STEP = 8, 60, 10
EACH = 100


def long_sentences() -> list[Pair]:
    """Return the pairs in the order of their lengths, the same every time."""
    recipe = load_recipe(RECIPE)
    trained = made_up_pairs("en", "fr", recipe.corpora[0].max_pairs or 0, recipe.seed)
    known = {source for source, _ in trained}
    new = [pair for pair in dict.fromkeys(made_up_pairs("en", "fr", DRAWN, SEED)) if pair[0] not in known]
    buckets: dict[int, list[Pair]] = defaultdict(list)
    for pair in joins(new, MOST, LONGEST, SEED):
        buckets[(len(pair[0].split()) - 1) // STEP].append(pair)
    return [pair for place in sorted(buckets) for pair in buckets[place][:EACH]]


def main() -> None:
    """Write the test set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="TSV: source, tab, reference")
    output: Path = parser.parse_args().output
    output.write_text("".join(f"{source}\t{target}\n" for source, target in long_sentences()), encoding="utf-8")


if __name__ == "__main__":
    main()
