"""Measures glossaries: `python -m benchmarks.glossary models/transformer-en-fr PAIRS.tsv.gz …`.

The terms come from the pairs themselves: words that the model aligns one to one with a word of the reference, and the
most frequent translation of each. Only sentences whose terms all stand in their references are translated, as in the
terminology sets of Dinu et al. (2019), so that a reference can judge them. Needs sacrebleu.

After that, one to three words in a row of other sentences are marked as HTML marks them (`<b translate="no">`), and it
is counted how many of these elements arrive exactly once and unchanged.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import html
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import sacrebleu

from service import markup
from service.bundle.load import load_bundle
from service.engine import Glossary, Term, TranslationOptions, Translator, open_translator

LONGEST = 40  # words of a source
LEAST_LETTERS, LEAST_SEEN, LEAST_SHARE = 4, 2, 1 / 3  # of a term, and of its most frequent translation
CHUNK = 256
_WORD = re.compile(r"(?:(?:[ldjsnmtc]|qu)['’])?([^\W\d_]+(?:-[^\W\d_]+)*)[.,;:!?»”\"']*", re.IGNORECASE)

Pair = tuple[str, str]


def read_pairs(paths: Sequence[Path]) -> list[Pair]:
    """Return the pairs of tab-separated files, which may be packed by gzip, without long ones."""
    found = []
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t") for line in file]
        found += [(row[0], row[1]) for row in rows if len(row) > 1 and 4 <= len(row[0].split()) <= LONGEST]
    return found


async def terms_of(translator: Translator, pairs: Sequence[Pair], count: int) -> Glossary:
    """Return the most frequent terms of some pairs, by the model's own alignment of the references."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for start in range(0, len(pairs), CHUNK):
        chunk = pairs[start : start + CHUNK]
        for (source, target), scored in zip(chunk, await translator.score_batch(chunk), strict=True):
            for word, translation in _aligned(source.split(), target.split(), scored.word_alignment):
                seen[word][translation] += 1
    best = [(word, *counts.most_common(1)[0], counts.total()) for word, counts in seen.items()]
    usual = [each for each in best if each[2] >= LEAST_SEEN and each[2] >= LEAST_SHARE * each[3]]
    usual.sort(key=lambda each: (-each[2], each[0]))
    return Glossary([Term(word, (translation,)) for word, translation, _, _ in usual[:count]])


def _aligned(source: Sequence[str], target: Sequence[str], links: Sequence[tuple[int, int]]) -> list[Pair]:
    of_source, of_target = Counter(left for left, _ in links), Counter(right for _, right in links)
    found = []
    for left, right in links:
        word, translation = _WORD.fullmatch(source[left]), _WORD.fullmatch(target[right])
        if of_source[left] == of_target[right] == 1 and word and translation:
            pair = word[1], translation[1]
            if pair[0].islower() and min(map(len, pair)) >= LEAST_LETTERS:
                found.append(pair)
    return found


def marked(sources: Sequence[str], seed: int) -> list[tuple[str, str]]:
    """Return sentences as HTML, one to three words in a row of each marked, and the marked elements."""
    chance = random.Random(seed)
    found = []
    for source in sources:
        words = source.split()
        count = chance.randint(1, 3)
        first = chance.randrange(max(1, len(words) - count))
        inner = html.escape(" ".join(words[first : first + count]), quote=False)
        element = f'<b translate="no">{inner}</b>'
        before, after = (html.escape(" ".join(part), quote=False) for part in (words[:first], words[first + count :]))
        found.append((f"<p>{before} {element} {after}</p>", element))
    return found


async def kept_elements(
    translator: Translator, documents: Sequence[tuple[str, str]], options: TranslationOptions
) -> int:
    """Return how many of the marked elements arrive exactly once."""
    prepared = [markup.prepare(document) for document, _ in documents]
    units = [unit.text for unit in markup.units_of(prepared)]
    found = await translator.translate(units, options)
    written = markup.write_all(prepared, found)
    return sum(text.count(element) == 1 for text, (_, element) in zip(written, documents, strict=True))


async def main() -> None:
    """Translate with the glossary and without it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("pairs", type=Path, nargs="+")
    parser.add_argument("--terms", type=int, default=500)
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--marked", type=int, default=200, help="HTML sentences with translate=no")
    parser.add_argument("--beam-size", type=int, default=4)
    given = parser.parse_args()
    translator = open_translator(load_bundle(given.bundle))
    await translator.start()
    pairs = read_pairs(given.pairs)
    glossary = await terms_of(translator, pairs, given.terms)
    language = translator.info.source_language
    found = [(pair, [value.written for value in glossary.find(pair[0], language)]) for pair in pairs]
    chosen = [
        (pair, terms) for pair, terms in found if terms and all(term.lower() in pair[1].lower() for term in terms)
    ][: given.sentences]
    for name, used in (("without", None), ("with", glossary)):
        began = time.process_time()
        options = TranslationOptions(beam_size=given.beam_size, glossary=used)
        results = await translator.translate([source for (source, _), _ in chosen], options, split=False)
        seconds = time.process_time() - began
        texts = [result.text for result in results]
        total = sum(len(terms) for _, terms in chosen)
        there = sum(
            term.lower() in text.lower() for text, (_, terms) in zip(texts, chosen, strict=True) for term in terms
        )
        chrf = sacrebleu.corpus_chrf(texts, [[target for (_, target), _ in chosen]]).score
        sys.stdout.write(
            f"{name} the glossary: {there / max(total, 1):.2%} of {total} terms in {len(chosen)} sentences, "
            f"chrF {chrf:.2f}, {seconds:.1f} s of CPU\n"
        )
        sys.stdout.flush()
    documents = marked([source for source, _ in pairs[: given.marked]], seed=1)
    options = TranslationOptions(beam_size=given.beam_size, details=True)
    kept = await kept_elements(translator, documents, options)
    sys.stdout.write(f'translate="no": {kept} of {len(documents)} elements exactly once\n')
    await translator.stop(1)


if __name__ == "__main__":
    asyncio.run(main())
