"""Many documents at once: their units before translation, and their text after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from service.engine import Translation
from service.markup.document import Part, Unit, collapse_spaces, read
from service.markup.marked import mark, unmark
from service.markup.placing import write


class PreparedDocument(NamedTuple):
    """A document that is ready for translation."""

    parts: list[Part]
    elements: list[str]  # those that are values of the text around them


def prepare(document: str, *, keep_values: bool = True) -> PreparedDocument:
    """Return a document that is read, with marks for the elements that must not be translated.

    Without `keep_values` there are no marks: the engine would not know them, and could lose them.
    """
    parts, elements = mark(read(document)) if keep_values else (read(document), [])
    return PreparedDocument(_smoothed(parts), elements)


def _smoothed(parts: Sequence[Part]) -> list[Part]:
    """Return the parts with white space smoothed; parts of white space alone stay exactly as they are."""
    prepared: list[Part] = []
    for part in parts:
        if isinstance(part, str):
            prepared.append(part)
        else:
            prepared.append(collapse_spaces(part) if part.text.strip() else write(part, part.text, ()))
    return prepared


def units_of(documents: Sequence[PreparedDocument]) -> list[Unit]:
    """Return the units of all documents in their order."""
    return [part for document in documents for part in document.parts if isinstance(part, Unit)]


def write_all(documents: Sequence[PreparedDocument], found: Sequence[Translation]) -> list[str]:
    """Return the translated documents; `found` has one translation for each unit, in the order of `units_of`."""
    waiting = iter(found)
    written = []
    for parts, elements in documents:
        pieces = []
        for part in parts:
            if isinstance(part, str):
                pieces.append(part)
            else:
                translation = next(waiting)
                pieces.append(write(part, translation.text, translation.sentences))
        written.append(unmark("".join(pieces), elements))
    return written
