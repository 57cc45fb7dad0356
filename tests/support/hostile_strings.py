"""Strings that a regular expression may read slowly, made from the expression itself.

Each repeat of an expression is fed with what it repeats, after what stands before it, and with an end that does not
match. The beginning of the expression is repeated as well: a search begins anew at each of them.
"""

from __future__ import annotations

import re
import re._constants as op
import re._parser as parser
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

CHARACTERS = "a<>\"' ,.:;=1-_/\\\n\t[]{}()*&#@%\xe9\u0301"
CATEGORIES = {"DIGIT": "1", "SPACE": " ", "WORD": "a"}
REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
MOST_SAMPLES = 12
LONG = 40  # repetitions; what may be repeated less often is no loop
ENDS = ("", "\0", "!", "\n")
MOST_STRINGS = 150


@dataclass(frozen=True, slots=True)
class Repeated:
    """A string of any length: a part again and again between a start and an end."""

    part: str
    start: str = ""
    end: str = ""

    def of(self, size: int) -> str:
        """Return the string of about a size."""
        return self.start + self.part * max(1, (size - len(self.start) - len(self.end)) // len(self.part)) + self.end


def attacks(pattern: re.Pattern[Any]) -> list[Repeated]:
    """Return strings for a regular expression, each once."""
    source = pattern.pattern
    tree = parser.parse(source, pattern.flags & ~re.DEBUG)
    whole = _samples(tree)[0]
    found = [*_loops(tree, ""), *(Repeated(each) for each in (whole, whole[:-1], whole + " ", whole + "\n") if each)]
    return list(islice(dict.fromkeys(found), MOST_STRINGS))


def _loops(items: Iterable[Any], before: str) -> Iterator[Repeated]:
    """Yield the attacks on each repeat in a part of an expression that stands after a string."""
    for kind, value in items:
        match kind:
            case _ if kind in REPEATS:
                _low, high, body = value
                if high >= LONG:
                    yield from _on_repeat(before, _samples(body))
                yield from _loops(body, before)
            case op.SUBPATTERN:
                yield from _loops(value[3], before)
            case op.ATOMIC_GROUP:
                yield from _loops(value, before)
            case op.ASSERT | op.ASSERT_NOT:
                yield from _loops(value[1], before)
            case op.BRANCH:
                for branch in value[1]:
                    yield from _loops(branch, before)
            case _:
                pass
        before += _samples([(kind, value)])[0]


def _on_repeat(before: str, bodies: Iterable[str]) -> Iterator[Repeated]:
    if before:
        yield from (Repeated(before), Repeated(before + " "), Repeated(before + "a"))
    for body in filter(None, bodies):
        yield from (Repeated(body, before, end) for end in ENDS)
        yield from (Repeated(before + body), Repeated(before + body + " "), Repeated(body + before, before))


def _samples(items: Iterable[Any]) -> list[str]:
    """Return strings that match a part of an expression: one, and others that differ from it in one item."""
    options = [_options(kind, value) for kind, value in items]
    usual = [option[0] for option in options]
    found = ["".join(usual)]
    for place, option in enumerate(options):
        found += ["".join([*usual[:place], other, *usual[place + 1 :]]) for other in option[1:]]
    return [*dict.fromkeys(found)][:MOST_SAMPLES]


def _options(kind: Any, value: Any) -> list[str]:
    match kind:
        case op.LITERAL:
            return [chr(value)]
        case op.NOT_LITERAL:
            return [each for each in CHARACTERS if ord(each) != value][:5]
        case op.ANY:
            return ["a", '"', "<", " ", "\\"]
        case op.IN:
            return _in_set(value)
        case op.BRANCH:
            return [sample for branch in value[1] for sample in _samples(branch)[:3]]
        case op.SUBPATTERN:
            return _samples(value[3])
        case op.ATOMIC_GROUP:
            return _samples(value)
        case op.GROUPREF:
            return ['"', "'"]
        case _ if kind in REPEATS:
            low, _high, body = value
            return [each * max(low, 1) for each in _samples(body)] if low else ["", *_samples(body)[:4]]
        case _:
            return [""]


def _in_set(items: list[Any]) -> list[str]:
    """Return a few characters of a set, such as `[^<>]`."""
    if items[0][0] is op.NEGATE:
        return [each for each in CHARACTERS if not any(_has(item, each) for item in items[1:])][:6] or ["a"]
    listed = [chr(value if kind is op.LITERAL else value[0]) for kind, value in items if kind is not op.CATEGORY]
    usual = [each for each in CHARACTERS if any(_has(item, each) for item in items)]
    return [*dict.fromkeys([*listed[:4], *usual[:4], *listed[4:6]])] or ["a"]


def _has(item: tuple[Any, Any], character: str) -> bool:
    kind, value = item
    match kind:
        case op.LITERAL:
            return bool(value == ord(character))
        case op.RANGE:
            return bool(value[0] <= ord(character) <= value[1])
        case _:
            name = str(value)
            expression = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[name.rpartition("_")[2]]
            return bool(re.match(expression, character)) != ("NOT" in name)
