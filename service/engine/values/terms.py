"""Terms of a glossary: source terms found in a text, each with the forms in which its target term may be written.

Whole words are matched, the longest term first. Small and capital letters are the same, unless a term has a capital
within a word (NATO, iPhone), which is matched as it is written. A word also matches its plural and the like,
by the endings of its language; a term that stands in the glossary in exactly the text's form wins.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from service.bundle.wrapping import Span
from service.engine.cancellation import check_wanted, while_wanted
from service.engine.values.value import Kind, Value
from service.languages import Language, language_of

_WORD = re.compile(r"\w+")
_BLANKS = re.compile(r"\s+")
MOST_FORMS = 32  # terms that differ in case and endings only, which are all compared with a text


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

    number: int  # in the glossary
    term: Term
    words: tuple[str, ...]  # in the case of the term
    around: tuple[str, str]  # signs before the first word and after the last


@dataclass(slots=True)
class _Node:
    """A node of a trie of terms: the terms whose words end here, and where the next word leads."""

    following: dict[str, _Node] = field(default_factory=dict)  # by the gap before a word, and the word
    ends: dict[tuple[str, str], dict[tuple[str, ...], _Entry]] = field(default_factory=dict)  # by `around` and words
    before: int = 0  # most signs before a term that ends here
    after: int = 0

    def add(self, entry: _Entry, words: _Words) -> None:
        """Add a term, whose words lead from here to its place."""
        node = self
        for number, (word, joined) in enumerate(zip(words.plain, words.joined, strict=True)):
            node = node.following.setdefault(joined if number else word, _Node())
        node.ends.setdefault(entry.around, {}).setdefault(entry.words, entry)
        before, after = map(len, entry.around)
        node.before, node.after = max(node.before, before), max(node.after, after)

    def longest(self, words: _Words, first: int, taken: int) -> tuple[int, list[_Entry]]:
        """Return how many words the longest terms have that begin with a word of a text, and these terms.

        `taken` is the end of the term before them.
        """
        best: tuple[int, list[_Entry]] = 0, []
        text, spans = words.text, words.spans
        start = spans[first][0]
        free = start - max(taken, spans[first - 1][1] if first else 0)
        node, at = self.following.get(words.plain[first]), first + 1
        while node is not None:
            if node.ends:
                end = spans[at - 1][1]
                room = (spans[at][0] if at < len(spans) else len(text)) - end
                entries = [
                    entry
                    for before in range(min(node.before, free) + 1)
                    for after in range(min(node.after, room) + 1)
                    if (forms := node.ends.get((text[start - before : start], text[end : end + after])))
                    for entry in _likely(forms, words.own[first:at])
                ]
                best = (at - first, entries) if entries else best
            if at == len(spans) or not node.following:
                break
            node, at = node.following.get(words.joined[at]), at + 1
        return best


def _likely(forms: Mapping[tuple[str, ...], _Entry], words: Sequence[str]) -> Iterator[_Entry]:
    """Yield terms with the same words but for their case and endings; of many the first, and the one in this form."""
    yield from islice(forms.values(), MOST_FORMS)
    if len(forms) > MOST_FORMS and (same := forms.get(tuple(words))):
        yield same


class _Words:
    """The words of a text as a trie has them: in small letters and without endings, or as they are written."""

    def __init__(self, text: str, spans: Sequence[Span], base: Callable[[str], str] | None) -> None:
        self.text, self.spans = text, spans
        self.own = [text[start:end] for start, end in spans]
        self.plain = self.own if base is None else [base(word.casefold()) for word in self.own]

    @functools.cached_property
    def joined(self) -> list[str]:
        """Return the words after the gaps before them, which most texts need not have."""
        ends = [0, *(end for _, end in self.spans)]
        gaps = [_gap(self.text[end:start]) for end, (start, _) in zip(ends, self.spans, strict=False)]
        return [gap + word for gap, word in zip(gaps, self.plain, strict=True)]


def _spans(text: str) -> list[Span]:
    return [match.span() for match in _WORD.finditer(text)]


class Glossary:
    """The terms of one language pair; an object is never changed, so that all requests can share it."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self.terms = tuple(terms)
        self.size = sum(len(text) for term in self.terms for text in (term.source, *term.targets))  # characters
        self._tries: dict[Language, tuple[_Node, _Node]] = {}  # by language: terms whose case matters, and the others

    def find(self, text: str, language: str) -> tuple[Value, ...]:
        """Return the terms of a text in a language, in order; they do not overlap."""
        return tuple(self._found(text, language_of(language)))

    def _found(self, text: str, language: Language) -> Iterator[Value]:
        base = functools.partial(_base, language, str.maketrans(dict(language.inflection.letters)))
        if language not in self._tries:
            self._tries[language] = _tries(self.terms, base)
        exact, usual = self._tries[language]
        spans = _spans(text)
        words, as_written = _Words(text, spans, base), _Words(text, spans, None)
        left = taken = 0  # the first word after the last term, and the end of that
        for first, (word, spelled) in enumerate(zip(words.plain, words.own, strict=True)):
            if first < left or (word not in usual.following and spelled not in exact.following):
                continue
            check_wanted()
            matches = [node.longest(form, first, taken) for node, form in ((exact, as_written), (usual, words))]
            count = max(size for size, _ in matches)
            if not count:
                continue
            entries = [entry for size, entries in matches if size == count for entry in entries]
            best = _likest(entries, words.own[first : first + count])
            value = _value(best, text, spans[first : first + count])
            yield value
            left, taken = first + count, value.end


def _tries(terms: Sequence[Term], base: Callable[[str], str]) -> tuple[_Node, _Node]:
    exact, usual = _Node(), _Node()
    for number, term in enumerate(while_wanted(terms)):
        spans = _spans(term.source)
        words = _Words(term.source, spans, None if term.is_exact else base)
        around = _gap(term.source[: spans[0][0]]), _gap(term.source[spans[-1][1] :])
        (exact if term.is_exact else usual).add(_Entry(number, term, tuple(words.own), around), words)
    return exact, usual


def _gap(text: str) -> str:
    return text if text in ("", " ") else _BLANKS.sub(" ", text)


def _likest(entries: Sequence[_Entry], words: Sequence[str]) -> _Entry:
    """Return the term with most of these words, those in the same case counted twice; of equal ones the first."""

    def rank(entry: _Entry) -> tuple[int, int]:
        pairs = zip(words, entry.words, strict=True)
        return sum((a == b) + (a.casefold() == b.casefold()) for a, b in pairs), -entry.number

    return max(entries, key=rank)


def _value(entry: _Entry, text: str, words: Sequence[Span]) -> Value:
    before, after = entry.around
    start, end = words[0][0] - len(before), words[-1][1] + len(after)
    matched = text[start:end]
    targets = entry.term.targets
    if matched.isupper() and not entry.term.source.isupper() and len(matched) > 1:
        targets = tuple(map(str.upper, targets))
    return Value(Kind.TERM, start, end, matched, targets[0], targets[1:])


def _base(language: Language, letters: Mapping[int, str], word: str) -> str:
    """Return a word in small letters without its ending."""
    word = word.translate(letters) if letters else word
    for ending in language.inflection.endings:
        if word.endswith(ending.ending) and len(word) >= ending.least and not word.endswith(ending.not_in):
            return word.removesuffix(ending.ending) + ending.becomes
    return word
