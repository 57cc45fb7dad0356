"""Stand-ins: what the model reads and writes in place of a value that it has never seen the like of.

Small models copy "XY" reliably, and build a right sentence around it, where an address of forty tokens or a currency
sign of three bytes derails them. A count (%d) is a number, so that the words around it agree with it: 1 where they
are those of one thing, as in "%d file was deleted".
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from service.engine.values.value import DIGIT_KINDS, Kind, Value

LETTERS = tuple("X" + letter for letter in "YBLXDPGCHJMNRTVWFK")
ONE = "1"
NUMBERS = ("52", "47", "83", "64", "38", "76", "29", "95")
_COUNT = re.compile(
    r"%(?:\d+\$)?[-+#0]?\d*(?:\.\d+)?(?:hh?|ll?|[zjtL])?[diufgn]"
    r"|[%$]?[({]{1,2}\s*(?:n|num|number|count|total|amount|size|quantity|\w+_(?:count|number)|num_\w+)\s*(?::[^{}]*)?[)}]{1,2}d?s?"
    r"|#=?"  # of ICU: a number, or 1
)
# What stands behind an English count of one thing.
_IS_ONE = re.compile(r"(?:\s{1,2}(?!\w{0,40}[^s]s\b)[\w-]{1,40}){1,3}?\s{1,2}(?:is|was|has)\b")
_KEPT = re.compile(r"<[^<>]*>(?:\ue000\d+\ue000)?([^<>]*)<")  # in a marked value, numbered by service.markup
_MARK = re.compile("\ue000\\d+\ue000")
LINK = "]("  # begins the address of a link in Markdown, whose brackets the model reads around the stand-in
CUT_KINDS = frozenset({Kind.TAG, Kind.ENTITY})
"""The parts of a sentence before and after these are translated apart."""


def is_number_like(value: Value) -> bool:
    """Return whether the model reads a number for this value."""
    text = value.text if value.kind is Kind.PLACEHOLDER else ""
    if value.kind is Kind.MARKED and (kept := _KEPT.match(value.text)):
        text = kept[1]
    return value.kind in DIGIT_KINDS or _COUNT.fullmatch(text) is not None


def stand_ins(text: str, values: Sequence[Value], replaced: Sequence[bool]) -> tuple[str | None, ...] | None:
    """Return the stand-in of each replaced value, all different and new to the text; None if there are too few."""
    letters = _unused(text, LETTERS)
    numbers = _unused(text, NUMBERS)
    one = _unused(_MARK.sub("", text), (ONE,))
    chosen: list[str | None] = []
    for value, needs_one in zip(values, replaced, strict=True):
        unused = iter(value.stand_in[:1]) if value.stand_in else numbers if is_number_like(value) else letters
        if unused is numbers and _is_one(text, value):
            unused = chain(one, numbers)
        word = next(unused, None) if needs_one else None
        if needs_one and word is None:
            return None
        chosen.append(f"]({word})" if word and value.text.startswith(LINK) else word)
    return tuple(chosen)


def _is_one(text: str, value: Value) -> bool:
    """Return whether a count is that of one thing, by what it shows of itself or by the words behind it."""
    kept = _KEPT.match(value.text) if value.kind is Kind.MARKED else None
    return (kept is not None and kept[1] == "#=") or (not value.start and _IS_ONE.match(text, value.end) is not None)


def _unused(text: str, words: Sequence[str]) -> Iterator[str]:
    return (word for word in words if word not in text)
