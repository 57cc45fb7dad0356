"""The words of a text: one rule, for every figure, file and answer (docs/attention.md, "What a word is")."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from service.bundle.alignment import Groups, Links, Span, links, word_groups
from service.engine.jobs import FloatArray
from service.engine.types import Token, TokenKind, TokenOrWord, Word

APOSTROPHES = "'’"
# What French and Italian write without its last vowel before a word: the articles of Lucene's elision filters.
_FRENCH = "l m t qu n s j d c jusqu quoiqu lorsqu puisqu"
_ITALIAN = "all dall dell nell sull coll pell gl agl dagl degl negl sugl un v"
ELIDED = frozenset(f"{_FRENCH} {_ITALIAN}".split())
CLITICS = frozenset(("s", "m", "d", "re", "ve", "ll"))  # what English writes behind an apostrophe, as in I'm
LONGEST_ELIDED, LONGEST_CLITIC = (max(map(len, listed)) for listed in (ELIDED, CLITICS))
# Han, Kana, Thai, Lao, Tibetan, Burmese, Khmer: no spaces between words, so a word is what the model has as a token.
UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True)
class Axis:
    """The tokens or words that a view shows along one axis, and the model's tokens that each consists of."""

    shown: tuple[TokenOrWord, ...]
    groups: Groups
    attending: Groups
    """The tokens whose rows make the row of each: an apostrophe or full stop within a word looks at nothing of it."""

    @property
    def size(self) -> int:
        """Return the number of the model's tokens."""
        return sum(map(len, self.groups))

    @property
    def plain(self) -> Axis:
        """Return the axis without special tokens."""
        kept = [place for place, token in enumerate(self.shown) if not token.special]
        shown = tuple(self.shown[place] for place in kept)
        return Axis(shown, [self.groups[place] for place in kept], [self.attending[place] for place in kept])


def axis_of(text: str, tokens: Sequence[Token], kind: TokenKind, start: int = 0) -> Axis:
    """Return the tokens or words of a text that a view shows; the text begins at `start` in that of the tokens."""
    if kind == "subword":
        groups = [[number] for number in range(len(tokens))]
        return Axis(tuple(tokens), groups, groups)
    groups = with_specials(group(tokens, words(text, tokens, start), start), tokens)
    return Axis(word_tokens(tokens, groups, text, start), groups, [_with_letters(each, tokens) for each in groups])


def links_of(weights: FloatArray, source: Axis, target: Axis, threshold: float | None) -> Links:
    """Return the links between what two axes show, by places in it; none leads to a special token.

    `weights` [T, S] are those of the alignment head, at the step that aligns.
    """
    sources, targets = (
        [[] if token.special else group for token, group in zip(axis.shown, groups, strict=True)]
        for axis, groups in ((source, source.groups), (target, target.attending))
    )
    return links(weights, sources, targets, threshold)


def words(text: str, tokens: Sequence[Token], start: int = 0) -> list[Span]:
    """Return the ranges of the words of a text, which begins at `start` in that of the tokens.

    White space separates words. Letters, digits and marks in a row make one word, with an apostrophe or full stop
    between two of them, and with a comma or colon between digits; every other character is a word of its own. Elided
    words and clitics are separate: l'|homme, I|'m. A token that spans several of these makes them one.
    """
    inside = {place - start for token in tokens for place in range(token.start + 1, token.end)}
    spans: list[Span] = []
    begin: int | None = None
    for place, character in enumerate(text):
        if begin is not None and (character.isspace() or not (place in inside or _continues(text, place, begin))):
            spans.append((begin, place))
            begin = None
        if begin is None and not character.isspace():
            begin = place
    if begin is not None:
        spans.append((begin, len(text)))
    return spans


def group(tokens: Sequence[Token], spans: Sequence[Span], start: int = 0) -> Groups:
    """Return the indices of the tokens of each word, not of special ones; the text of the spans begins at `start`."""
    return word_groups([None if token.special else token.start - start for token in tokens], spans)


def with_specials(groups: Groups, tokens: Sequence[Token]) -> Groups:
    """Return the groups with one more for every special token, by their first token, without empty groups."""
    own = [[number] for number, token in enumerate(tokens) if token.special]
    return sorted([group for group in groups if group] + own)


def word_tokens(tokens: Sequence[Token], groups: Groups, text: str, start: int = 0) -> tuple[Word, ...]:
    """Return one word for each group, which spans its tokens; the text begins at `start` in that of the tokens."""
    merged = []
    for indices in groups:
        parts = [tokens[index] for index in indices]
        first, last = parts[0], parts[-1]
        begin = min((part.start for part in parts if part.start < part.end), default=first.start)
        end = max(last.end, begin)
        piece = "".join(part.piece for part in parts)
        ids = tuple(part.id for part in parts)
        merged.append(Word(ids, piece, text[begin - start : end - start], begin, end, first.special))
    return tuple(merged)


def _with_letters(indices: Sequence[int], tokens: Sequence[Token]) -> list[int]:
    return [index for index in indices if any(map(_is_letter, tokens[index].text))] or [*indices]


def _continues(text: str, place: int, begin: int) -> bool:
    """Return whether the character at a place continues the word that began before it."""
    before, here = text[place - 1], text[place]
    if _attaches(here) or before == "\u200d":
        return True
    if UNSPACED.match(before) or UNSPACED.match(here):
        return False
    if not _is_letter(here):
        return _is_letter(before) and _joins(text, place) and not _begins_clitic(text, place)
    if _is_letter(before):
        return True
    if place - 1 == begin:
        return _begins_clitic(text, begin)
    return _joins(text, place - 1) and not _is_elided(text, begin, place)


def _joins(text: str, place: int) -> bool:
    """Return whether the character at a place is a mark that two letters or digits around it make a part of a word."""
    here = text[place]
    if not _is_between(text, place, _is_letter):
        return False
    return here in f"{APOSTROPHES}.·" or (here in ",:" and _is_between(text, place, str.isdecimal))


def _is_elided(text: str, begin: int, end: int) -> bool:
    """Return whether a range is an elided word with its apostrophe."""
    short = end - begin <= LONGEST_ELIDED + 1
    return short and text[end - 1] in APOSTROPHES and text[begin : end - 1].casefold() in ELIDED


def _begins_clitic(text: str, place: int) -> bool:
    """Return whether the character at a place is the apostrophe of a clitic."""
    if text[place] not in APOSTROPHES or not _is_between(text, place, _is_letter):
        return False
    end = place + 1
    while end < len(text) and end <= place + 1 + LONGEST_CLITIC and _is_letter(text[end]):
        end += 1
    return text[place + 1 : end].casefold() in CLITICS


def _is_between(text: str, place: int, kind: Callable[[str], bool]) -> bool:
    """Return whether both characters beside a place are of a kind."""
    return 0 < place < len(text) - 1 and kind(text[place - 1]) and kind(text[place + 1])


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M"


def _attaches(character: str) -> bool:
    """Return whether a character only modifies the previous one: marks, joiners, skin tones, style selectors."""
    return unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf") or "\U0001f3fb" <= character <= "\U0001f3ff"
