"""`python -m benchmarks.values BUNDLE…` counts the sentences in which values and terms arrive exactly once.

Each direction translates sentences with values and sentences with the terms of a glossary: those that the references
suggest, and words that no model knows. A sentence is right if each of its values stands in the translation as often as
in the sentence, in one of its forms, and no other figures do. chrF is that of the sentences with a reference, the time
is processor time. To compare two versions, run each in its own checkout. Needs sacrebleu.
"""

import argparse
import asyncio
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import sacrebleu

from benchmarks.corpora import ROOT
from benchmarks.tables import markdown
from benchmarks.value_texts import TEST_NAMES, TRAINING_NAMES, ValueSentence, real_samples, template_samples
from service.bundle.load import load_bundle
from service.engine import Glossary, Term, TranslationOptions, Translator, open_translator
from service.engine.text.segmentation import segment_text
from service.engine.values.value import Kind, Value

SHARES = ((TEST_NAMES, 0.5), (TRAINING_NAMES, 0.25))  # of the sentences with values; the others are from templates
LONGEST = 300  # characters
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]{4,}")
PLAIN = TranslationOptions()
_SYLLABLES = ("bra", "den", "fli", "gor", "lum", "mon", "pel", "ras", "tok", "vun", "wim", "zad")


class ValueCounts(NamedTuple):
    """What became of sentences of one kind."""

    sentences: int
    wrong: list[str]
    chrf: float
    seconds: float

    def cells(self) -> tuple[str, ...]:
        """Return the numbers of a row of the table."""
        count = max(self.sentences, 1)
        right = 100 * (1 - len(self.wrong) / count)
        return str(self.sentences), f"{right:.2f}", f"{self.chrf:.2f}", f"{1000 * self.seconds / count:.1f}"


def values_of(translator: Translator, text: str, options: TranslationOptions) -> list[Value]:
    """Return the values that the model's reading of a text keeps."""
    pair = translator.model.loaded_for((translator.info.source_language, translator.info.target_language))
    sentences = segment_text(text, pair.reader_for(options))
    return [value for sentence in sentences for value in sentence.values]


def is_right(values: Sequence[Value], source: str, translation: str) -> bool:
    """Return whether a translation holds each value exactly once, and no figures that the sentence does not have."""
    left = translation
    forms = [(value, dict.fromkeys((value.written, value.text, *value.others))) for value in values]
    for value, written in sorted(forms, key=lambda each: -len(each[0].written)):
        flags = re.IGNORECASE if value.kind is Kind.TERM else 0
        pattern = "|".join(map(_bounded, sorted(written, key=len, reverse=True)))
        left, count = re.subn(pattern, "\n", left, count=1, flags=flags)
        if not count:
            return False
    kept = {form for value, written in forms if not value.is_soft for form in written}
    again = any(re.search(_bounded(form), left) for form in kept if len(form) > 1)
    figures, others = _figures([value.text for value in values]), _figures([source])
    return not again and not (figures and _figures([left]) - (others - figures))


def _figures(texts: Sequence[str]) -> Counter[str]:
    return Counter(number for text in texts for number in _DIGITS.findall(text))


def _bounded(form: str) -> str:
    before = r"(?<!\d)(?<!\d[.,])" if form[:1].isdigit() else r"(?<!\w)" if form[:1].isalpha() else ""
    after = r"(?!\d)(?![.,]\d)" if form[-1:].isdigit() else ""
    return before + re.escape(form) + after


def usual_terms(samples: Sequence[ValueSentence], count: int) -> list[Term]:
    """Return the words that most often stand opposite each other, by Dice's coefficient."""
    left, right = Counter[str](), Counter[str]()
    both: dict[str, Counter[str]] = defaultdict(Counter)
    for sample in samples:
        words, others = ({*_WORD.findall(text or "")} for text in sample)
        left.update(words)
        right.update(others)
        for word in words:
            if word.islower():
                both[word].update(others)
    found: list[tuple[float, str, str]] = []
    for word, counts in both.items():
        ranked = ((2 * many / (left[word] + right[other]), other) for other, many in counts.items() if many >= 4)
        share, best = max(ranked, default=(0.0, ""))
        if share >= 0.5:
            found.append((-share, word, best))
    return [Term(word, (translation,)) for _, word, translation in sorted(found)[:count]]


def sentences_with_terms(source: str, target: str, count: int) -> tuple[list[ValueSentence], Glossary, Glossary]:
    """Return sentences with terms, a glossary of what their references say, and one of words that nobody knows."""
    pairs = [each for each in real_samples(TEST_NAMES, source, target) if len(each.source) <= LONGEST]
    terms = usual_terms(pairs, 500)
    usual = Glossary(terms)
    chance = random.Random(1)
    made_up = Glossary([Term(each.source, ("".join(chance.sample(_SYLLABLES, 3)),)) for each in terms])
    good = [
        each
        for each in pairs
        if (found := usual.find(each.source, source)) and all(term.written in (each.reference or "") for term in found)
    ]
    return spread_over(good, count), usual, made_up


def sentences_with_values(translator: Translator, count: int) -> list[ValueSentence]:
    """Return sentences with values in the model's direction."""
    pair = translator.info.source_language, translator.info.target_language
    found: list[ValueSentence] = []
    for names, share in SHARES:
        texts = [each for each in real_samples(names, *pair) if len(each.source) <= LONGEST]
        found += spread_over([each for each in texts if values_of(translator, each.source, PLAIN)], int(share * count))
    return found + template_samples(pair[0], count - len(found))


def spread_over(samples: Sequence[ValueSentence], count: int) -> list[ValueSentence]:
    """Return so many of the sentences, at even distances; all if there are fewer."""
    count = min(count, len(samples))
    return [samples[at * len(samples) // count] for at in range(count)]


async def measure(translator: Translator, samples: Sequence[ValueSentence], options: TranslationOptions) -> ValueCounts:
    """Translate sentences and judge the translations."""
    texts = [sample.source for sample in samples]
    began = time.process_time()
    translations = [each.text for each in await translator.translate(texts, options)]
    seconds = time.process_time() - began
    wrong = [
        f"{text} → {translation}"
        for text, translation in zip(texts, translations, strict=True)
        if not is_right(values_of(translator, text, options), text, translation)
    ]
    pairs = [(text, each.reference) for text, each in zip(translations, samples, strict=True) if each.reference]
    score = sacrebleu.corpus_chrf([text for text, _ in pairs], [[text for _, text in pairs]]).score if pairs else 0.0
    return ValueCounts(len(samples), wrong, score, seconds)


async def main() -> None:
    """Print a table with a row for each direction and kind of sentences."""
    options = _options()
    rows: list[tuple[str, ...]] = []
    for folder in options.bundles:
        translator = open_translator(load_bundle(folder))
        await translator.model.start()
        for source, target in translator.info.pairs:
            view = translator.for_pair(source, target)
            terms, usual, made_up = sentences_with_terms(source, target, options.terms // 2)
            kinds = {
                "values": (sentences_with_values(view, options.values), None),
                "terms": (terms, usual),
                "made-up terms": (terms, made_up),
            }
            for kind, (samples, glossary) in kinds.items():
                found = await measure(view, samples, TranslationOptions(beam_size=options.beam, glossary=glossary))
                rows.append((f"`{translator.name}` {source} → {target}, {kind}", *found.cells()))
                print(*rows[-1], *found.wrong[: options.show], sep="\n    ", flush=True)  # noqa: T201
        await translator.model.stop(1)
    print(markdown(["", "sentences", "right, %", "chrF", "ms a sentence"], rows))  # noqa: T201


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundles", type=Path, nargs="*", default=[ROOT / "models" / "transformer-en-fr"])
    parser.add_argument("--values", type=int, default=2000, help="sentences with values of each direction")
    parser.add_argument("--terms", type=int, default=500, help="sentences with terms of each direction")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--show", type=int, default=0, help="wrong sentences that are printed")
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(main())
