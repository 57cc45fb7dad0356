"""Measures the survival of values: `python -m benchmarks.values models/transformer-en-fr --beam-size 4`.

Writes one line per language pair: the share of values that arrive exactly once, by the path that their sentence took.
"""

import argparse
import asyncio
import sys
import time
from collections import Counter
from pathlib import Path

from benchmarks.values.generator import Sample, samples, survivors
from service.bundle.load import load_bundle
from service.engine import TranslationOptions, Translator, open_translator


async def measure(translator: Translator, given: list[Sample], options: TranslationOptions, shown: int) -> str:
    """Translate the sentences and return the results as a line."""
    began = time.process_time()
    found = await translator.translate([sample.text for sample in given], options)
    seconds = time.process_time() - began  # of all threads: steadier than the clock on a shared machine
    kept = [survivors(sample, translation.text) for sample, translation in zip(given, found, strict=True)]
    total, once = sum(map(len, kept)), sum(map(sum, kept))
    for sample, translation, each in zip(given, found, kept, strict=True):
        if not all(each) and shown:
            shown -= 1
            lost = [value.text for value, ok in zip(sample.values, each, strict=True) if not ok]
            sys.stdout.write(f"  {lost} | {sample.text} | {translation.text}\n")
    paths = Counter(sentence.values for translation in found for sentence in translation.sentences)
    speed = f"{len(given) / seconds:.1f} sentences per CPU second"
    return f"{once / total:.2%} of {total} values exactly once, {speed} {dict(paths)}"


async def main() -> None:
    """Measure each language pair of a bundle."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--beam-size", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--values", nargs="+", default=["off", "localize"])
    parser.add_argument("--show", type=int, default=0, help="sentences with lost values to print")
    parser.add_argument("--details", action="store_true", help="also count the paths that sentences took")
    arguments = parser.parse_args()
    translator = open_translator(load_bundle(arguments.bundle))
    await translator.start()
    for source, target in translator.info.pairs:
        given = samples(source, target, arguments.count, arguments.seed)
        for beam_size in arguments.beam_size:
            for values in arguments.values:
                options = TranslationOptions(beam_size=beam_size, values=values, details=arguments.details)
                line = await measure(translator.for_pair(source, target), given, options, arguments.show)
                sys.stdout.write(f"{translator.name} {source}→{target} beam {beam_size} values {values}: {line}\n")
                sys.stdout.flush()
    await translator.stop(1)


if __name__ == "__main__":
    asyncio.run(main())
