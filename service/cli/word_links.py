"""The words of a line and of its translation, and the pairs of aligned ones."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from service.bundle.alignment import Links
from service.engine import SentenceDetail, Translation


@dataclass(frozen=True, slots=True)
class WordLinks:
    """The words of both sides, and pairs of their numbers."""

    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    links: Links = ()

    def __str__(self) -> str:
        """Return the words as fast_align and awesome-align read them."""
        return f"{' '.join(self.sources)} ||| {' '.join(self.targets)}" if self.sources or self.targets else ""


NO_WORDS = WordLinks()


def of_translation(translation: Translation) -> WordLinks:
    """Return the words of a text and of its translation; with two legs, a word of the pivot language links them."""
    last = of_sentences(translation.sentences)
    if translation.pivot is None:
        return last
    first = of_sentences(translation.pivot.sentences)
    same = _shared(translation.pivot.text, first.targets, last.sources)
    onwards: dict[int, list[int]] = {}
    for middle, word in last.links:
        onwards.setdefault(middle, []).append(word)
    links = {(word, end) for word, middle in first.links for other in same[middle] for end in onwards.get(other, ())}
    return WordLinks(first.sources, last.targets, tuple(links))


def of_sentences(sentences: Iterable[SentenceDetail]) -> WordLinks:
    """Return the words of the sentences of a text."""
    sources: list[str] = []
    targets: list[str] = []
    links: list[tuple[int, int]] = []
    for sentence in sentences:
        links += [(len(sources) + source, len(targets) + target) for source, target in sentence.word_alignment]
        sources += sentence.source_words
        targets += sentence.target_words
    return WordLinks(tuple(sources), tuple(targets), tuple(links))


def _shared(text: str, first: Sequence[str], second: Sequence[str]) -> Mapping[int, set[int]]:
    """Return, for each word of a text as one model has them, the words of another that have a character of it."""
    owners = {place: number for number, word in enumerate(_ranges(text, second)) for place in word}
    return {
        number: {owners[place] for place in word if place in owners} for number, word in enumerate(_ranges(text, first))
    }


def _ranges(text: str, words: Sequence[str]) -> list[range]:
    """Return the ranges of the words of a text, in their order."""
    ranges: list[range] = []
    end = 0
    for word in words:
        start = text.index(word, end)
        end = start + len(word)
        ranges.append(range(start, end))
    return ranges
