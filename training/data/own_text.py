"""The project's own text: sentences in English, French and German by topic."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from training.data.cleaning import Pair
from training.data.errors import CorpusError

REGISTERS = ("", "familiar", "polite")
"""How a translation addresses one person: not at all, as tu and du, or as vous and Sie."""

FOLDER = Path(__file__).parents[1] / "text"


class Triple(NamedTuple):
    """A sentence in three languages."""

    en: str
    fr: str
    de: str
    register: str


def topics() -> dict[str, list[Triple]]:
    """Return the triples of each topic, in the order of names; raises CorpusError for a line of another shape."""
    return {path.stem: read_topic(path) for path in sorted(FOLDER.glob("*.tsv"))}


def read_topic(path: Path) -> list[Triple]:
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
