"""The project's own text: sentences in English, French and German by topic, and the words that it has."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import simplemma

from training.data.cleaning import Pair
from training.data.errors import CorpusError

REGISTERS = ("", "familiar", "polite")
"""How a translation addresses one person: not at all, as tu and du, or as vous and Sie."""

FREQUENT = {"en": 12_000, "fr": 8_000, "de": 8_000}
"""The lemmas of each language that the text should have."""

FOLDER = Path(__file__).parents[1] / "text"

_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_ELISION = {"fr": re.compile(r"^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)'"), "en": re.compile(r"'(?:s|ll|re|ve|m|d|t)$")}


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


def own_pairs(source_language: str, target_language: str, names: Collection[str] = ()) -> Iterator[Pair]:
    """Yield every triple of the named topics, or of all, as a pair of two of its languages.

    Raises CorpusError for the name of no topic.
    """
    by_topic = topics()
    for name in names or by_topic:
        if name not in by_topic:
            raise CorpusError(f"our own text has no topic {name!r}: `python -m training text` lists them")
        for triple in by_topic[name]:
            yield getattr(triple, source_language), getattr(triple, target_language)


def lemmas(texts: Iterable[str], language: str) -> Counter[str]:
    """Return how often each lemma occurs; German keeps its capitals, the other languages lose them."""
    forms = Counter(
        word if language == "de" else _ELISION[language].sub("", word.lower())
        for text in texts
        for word in _WORD.findall(text)
    )
    counts: Counter[str] = Counter()
    for form, count in forms.items():
        lemma = simplemma.lemmatize(form, lang=language)
        counts[lemma if language == "de" else lemma.lower()] += count
    return counts


def missing(written: Mapping[str, int], frequent: Counter[str], language: str, need: int) -> list[str]:
    """Return the frequent lemmas, the most frequent first, that our own text has fewer than ``need`` times."""
    return [
        word for word, _ in frequent.most_common(FREQUENT[language]) if len(word) > 2 and written.get(word, 0) < need
    ]
