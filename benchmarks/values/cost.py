"""Measures what values cost: `python -m benchmarks.values.cost models/transformer-en-fr`.

Translates the same sentences with `values=off` and `values=localize`, in turns, and prints the ratio of the processor
times (the median of all rounds; steadier than the clock on a shared machine): of sentences with values, from the
templates, and of sentences without any, each alone and many together. Nothing is answered from a cache, because only
the server puts one before a model.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.glossary import read_pairs
from benchmarks.values.generator import samples
from service.bundle.load import load_bundle
from service.engine import TranslationOptions, Translator, ValueHandling, open_translator

WITHOUT = Path(__file__).parents[1] / "data" / "sentences.en-fr.tsv"
PLAIN = re.compile(r"[A-Za-z ',.?!;]+")
MODES: tuple[ValueHandling, ValueHandling] = ("off", "localize")


async def seconds_of(translator: Translator, texts: Sequence[str], options: TranslationOptions) -> float:
    """Return the processor time of all threads that translating some texts takes."""
    began = time.process_time()
    await translator.translate(texts, options)
    return time.process_time() - began


async def ratio(translator: Translator, texts: Sequence[str], beam_size: int, alone: bool, rounds: int) -> float:
    """Return how much longer texts take with values than without, the median of rounds."""
    found: dict[ValueHandling, list[float]] = {values: [] for values in MODES}
    for number in range(rounds + 1):
        seconds: dict[ValueHandling, float] = dict.fromkeys(MODES, 0.0)
        for at, part in enumerate([[text] for text in texts] if alone else [texts]):
            for values in MODES if (number + at) % 2 else MODES[::-1]:
                options = TranslationOptions(beam_size=beam_size, values=values)
                seconds[values] += await seconds_of(translator, part, options)
        if number:  # the first round warms up
            for values in MODES:
                found[values].append(seconds[values])
    return median(with_ / without for with_, without in zip(found["localize"], found["off"], strict=True))


async def main() -> None:
    """Measure bundles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundles", type=Path, nargs="+")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--plain", type=Path, default=WITHOUT, help="pairs whose sources have no values")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--beam-size", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--modes", nargs="+", default=["alone", "together"], choices=["alone", "together"])
    given = parser.parse_args()
    for bundle in given.bundles:
        translator = open_translator(load_bundle(bundle))
        await translator.start()
        source, target = translator.info.pairs[0]
        texts = {"with values": [sample.text for sample in samples(source, target, given.count, 0)]}
        if source == "en":
            found = [own for own, _ in read_pairs([given.plain]) if PLAIN.fullmatch(own)]
            texts["without"] = found[: given.count]
        for name, own in texts.items():
            for mode in given.modes:
                for beam_size in given.beam_size:
                    times = await ratio(translator, own, beam_size, mode == "alone", given.rounds)
                    sys.stdout.write(
                        f"{bundle.name} {len(own)} sentences {name}, {mode}, beam {beam_size}: x {times:.3f}\n"
                    )
                    sys.stdout.flush()
        await translator.stop(1)


if __name__ == "__main__":
    asyncio.run(main())
