"""Quality of a bundle by kind of text, for the model card.

The bundle translates through ``translucent translate``, so that the measurement is of the service: int8, the bundle's
default beam size, and long sentences in parts.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from training.data.distillation import translated
from training.data.number_templates import LANGUAGES, TESTING, number_pairs
from training.data.own_text import FOLDER
from training.evaluation.scores import score
from training.evaluation.test_sets import TestSet, load_development, load_test
from training.export.card import CardScore
from training.runs.folder import RunFolder

OWN_SETS = FOLDER / "test"
PUBLIC_SETS = ("tatoeba", "newstest2014", "flores101")
NUMBER_SENTENCES = 1000
BEAM_SIZE = 4


def public_sets(folder: Path, source: str, target: str) -> list[TestSet]:
    """Return the public test sets of a language pair that ``folder`` holds, in either direction of the files.

    ``folder`` has the layout of a mirror: ``test/NAME.en-XX.tsv.gz``, and Multi30k's files under ``multi30k/raw``.
    """
    sets = [test_set for name in PUBLIC_SETS for test_set in _tsv(folder / "test", name, source, target)]
    halves = [folder / "multi30k" / "raw" / f"test_2016_flickr.{language}.gz" for language in (source, target)]
    if all(half.is_file() for half in halves):
        loaded = load_test(halves[0], halves[1])
        sets.append(TestSet(f"multi30k-test2016.{source}-{target}", loaded.sources, loaded.references))
    return sets


def _tsv(folder: Path, name: str, source: str, target: str) -> Iterator[TestSet]:
    forth, back = (folder / f"{name}.{one}-{second}.tsv.gz" for one, second in ((source, target), (target, source)))
    label = f"{name}.{source}-{target}"
    if forth.is_file():
        loaded = load_test(forth)
        yield TestSet(label, loaded.sources, loaded.references)
    elif back.is_file():
        loaded = load_test(back)
        yield TestSet(label, loaded.references, loaded.sources)


def domain_scores(bundle: Path, sets: Iterable[TestSet], *options: str) -> list[CardScore]:
    """Return BLEU and chrF of a bundle's int8 translations of every test set, with signatures."""
    scores = []
    for test in sets:
        lines = translated(bundle, test.sources, *options)
        for figure in score(lines, test.references):
            rounded = round(figure.score, 2)
            scores.append(CardScore(test.name, figure.metric, rounded, figure.signature, "int8", BEAM_SIZE))
    return scores


def number_score(bundle: Path, source: str, target: str, seed: int = 1) -> CardScore:
    """Return the share of sentences with fresh random numbers whose translations have every number exactly once.

    The search does not protect values here (`--values off`): the figure is the model's own.
    """
    pairs = list(number_pairs(source, target, NUMBER_SENTENCES, seed, TESTING))
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    translations = translated(bundle, sources, "--from", source, "--values", "off")
    kept = [keeps_numbers(*row) for row in zip(sources, references, translations, strict=True)]
    share = round(100 * sum(kept) / len(kept), 2)
    return CardScore(f"numbers.{source}-{target}", "sentences with all numbers kept, %", share, None, "int8", BEAM_SIZE)


def phrase_score(bundle: Path, source: str, target: str) -> CardScore:
    """Return the share of the first phrases that people try whose translation is one of the accepted ones."""
    lines = (OWN_SETS / "first_phrases.tsv").read_text(encoding="utf-8").splitlines()
    phrases = [dict(zip(LANGUAGES, line.split("\t"), strict=True)) for line in lines]
    translations = translated(bundle, [phrase[source].split(" | ")[0] for phrase in phrases], "--from", source)
    accepted = [text in phrase[target].split(" | ") for text, phrase in zip(translations, phrases, strict=True)]
    share = round(100 * sum(accepted) / len(accepted), 2)
    return CardScore(
        f"first_phrases.{source}-{target}", "phrases with an accepted translation, %", share, None, "int8", 4
    )


def report(bundle: Path, run: Path, tests: Path) -> list[CardScore]:
    """Return every figure of a bundle's domain report.

    ``run`` is its run folder, whose held-out sentences of each corpus are used; ``tests`` is a mirror.
    """
    recipe = RunFolder(run).load_recipe()
    target = recipe.target_language
    scores = []
    for source in recipe.source_languages:
        scores += pair_report(bundle, (source, target), tests)
    return scores + domain_scores(bundle, load_development(run))


def pair_report(bundle: Path, pair: tuple[str, str], tests: Path) -> list[CardScore]:
    """Return the figures of a bundle for one of its pairs on texts that no run belongs to; ``tests`` is a mirror."""
    source, target = pair
    everyday = OWN_SETS / f"everyday.{source}-{target}.tsv"
    sets = [load_test(everyday)] if everyday.is_file() else []
    scores = domain_scores(bundle, [*sets, *public_sets(tests, source, target)], "--from", source)
    if source in LANGUAGES and target in LANGUAGES:
        scores += [number_score(bundle, source, target), phrase_score(bundle, source, target)]
    return scores


_DIGITS = re.compile(r"\d+")


def keeps_numbers(source: str, reference: str, hypothesis: str) -> bool:
    """Return whether a translation has exactly the numbers of its source.

    Numbers are compared as runs of digits, in any order, so that 1,299.99 equals 1 299,99. The reference's numbers are
    also accepted: 3:30 pm is 15 h 30 in French.
    """
    numbers = _runs(hypothesis)
    return numbers in (_runs(source), _runs(reference))


def _runs(text: str) -> Counter[str]:
    return Counter(_DIGITS.findall(text))
