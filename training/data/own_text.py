"""The project's own everyday text (``training/text/*.tsv``): one file a topic, English, French, German and register."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from training.data.cleaning import Pair
from training.data.errors import CorpusError

REGISTERS = ("", "familiar", "polite")
"""How a translation addresses one person: not at all, as tu and du, or as vous and Sie."""


class Triple(NamedTuple):
    """A sentence in three languages."""

    en: str
    fr: str
    de: str
    register: str


def topics() -> dict[str, list[Triple]]:
    """Return the triples of each topic, in the order of names; raises CorpusError for a line of another shape."""
    paths = sorted(files("training").joinpath("text").iterdir(), key=lambda path: path.name)
    return {path.name.removesuffix(".tsv"): read_topic(path) for path in paths if path.name.endswith(".tsv")}


def read_topic(path: Traversable) -> list[Triple]:
    """Return the triples of a file; raises CorpusError for a line of another shape."""
    triples = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        columns = line.split("\t")
        if len(columns) != 4 or not all(columns[:3]) or columns[3] not in REGISTERS:
            raise CorpusError(f"{path.name}, line {number}: not English, French, German and a register")
        triples.append(Triple(*columns))
    return triples


def own_pairs(source_language: str, target_language: str) -> Iterator[Pair]:
    """Yield every triple as a pair of two of its languages."""
    for triples in topics().values():
        for triple in triples:
            yield getattr(triple, source_language), getattr(triple, target_language)
