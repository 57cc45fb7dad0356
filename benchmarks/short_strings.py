"""Measures interface strings: `python -m benchmarks.short_strings fr /path/to/corpora models/transformer-en-fr …`.

The set has 300 strings: single words, menu entries and list items, titles in capitals, strings with an end or with the
mark of a keyboard shortcut. They are from interfaces of which the recipes hold sentences out (Android apps, Home
Assistant, LibreOffice), and only held-out sentences are used: those with the smallest hashes, as `training.data.split`
chooses them. So no model that was trained by these recipes has seen them, nor has any other corpus of its training
text. What comes first by hash is chosen; there is no random number. The strings in capitals, with an end or a mark are
made from others, because the corpora have few. Needs sacrebleu.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import sacrebleu

from service.bundle.load import load_bundle
from service.engine import Translation, TranslationOptions, Translator, is_better, open_translator, problems_of
from training.data.split import sentence_hash
from training.recipe import load_recipe

CORPORA = ("android_apps", "home_assistant", "libreoffice_help")
LONGEST, MOST_WORDS = 40, 5
SIZES = {"one word": 30, "several words": 160, "capitals": 66, "end": 40, "shortcut": 40}
TOTAL = 300
ENDS = (":", "…", "...")
MARKS = ("&", "_", "~")
_LETTERS = re.compile(r"[^\W\d_]+(?:[ '’/-][^\W\d_]+)*")


class Item(NamedTuple):
    """A string and its reference."""

    group: str
    source: str
    reference: str


def held_out_pairs(folder: Path, recipe: Path) -> list[tuple[str, str]]:
    """Return the short strings that the recipe holds out of its training text, by hash; each English string once."""
    counts = {corpus.name: corpus.development for corpus in load_recipe(recipe).corpora}
    found: dict[int, tuple[str, str]] = {}
    for name in CORPORA:
        with gzip.open(folder / f"{name}.tsv.gz", "rt", encoding="utf-8") as file:
            pairs = [tuple(line.rstrip("\n").split("\t")) for line in file]
        hashes = {sentence_hash(source) for source, _ in pairs}
        held = set(sorted(hashes)[: counts[name]])
        for source, target in pairs:
            key = sentence_hash(source)
            if key in held and _is_interface_string(source, target):
                found.setdefault(key, (source, target))
    return [found[key] for key in sorted(found)]


def _is_interface_string(source: str, target: str) -> bool:
    return (
        len(source) <= LONGEST
        and len(source.split()) <= MOST_WORDS
        and _LETTERS.fullmatch(source) is not None
        and source[0].isupper()
        and not source.isupper()
        and _LETTERS.fullmatch(target) is not None
    )


def made_from(pairs: Sequence[tuple[str, str]], target: str) -> list[Item]:
    """Return the items of all groups; a string may be in several, written otherwise."""
    words = [pair for pair in pairs if " " not in pair[0]]
    phrases = [pair for pair in pairs if " " in pair[0]]
    mixed = words + phrases[::-1]
    groups: dict[str, Iterator[Item]] = {
        "one word": (Item("one word", *pair) for pair in words),
        "several words": (Item("several words", *pair) for pair in phrases),
        "capitals": (Item("capitals", *(side.upper() for side in pair)) for pair in mixed),
        "end": (_with_end(number, *pair, target) for number, pair in enumerate(mixed)),
        "shortcut": (_with_mark(number, *pair) for number, pair in enumerate(mixed)),
    }
    found = {name: [item for item, _ in zip(items, range(SIZES[name]), strict=False)] for name, items in groups.items()}
    return [item for items in found.values() for item in items][:TOTAL]


def _with_end(number: int, source: str, reference: str, target: str) -> Item:
    end = ENDS[number % len(ENDS)]
    return Item("end", source + end, reference + (" :" if target == "fr" and end == ":" else end))


def _with_mark(number: int, source: str, reference: str) -> Item:
    mark = MARKS[number % len(MARKS)]
    at = next((at for at, letter in enumerate(reference) if letter.casefold() == source[0].casefold()), 0)
    return Item("shortcut", mark + source, f"{reference[:at]}{mark}{reference[at:]}")


def report(name: str, items: Sequence[Item], answers: Sequence[str]) -> str:
    """Return the figures of some answers."""
    references = [item.reference for item in items]
    exact = sum(answer == reference for answer, reference in zip(answers, references, strict=True))
    same = sum(_plain(answer) == _plain(reference) for answer, reference in zip(answers, references, strict=True))
    problems = [problems_of(item.source, answer) for item, answer in zip(items, answers, strict=True)]
    each = Counter(problem for own in problems for problem in own)
    chrf = sacrebleu.corpus_chrf(list(answers), [references]).score
    return (
        f"{name:40} {len(items):4}  chrF {chrf:5.1f}  exact {exact / len(items):6.1%}, but for capitals and ends "
        f"{same / len(items):6.1%}  failing {sum(map(bool, problems)) / len(items):6.1%}  "
        + ", ".join(f"{problem} {count}" for problem, count in sorted(each.items()))
    )


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).strip().casefold()


async def answers_of(translator: Translator, items: Sequence[Item], options: TranslationOptions) -> list[Translation]:
    """Return the translations of all strings."""
    return await translator.translate([item.source for item in items], options)


def better(items: Sequence[Item], first: Sequence[Translation], second: Sequence[Translation]) -> list[str]:
    """Return the first answers, or the second where the first fails its checks and the second is better."""
    chosen = []
    for item, one, other in zip(items, first, second, strict=True):
        fails = bool(problems_of(item.source, one.text))
        chosen.append(other.text if fails and is_better(item.source, other, one) else one.text)
    return chosen


async def main() -> None:
    """Measure each model as it is, with short strings read and written apart, and the better of both models."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=("fr", "de"))
    parser.add_argument("corpora", type=Path, help="the folder with en-fr and en-de")
    parser.add_argument("bundles", type=Path, nargs="+")
    parser.add_argument("--recipe", type=Path, help="whose held-out sentences are used; default: of the Transformer")
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--show", action="store_true", help="print every answer")
    given = parser.parse_args()
    recipe = given.recipe or Path(f"training/recipes/transformer-en-{given.target}.yaml")
    items = made_from(held_out_pairs(given.corpora / f"en-{given.target}", recipe), given.target)
    found: dict[str, list[Translation]] = {}
    for bundle in given.bundles:
        translator = open_translator(load_bundle(bundle))
        await translator.start()
        for name, values in (("the model alone", "off"), ("as served", "localize")):
            options = TranslationOptions(beam_size=given.beam_size, values=values)  # type: ignore[arg-type]
            found[f"{bundle.name}, {name}"] = await answers_of(translator, items, options)
        await translator.stop(1)
    answers = {name: [translation.text for translation in own] for name, own in found.items()}
    served = [(name, own) for name, own in found.items() if name.endswith("as served")]
    if len(served) == 2:
        for (name, one), (_, other) in (served, served[::-1]):
            answers[f"{name}, or the other"] = better(items, one, other)
    for name, own in answers.items():
        print(report(name, items, own))  # noqa: T201 - the result of the program
        for group in SIZES:
            places = [place for place, item in enumerate(items) if item.group == group]
            line = report(f"  {group}", [items[place] for place in places], [own[place] for place in places])
            print(line)  # noqa: T201
    if given.show:
        for place, item in enumerate(items):
            print("\t".join((*item, *(own[place] for own in answers.values()))))  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main())
    sys.exit(0)
