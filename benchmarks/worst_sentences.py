"""Measures whether bad sentences are found: `python -m benchmarks.worst_sentences BUNDLE PAIRS.tsv.gz …`.

Takes paragraphs of consecutive sentences of each file, translates them, and compares two orders: by `quality`, which
knows no reference, and by chrF against the reference. Of the worst sentences by chrF it counts how many stand among
those that a reader who checks the lowest qualities first would see. The files must be test sets that the coefficients
of the confidence have not seen. Needs sacrebleu.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from sacrebleu.metrics.chrf import CHRF

from benchmarks.glossary import Pair, read_pairs
from service.bundle.load import load_bundle
from service.engine import Translator, open_translator


class Judged(NamedTuple):
    """A translated sentence: its quality, and its chrF."""

    quality: float
    chrf: float


class Found(NamedTuple):
    """Shares over paragraphs."""

    among_as_many: float  # of the worst by chrF, those among as many with the lowest quality
    among_twice: float  # … among twice as many
    bad_at_top: float  # of the sentences with the lowest quality, those below the median chrF
    lower: float  # chrF of all sentences minus that of those with the lowest quality


def found_in(paragraph: Sequence[Judged], count: int) -> Found:
    """Return how many of the worst sentences of a paragraph the qualities find."""
    places = range(len(paragraph))
    by_chrf = sorted(places, key=lambda at: paragraph[at].chrf)
    by_quality = sorted(places, key=lambda at: paragraph[at].quality)
    worst, lowest = {*by_chrf[:count]}, by_quality[:count]
    below = {*by_chrf[: len(by_chrf) // 2]}
    return Found(
        len(worst & {*lowest}) / count,
        len(worst & {*by_quality[: 2 * count]}) / count,
        len(below & {*lowest}) / count,
        fmean(each.chrf for each in paragraph) - fmean(paragraph[at].chrf for at in lowest),
    )


async def judged(translator: Translator, pairs: Sequence[Pair]) -> list[Judged]:
    """Return the sentences of pairs, translated; those without a quality are left out."""
    metric = CHRF()
    translations = await translator.translate([source for source, _ in pairs], split=False)
    return [
        Judged(translation.quality, metric.sentence_score(translation.text, [reference]).score)
        for translation, (_, reference) in zip(translations, pairs, strict=True)
        if translation.quality is not None
    ]


async def main() -> None:
    """Measure a bundle with each file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("pairs", type=Path, nargs="+")
    parser.add_argument("--reverse", action="store_true", help="the second column is the source")
    parser.add_argument("--pair", nargs=2, help="source and target language; default: the bundle's first pair")
    parser.add_argument("--sentences", type=int, default=50, help="of a paragraph")
    parser.add_argument("--paragraphs", type=int, default=8, help="of each file")
    parser.add_argument("--worst", type=int, default=10)
    given = parser.parse_args()
    translator = open_translator(load_bundle(given.bundle))
    await translator.start()
    for path in given.pairs:
        rows = list({source: (source, target) for source, target in read_pairs([path])}.values())
        rows = [row[::-1] for row in rows] if given.reverse else rows
        own = translator.for_pair(*given.pair) if given.pair else translator
        starts = range(0, given.sentences * given.paragraphs, given.sentences)
        paragraphs = [await judged(own, rows[first : first + given.sentences]) for first in starts]
        figures = [found_in(paragraph, given.worst) for paragraph in paragraphs]
        means = Found(*map(fmean, zip(*figures, strict=True)))
        sys.stdout.write(
            f"{given.bundle.name} {path.name}: of the {given.worst} worst of {given.sentences}, "
            f"{means.among_as_many:.0%} among the {given.worst} lowest qualities, {means.among_twice:.0%} among "
            f"{2 * given.worst}; {means.bad_at_top:.0%} of the {given.worst} lowest are below the median chrF, "
            f"on average {means.lower:.1f} chrF below all ({len(figures)} paragraphs)\n"
        )
        sys.stdout.flush()
    await translator.stop(1)


if __name__ == "__main__":
    asyncio.run(main())
