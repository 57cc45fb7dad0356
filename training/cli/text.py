"""The command ``text``: what the project's own text has, topic by topic."""

import csv
from collections import Counter

import typer

from training.data.own_text import FOLDER, topics
from training.tables import markdown


def text() -> None:
    """Show the project's own text (training/text) by topic: triples, words, and what a second reader found wrong."""
    with (FOLDER / "readings.csv").open(encoding="utf-8", newline="") as file:
        readings = {row["topic"]: (int(row["read"]), int(row["wrong"])) for row in csv.DictReader(file)}
    rows = []
    total = Counter[int]()
    for topic, triples in topics().items():
        words = [sum(len(triple[side].split()) for triple in triples) for side in range(3)]
        figures = [len(triples), *words, *readings.get(topic, (0, 0))]
        total.update(dict(enumerate(figures)))
        rows.append([topic, *map(str, figures)])
    rows.append(["all", *(str(total[column]) for column in range(6))])
    typer.echo(markdown(["topic", "triples", "en words", "fr words", "de words", "read again", "wrong"], rows))
