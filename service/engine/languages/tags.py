"""Language tags (BCP 47), the served languages that they mean, and the pairs that need two models.

Tags are compared without regard to case, and `_` equals `-`. A tag that is not served falls back by RFC 4647, section
3.4: its last subtag is removed until a served language is found, so `en-US` finds `en`. LibreTranslate's short codes
are also accepted: `pb` is `pt-BR`, `zh` is `zh-Hans`, `zt` is `zh-Hant`, `tl` is `fil`, `nb` is `no`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Set
from dataclasses import dataclass, field

from service.engine.model_info import ModelInfo

Pair = tuple[str, str]  # source and target language

# Tags with the same meaning: LibreTranslate's short codes, regions that imply a script of Chinese (CLDR, likely
# subtags), and languages with two codes (CLDR, aliases). A tag is looked up under the first of its group, then
# under the others.
GROUPS = (
    ("pt-BR", "pb"),
    ("zh-Hans", "zh", "zh-CN", "zh-SG"),
    ("zh-Hant", "zt", "zh-TW", "zh-HK", "zh-MO"),
    ("fil", "tl"),
    ("no", "nb"),
)

REMEMBERED = 1024  # pairs of tags as clients write them
LONGEST = 64  # characters of a tag; the longest registered ones have half as many


@functools.lru_cache(maxsize=4096)  # models of many languages have thousands of pairs
def canonical(tag: str) -> str:
    """Return a tag in the usual spelling: language in lower case, `Hans`, `BR` (RFC 5646, section 2.1.1)."""
    first, *rest = tag.strip().replace("_", "-").split("-")
    return "-".join([first.lower(), *map(_spelled, rest)])


def _spelled(subtag: str) -> str:
    if len(subtag) == 2:
        return subtag.upper()
    return subtag.title() if len(subtag) == 4 else subtag.lower()


def fallbacks(tag: str) -> tuple[str, ...]:
    """Return the tag itself, then the tags that may stand for it, the best first; none for an invalid tag."""
    return _fallbacks(canonical(tag)) if len(tag) <= LONGEST else ()


@functools.lru_cache(maxsize=4096)  # each request needs those of two tags, several times
def _fallbacks(tag: str) -> tuple[str, ...]:
    found: list[str] = []
    while tag and (tag != "zh" or not found):  # `zh` is Simplified Chinese, which cannot stand for Traditional
        found.append(tag)
        group = next((group for group in GROUPS if tag in group), (tag,))
        found += group
        tag = group[0].rpartition("-")[0]
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Languages:
    """The languages that are served; every language can be translated into itself."""

    targets: dict[str, tuple[str, ...]]  # by source, in alphabetical order, itself included
    pivot: str | None = None  # the served language through which the pairs of `pivoted` are translated
    pivoted: frozenset[Pair] = frozenset()  # the pairs of `targets` that no model translates directly
    _found: dict[tuple[str, str, bool], Pair | None] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, models: Iterable[ModelInfo], pivot: str | None = None) -> Languages:
        """Return the languages that the models translate from and into, directly or through a pivot language."""
        direct = {pair for info in models for pair in pairs_of(info)}
        known = _targets_of(direct)
        through = None if pivot is None else cls(known).match(pivot)
        pivoted = pivoted_pairs(direct, through)
        return cls(_targets_of(direct | pivoted), through, pivoted) if pivoted else cls(known)

    def __contains__(self, tag: str) -> bool:
        return tag in self.targets

    def matches(self, tag: str) -> list[str]:
        """Return the served languages that a tag may mean, the best first; the list may be empty."""
        return list(dict.fromkeys(each for each in fallbacks(tag) if each in self.targets))

    def match(self, tag: str) -> str | None:
        """Return the served language that a tag means, or None."""
        return next(iter(self.matches(tag)), None)

    def pair(self, source: str, target: str, *, direct: bool = False) -> Pair | None:
        """Return the best served pair that two tags mean; twice one language only if it is the best match of both.

        A pair that a model translates comes before every pivoted one; with `direct`, pivoted pairs are left out.
        """
        asked = source, target, direct
        if asked not in self._found:  # each request asks several times
            if len(self._found) >= REMEMBERED:
                self._found.clear()
            self._found[asked] = self._pair(*asked)
        return self._found[asked]

    def _pair(self, source: str, target: str, direct: bool) -> Pair | None:
        sources, targets = self.matches(source), self.matches(target)
        if sources and targets and sources[0] == targets[0]:
            return sources[0], targets[0]
        fitting = [(one, other) for one in sources for other in targets if one != other and other in self.targets[one]]
        found = next((pair for pair in fitting if pair not in self.pivoted), None)
        return found if found or direct else next(iter(fitting), None)

    def legs(self, source: str, target: str) -> tuple[Pair, ...]:
        """Return the pairs of models that translate a served pair: itself, or both legs through the pivot."""
        if self.pivot is None or (source, target) not in self.pivoted:
            return ((source, target),)
        return (source, self.pivot), (self.pivot, target)

    def primary(self, language: str) -> str | None:
        """Return the served language that a bare code, such as a detector's, may mean: `pt`, or else `pt-BR`."""
        found = self.match(language)
        return found or next((code for code in self.targets if code.partition("-")[0] == language), None)


def pairs_of(info: ModelInfo) -> list[tuple[str, str]]:
    """Return the language pairs of a model in their usual spelling."""
    return [(canonical(source), canonical(target)) for source, target in info.pairs]


def pivoted_pairs(direct: Set[Pair], pivot: str | None) -> frozenset[Pair]:
    """Return the pairs without a model of their own whose two legs, into the pivot and out of it, have one each.

    `direct` are the pairs that models translate. Without a pivot there are none.
    """
    into = {source for source, target in direct if target == pivot}
    out_of = {target for source, target in direct if source == pivot}
    return frozenset(
        (source, target) for source in into for target in out_of if source != target and (source, target) not in direct
    )


def _targets_of(pairs: Iterable[Pair]) -> dict[str, tuple[str, ...]]:
    """Return the targets of each language, itself included, in alphabetical order."""
    found: dict[str, set[str]] = {}
    for source, target in pairs:
        found.setdefault(source, {source}).add(target)
        found.setdefault(target, {target})
    return {code: tuple(sorted(found[code])) for code in sorted(found)}
