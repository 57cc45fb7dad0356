"""Many documents at once: their units before translation, and their text after it."""

from __future__ import annotations

from collections.abc import Sequence

from service.engine import Translation
from service.markup.document import Part, Unit, collapse_spaces
from service.markup.placing import write


def prepare(parts: Sequence[Part]) -> list[Part]:
    """Return the parts with white space smoothed; parts of white space alone stay exactly as they are."""
    prepared: list[Part] = []
    for part in parts:
        if isinstance(part, str):
            prepared.append(part)
        else:
            prepared.append(collapse_spaces(part) if part.text.strip() else write(part, part.text, ()))
    return prepared


def units_of(documents: Sequence[Sequence[Part]]) -> list[Unit]:
    """Return the units of all documents in their order."""
    return [part for parts in documents for part in parts if isinstance(part, Unit)]


def write_all(documents: Sequence[Sequence[Part]], found: Sequence[Translation]) -> list[str]:
    """Return the translated documents; `found` has one translation for each unit, in the order of `units_of`."""
    waiting = iter(found)
    written = []
    for parts in documents:
        pieces = []
        for part in parts:
            if isinstance(part, str):
                pieces.append(part)
            else:
                translation = next(waiting)
                pieces.append(write(part, translation.text, translation.sentences))
        written.append("".join(pieces))
    return written
