"""Terms of a glossary: source terms found in a text, each with the forms in which its target term may be written.

Whole words are matched, the longest term first. Small and capital letters are the same, unless a term has a capital
within a word (NATO, iPhone), which is matched as it is written. A word also matches its plural and the like,
by the endings of `_ENDINGS`; a term that stands in the glossary in exactly the text's form wins.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from service.engine.values.locales import language_of
from service.engine.values.value import Kind, Value

_WORD = re.compile(r"\w+")
_BLANKS = re.compile(r"\s+")
_UMLAUTS = str.maketrans("äöü", "aou")
LEAST_STEM = 3  # letters of a word that its ending leaves


class Term(NamedTuple):
    """A source term and the forms of its target term, the first of them the usual one."""

    source: str
    targets: tuple[str, ...]

    @property
    def is_exact(self) -> bool:
        """Return whether the case of the source matters: it has a capital within a word, as in NATO or iPhone."""
        return any(any(map(str.isupper, word[1:])) for word in _WORD.findall(self.source))


class _Entry(NamedTuple):
    """A term as it is compared with a text."""

    term: Term
    words: tuple[str, ...]  # in the case of the term
    gaps: tuple[str, ...]  # what stands before, between and after the words
    exact: bool  # whether the case of the term matters


class Glossary:
    """The terms of one language pair; an object is never changed, so that all requests can share it."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self.terms = tuple(terms)
        self._indexes: dict[str, dict[str, list[_Entry]]] = {}

    def find(self, text: str, language: str) -> tuple[Value, ...]:
        """Return the terms of a text in a language, in order; they do not overlap."""
        return tuple(self._found(text, language_of(language)))

    def _found(self, text: str, language: str) -> Iterator[Value]:
        index = self._indexes.get(language)
        if index is None:
            index = self._indexes[language] = _index(self.terms, language)
        base = _BASES.get(language, str.casefold)
        words = list(_WORD.finditer(text))
        first = 0
        while first < len(words):
            entries = index.get(base(words[first][0].casefold()), ())
            matches = [(end, entry) for entry in entries if (end := _matched(entry, text, words, first, base))]
            if not matches:
                first += 1
                continue
            longest = max(len(entry.words) for _, entry in matches)
            found = [match for match in matches if len(match[1].words) == longest]
            _, entry = max(found, key=lambda match: _likeness(match[1], words[first : first + longest]))
            yield _value(entry, text, words[first : first + longest])
            first += longest


def _index(terms: Sequence[Term], language: str) -> dict[str, list[_Entry]]:
    base = _BASES.get(language, str.casefold)
    index: dict[str, list[_Entry]] = {}
    for term in terms:
        words = _WORD.findall(term.source)
        entry = _Entry(term, tuple(words), tuple(map(_gap, _WORD.split(term.source))), term.is_exact)
        index.setdefault(base(words[0].casefold()), []).append(entry)
    return index


def _gap(text: str) -> str:
    return _BLANKS.sub(" ", text)


def _matched(
    entry: _Entry, text: str, words: Sequence[re.Match[str]], first: int, base: Callable[[str], str]
) -> int | None:
    """Return the end of a term that stands in a text from a word on; None if it does not."""
    own = words[first : first + len(entry.words)]
    if len(own) < len(entry.words):
        return None
    for word, wanted in zip(own, entry.words, strict=True):
        if entry.exact:
            if word[0] != wanted:
                return None
        elif base(word[0].casefold()) != base(wanted.casefold()):
            return None
    before, *between, after = entry.gaps
    gaps = [_gap(text[left.end() : right.start()]) for left, right in pairwise(own)]
    start, end = own[0].start(), own[-1].end()
    if gaps != between or not text.startswith(after, end) or not text.endswith(before, 0, start):
        return None
    return end + len(after)


def _likeness(entry: _Entry, words: Sequence[re.Match[str]]) -> int:
    """Return how many words of a text are exactly those of a term, words in the same case counted twice."""
    pairs = [(word[0], own) for word, own in zip(words, entry.words, strict=True)]
    return sum((a == b) + (a.casefold() == b.casefold()) for a, b in pairs)


def _value(entry: _Entry, text: str, words: Sequence[re.Match[str]]) -> Value:
    start = words[0].start() - len(entry.gaps[0])
    end = words[-1].end() + len(entry.gaps[-1])
    own = text[start:end]
    targets = entry.term.targets
    if own.isupper() and not entry.term.source.isupper() and len(own) > 1:
        targets = tuple(map(str.upper, targets))
    return Value(Kind.TERM, start, end, own, targets[0], targets[1:])


def _english(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > LEAST_STEM:
        return word[:-1]
    return word


def _french(word: str) -> str:
    if word.endswith("eaux"):
        return word[:-1]
    if word.endswith("aux") and len(word) > 4:
        return word[:-2] + "l"
    return word[:-1] if word.endswith(("s", "x")) and len(word) > LEAST_STEM else word


def _german(word: str) -> str:
    word = word.translate(_UMLAUTS)
    for ending in ("en", "es", "e", "n", "s"):
        if word.endswith(ending) and len(word) - len(ending) > LEAST_STEM:
            return word[: -len(ending)]
    return word


def _spanish(word: str) -> str:
    for ending in ("es", "s"):
        if word.endswith(ending) and len(word) - len(ending) > LEAST_STEM:
            return word[: -len(ending)]
    return word


_BASES: dict[str, Callable[[str], str]] = {
    "en": _english,
    "fr": _french,
    "de": _german,
    "es": _spanish,
    "pt": _spanish,
}


def with_terms(values: Sequence[Value], terms: Sequence[Value]) -> tuple[Value, ...]:
    """Return values and terms in order: a term wins over numbers and places in it, other values over a term."""
    if not terms:
        return tuple(values)
    kept: list[Value] = []
    for term in terms:
        inner = [value for value in values if value.start < term.end and term.start < value.end]
        weaker = (value.kind in (Kind.NUMBER, Kind.PLACE) for value in inner)
        if all(weaker) and all(term.start <= value.start and value.end <= term.end for value in inner):
            kept.append(term)
            values = [value for value in values if value not in inner]
    return tuple(sorted([*values, *kept], key=lambda value: value.start))
