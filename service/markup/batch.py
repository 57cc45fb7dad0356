"""Documents before translation and after it.

Inline elements that must not be translated (code, translate="no") are values of the text around them. The engine then
sees that something stands there, writes the rest of the sentence around it, and keeps it exactly once. Without this
they would be put back between two words afterwards.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from service.engine import Translation
from service.markup.document import InlineElement, Part, Unit, collapse_spaces, escape, read
from service.markup.placing import write

LONGEST = 60  # characters of a placeholder
_PRIVATE = "\ue000"  # no text has this character, or it is left alone
_MARK = re.compile(
    re.escape(escape(f"<dnt>{_PRIVATE}"))
    + rf"([0-9]{{1,9}}){_PRIVATE}[^<>&]{{0,{LONGEST}}}"
    + re.escape(escape("</dnt>"))
)
_CONTENT = re.compile(rf">([%{{$#][^<>&]{{0,{LONGEST - 1}}})<")  # a placeholder: the engine reads a count as a number


class PreparedDocument(NamedTuple):
    """A document that is ready for translation."""

    parts: list[Part]
    elements: list[str]  # those that are values of the text around them


def prepare(document: str, *, keep_values: bool = True) -> PreparedDocument:
    """Return a document that is read, with marks for the elements that must not be translated.

    Without `keep_values` there are no marks: the engine would not know them, and could lose them.
    """
    parts, elements = mark(read(document)) if keep_values else (read(document), [])
    return PreparedDocument([part if isinstance(part, str) else _smoothed(part) for part in parts], elements)


def _smoothed(unit: Unit) -> Part:
    """Return a unit with white space smoothed, or as it is if it has nothing else."""
    return collapse_spaces(unit) if unit.text.strip() else write(unit, unit.text, ())


def units_of(documents: Sequence[PreparedDocument]) -> list[Unit]:
    """Return the units of all documents in their order."""
    return [part for document in documents for part in document.parts if isinstance(part, Unit)]


def write_all(documents: Sequence[PreparedDocument], translations: Sequence[Translation]) -> list[Translation]:
    """Return the translated documents, each with the qualities of its sentences, whose places are not known.

    `translations` has one for each unit, in the order of `units_of`.
    """
    waiting = iter(translations)
    return [_written(document, [*islice(waiting, len(units_of([document])))]) for document in documents]


def _written(document: PreparedDocument, translations: Sequence[Translation]) -> Translation:
    waiting = iter(translations)

    def written(part: Part) -> str:
        if isinstance(part, str):
            return part
        translation = next(waiting)
        return write(part, translation.text, translation.sentences)

    def shown(text: str) -> str:
        return unmark(text, document.elements)

    qualities = (
        replace(quality, start=None, source_text=shown(quality.source_text), target_text=shown(quality.target_text))
        for translation in translations
        for quality in translation.qualities
    )
    return Translation(shown("".join(map(written, document.parts))), qualities=tuple(qualities))


def mark(parts: Sequence[Part]) -> tuple[list[Part], list[str]]:
    """Return a document whose units hold a mark for each such element, and the elements."""
    elements: list[str] = []
    if any(isinstance(part, Unit) and _PRIVATE in part.text for part in parts):
        return list(parts), elements
    return [part if isinstance(part, str) else _marked(part, elements) for part in parts], elements


def unmark(document: str, elements: Sequence[str]) -> str:
    """Return a written document with its elements in the place of their marks."""

    def element(match: re.Match[str]) -> str:
        number = int(match[1])
        return elements[number] if number < len(elements) else match[0]  # a glossary may write anything

    return _MARK.sub(element, document) if elements else document


def _marked(unit: Unit, elements: list[str]) -> Unit:
    pieces: list[str] = []
    position = 0

    def walk(nodes: Sequence[InlineElement], added: int) -> tuple[list[InlineElement], int]:
        nonlocal position
        kept = []
        for node in nodes:
            if node.opaque:
                content = _CONTENT.search(node.open)
                text = f"<dnt>{_PRIVATE}{len(elements)}{_PRIVATE}{content[1] if content else ''}</dnt>"
                pieces.extend((unit.text[position : node.start], text))
                position = node.start
                elements.append(node.open)
                added += len(text)
                continue
            start = node.start + added
            children, added = walk(node.children, added)
            kept.append(replace(node, start=start, end=node.end + added, children=children))
        return kept, added

    nodes, added = walk(unit.nodes, 0)
    if not added:
        return unit
    pieces.append(unit.text[position:])
    return Unit("".join(pieces), nodes)
