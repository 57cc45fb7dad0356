"""Codes that stand in a row or a formula, as one value: a model that reads a stand-in for each loses count of them."""

import re
from collections.abc import Sequence

from service.engine.values.value import Kind, Value

ROW = 3  # codes with nothing but spaces between them, such as the moves of a game of chess
_TIGHT = re.compile(r"\.{0,3}|[:^'\"°~-]+| ?(?:[=+*/<>≤≥]|->|<-) ?")  # within a word or a formula
_WORD = re.compile(r"\w*")  # what is left of "2x", whose "2" is a number with a unit
_NUMBERED = re.compile(r"\.{1,3} ")  # "2. Nf3"


def joined_codes(text: str, values: Sequence[Value]) -> tuple[Value, ...]:
    """Return the values of a text, those that are parts of one code as one value."""
    if len(values) < 2 or all(value.kind is not Kind.CODE for value in values):
        return tuple(values)
    found: list[Value] = []
    for value in values:
        if found and _is_tight(text, found[-1], value):
            found[-1] = _joined(text, found[-1], value)
        else:
            found.append(value)
    rows: list[Value] = []
    at = 0
    while at < len(found):
        end = _end_of_row(text, found, at)
        is_row = sum(value.kind is Kind.CODE for value in found[at:end]) >= ROW
        rows.append(_joined(text, found[at], found[end - 1]) if is_row else found[at])
        at = end if is_row else at + 1
    return tuple(rows)


def _is_tight(text: str, one: Value, other: Value) -> bool:
    kinds = {one.kind, other.kind}
    return (
        Kind.CODE in kinds
        and kinds <= {Kind.CODE, Kind.NUMBER}
        and _TIGHT.fullmatch(text, one.end, other.start) is not None
    )


def _end_of_row(text: str, values: Sequence[Value], start: int) -> int:
    """Return the end of the row of codes that begins with a value; a number belongs to the code behind its stop."""
    end = start
    while end < len(values) and (end == start or text[values[end - 1].end : values[end].start] == " "):
        code = end
        if values[end].kind is Kind.NUMBER and end + 1 < len(values):
            is_marker = not text[: values[end].start].rpartition("\n")[2].strip()  # of a list, which stays before it
            code += not is_marker and _NUMBERED.fullmatch(text, values[end].end, values[end + 1].start) is not None
        if values[code].kind is not Kind.CODE:
            break
        end = code + 1
    return max(end, start + 1)


def _joined(text: str, first: Value, last: Value) -> Value:
    end = _WORD.match(text, last.end)
    assert end is not None, "it may be empty"
    code = text[first.start : end.end()]
    return Value(Kind.CODE, first.start, end.end(), code, code)
