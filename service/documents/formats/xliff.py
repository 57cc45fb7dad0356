"""XLIFF 1.2 and 2.x: empty targets are filled; approved, final and untranslatable units stay as they are.

Every byte stays but those of the targets, their states and the target language; a file that is not UTF-8 becomes it.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lxml import etree

from service.documents.errors import BrokenDocument
from service.documents.format import ReadOptions, check_target, edited
from service.documents.fragments import PLACEHOLDER
from service.documents.mixed import Dialect, Paragraph, Role, Segment, clear
from service.documents.untrusted import parse_xml, xml_bytes
from service.documents.xml_source import Place, places_of, start_tag, written

Element = etree._Element
FIRST = "urn:oasis:names:tc:xliff:document:1.2"
SECOND = re.compile(r"urn:oasis:names:tc:xliff:document:2\.\d")
SPANS = frozenset({"g", "pc", "mrk"})
DONE = frozenset({"reviewed", "final"})  # states of a segment in XLIFF 2


def read(data: bytes, options: ReadOptions) -> XliffDocument:
    """Return a file of either version; raise DocumentError."""
    root = parse_xml(data, "The document")
    name = etree.QName(root)
    if name.localname != "xliff" or not (name.namespace == FIRST or SECOND.fullmatch(name.namespace or "")):
        raise BrokenDocument("The document is not XLIFF 1.2 or 2.")
    return XliffDocument(data, root, str(name.namespace), options.target)


@dataclass(slots=True)
class Unit:
    """A source whose target is empty."""

    parent: Element  # trans-unit, or segment
    source: Element
    target: Element | None
    paragraph: Paragraph


class XliffDocument:
    """The units of a file that are to be translated."""

    def __init__(self, data: bytes, root: Element, namespace: str, target: str) -> None:
        self._data = data
        self._root = root
        self._name = f"{{{namespace}}}"
        self._is_first = namespace == FIRST
        self._target = target
        for element, attribute in self._languages():
            check_target(element.get(attribute), target)
        dialect = Dialect(self._role, protected=PLACEHOLDER)
        units = root.iter(f"{self._name}trans-unit") if self._is_first else root.iter(f"{self._name}segment")
        self._units = [unit for element in units if (unit := self._unit(element, dialect))]
        self._found: list[Segment] = [segment for unit in self._units for segment in unit.paragraph.segments()]
        self.segments: Sequence[str] = [segment.fragment for segment in self._found]

    def _unit(self, element: Element, dialect: Dialect) -> Unit | None:
        source, target = element.find(f"{self._name}source"), element.find(f"{self._name}target")
        if source is None or not self._is_translatable(element) or self._is_done(element, target):
            return None
        paragraph = Paragraph.of(copy.deepcopy(source), dialect)
        return Unit(element, source, target, paragraph) if any(paragraph.segments()) else None

    def _is_translatable(self, element: Element) -> bool:
        """Return whether the nearest `translate` attribute around a unit allows it."""
        for each in (element, *element.iterancestors()):
            wanted = each.get("translate")
            if wanted is not None:
                return wanted != "no"
        return True

    def _is_done(self, element: Element, target: Element | None) -> bool:
        if element.get("approved") == "yes" or element.get("state") in DONE:
            return True
        return target is not None and bool(len(target) or (target.text or "").strip())

    def _role(self, element: Element) -> Role:
        local = etree.QName(element).localname if isinstance(element.tag, str) else ""
        if local not in SPANS:
            return "point"
        protected = element.get("translate") == "no" or element.get("mtype") == "protected"
        return "kept" if protected and not len(element) else "span"

    def _languages(self) -> list[tuple[Element, str]]:
        """Return the elements that name a target language, with the name of the attribute."""
        if self._is_first:
            return [(file, "target-language") for file in self._root.iter(f"{self._name}file")]
        return [(self._root, "trgLang")]

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the file; new targets are marked as translated and not reviewed."""
        for segment, translation in zip(self._found, translations, strict=True):
            segment.translation = translation
        if not self._units:
            return self._data
        places = places_of(self._data, self._root)
        edits: list[tuple[int, int, bytes]] = []
        for unit in self._units:
            unit.paragraph.write()
            given = unit.target
            target = self._fill(unit)
            if places:
                edits += self._edits(unit, given, target, places)
        for element, attribute in self._languages():
            if self._target and not element.get(attribute):
                element.set(attribute, self._target)
                if places:
                    edits.append(self._tag(places[element], attribute, self._target))
        return edited(self._data, edits) if places else xml_bytes(self._root)

    def _edits(
        self, unit: Unit, given: Element | None, target: Element, places: Mapping[Element, Place]
    ) -> Iterator[tuple[int, int, bytes]]:
        """Yield the changes of a unit: its target, which gets a line like that of the source, and its state."""
        source = places[unit.source]
        if given is not None:
            yield places[given].start, places[given].end, written(target)
        else:
            before = self._data[: source.start]
            yield source.end, source.end, before[len(before.rstrip()) :] + written(target)
        if not self._is_first:
            yield self._tag(places[unit.parent], "state", "translated")

    def _tag(self, place: Place, attribute: str, value: str) -> tuple[int, int, bytes]:
        return place.start, place.opened, start_tag(self._data, place, attribute, value)

    def _fill(self, unit: Unit) -> Element:
        """Return the target of a unit, with its translation."""
        target = unit.target
        if target is None:
            target = etree.Element(f"{self._name}target")
            target.tail = unit.source.tail
            unit.source.addnext(target)
            target.tail, unit.source.tail = unit.source.tail, unit.source.tail
        clear(target)
        target.text = unit.paragraph.holder.text
        target.extend(list(unit.paragraph.holder))
        if self._is_first:
            target.set("state", "needs-review-translation")
        else:
            unit.parent.set("state", "translated")
        return target
