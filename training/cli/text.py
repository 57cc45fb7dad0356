"""The command ``text``: what the project's own text has, topic by topic, and which words it lacks."""

import csv
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from training.data.corpora import CORPORA
from training.data.errors import CorpusError
from training.data.own_text import FOLDER, FREQUENT, Triple, lemmas, missing, topics
from training.data.reading import read_corpus
from training.files import write_lines
from training.tables import markdown

READINGS = FOLDER / "readings.csv"
"""The lines that a second reader read, and those that were wrong, of each topic."""

_LEFT_OUT = {"everyday", "ca_laws", "php_docs", "python_docs", "bible", "bible_alt"}
"""Text whose words say nothing about everyday language."""


def text(
    lacking: Annotated[
        Path | None, typer.Option(help="Write the frequent words that are missing to this folder.")
    ] = None,
    mirror: Annotated[Path, typer.Option(help="Folder with the corpora that say which words are frequent.")] = Path(
        "../shared/data"
    ),
    need: Annotated[int, typer.Option(help="A word is missing if it occurs less often.")] = 2,
) -> None:
    """Show the project's own text (training/text) by topic; with --lacking, also how much of the vocabulary it has."""
    by_topic = topics()
    typer.echo(
        markdown(["topic", "triples", "en words", "fr words", "de words", "read again", "wrong"], _rows(by_topic))
    )
    if lacking is None:
        return
    if not mirror.is_dir():
        raise CorpusError(f"{mirror} is not a folder: name one with --mirror, to count which words are frequent")
    for language, frequent in _frequent(mirror).items():
        had = lemmas((getattr(triple, language) for triples in by_topic.values() for triple in triples), language)
        words = missing(had, frequent, language, need)
        write_lines(lacking / f"{language}.txt", words)
        share = 1 - len(words) / FREQUENT[language]
        typer.echo(f"{language}: {share:.0%} of the {FREQUENT[language]} most frequent lemmas at least {need} times")


def _rows(by_topic: dict[str, list[Triple]]) -> list[list[str]]:
    with READINGS.open(encoding="utf-8", newline="") as file:
        readings = {row["topic"]: (int(row["read"]), int(row["wrong"])) for row in csv.DictReader(file)}
    rows = []
    total = Counter[int]()
    for topic, triples in by_topic.items():
        words = [sum(len(triple[side].split()) for triple in triples) for side in range(3)]
        figures = [len(triples), *words, *readings.get(topic, (0, 0))]
        total.update(dict(enumerate(figures)))
        rows.append([topic, *map(str, figures)])
    return [*rows, ["all", *(str(total[column]) for column in range(6))]]


def _frequent(mirror: Path) -> dict[str, Counter[str]]:
    """Return how often each lemma occurs in the corpora of a mirror that are not of one trade."""
    counts = {language: Counter[str]() for language in FREQUENT}
    for pair in (("en", "fr"), ("en", "de")):
        for corpus in CORPORA.values():
            if corpus.name in _LEFT_OUT or pair not in corpus.downloads or corpus.name.startswith("multi30k"):
                continue
            try:
                sides = list(zip(*read_corpus(corpus.name, *pair, mirror, mirror), strict=True))
            except CorpusError:
                continue  # a mirror need not have every corpus
            for language, side in zip(pair, sides, strict=True):
                counts[language] += lemmas(set(side), language)
    return counts
