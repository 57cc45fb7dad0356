"""Inline elements that must not be translated (code, translate="no") as values of the text around them.

The engine then sees that something stands there, writes the rest of the sentence around it, and keeps it exactly once.
Without this they would be put back between two words afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from service.markup.document import Node, Part, Unit, escape

_PRIVATE = "\ue000"  # no text has this character, or it is left alone
_MARK = re.compile(re.escape(escape(f"<dnt>{_PRIVATE}")) + r"(\d+)" + re.escape(escape("</dnt>")))


def mark(parts: Sequence[Part]) -> tuple[list[Part], list[str]]:
    """Return a document whose units hold a mark for each such element, and the elements."""
    elements: list[str] = []
    if any(isinstance(part, Unit) and _PRIVATE in part.text for part in parts):
        return list(parts), elements
    return [part if isinstance(part, str) else _marked(part, elements) for part in parts], elements


def unmark(document: str, elements: Sequence[str]) -> str:
    """Return a written document with its elements in the place of their marks."""
    return _MARK.sub(lambda found: elements[int(found[1])], document) if elements else document


def _marked(unit: Unit, elements: list[str]) -> Unit:
    pieces: list[str] = []
    position = 0

    def walk(nodes: Sequence[Node], added: int) -> tuple[list[Node], int]:
        nonlocal position
        kept = []
        for node in nodes:
            if node.opaque:
                text = f"<dnt>{_PRIVATE}{len(elements)}</dnt>"
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
