"""XML by its bytes: where each element stands in a file, so that a few of them change and every other byte stays."""

import re
import xml.parsers.expat
from collections.abc import Mapping
from dataclasses import dataclass

from lxml import etree

Element = etree._Element
START_TAG = re.compile(rb"""<[^\s/>]+(?:[^"'>]|"[^"]*"|'[^']*')*>""")
NAMESPACE = re.compile(r"""\sxmlns(?::[\w.-]+)?=(?:"[^"]*"|'[^']*')""")


@dataclass(slots=True)
class Place:
    """The range of an element, and that of its start tag."""

    start: int
    opened: int
    end: int = -1


def places_of(data: bytes, root: Element) -> dict[Element, Place]:
    """Return where each element of a file stands; nothing for a file that is not UTF-8.

    `root` was read from the same bytes, by service.documents.untrusted, so that they have no entities.
    """
    if (root.getroottree().docinfo.encoding or "UTF-8").upper() not in {"UTF-8", "ASCII", "US-ASCII"}:
        return {}
    found: list[Place] = []
    stack: list[Place] = []
    parser = xml.parsers.expat.ParserCreate()

    def start(_name: str, _attributes: Mapping[str, str]) -> None:
        at = parser.CurrentByteIndex
        tag = START_TAG.match(data, at)
        stack.append(Place(at, tag.end() if tag else at))
        found.append(stack[-1])

    def end(_name: str) -> None:
        place = stack.pop()
        at = parser.CurrentByteIndex
        is_empty = data[place.opened - 2 : place.opened] == b"/>"
        place.end = place.opened if is_empty else data.index(b">", at) + 1

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(data, True)
    return dict(zip(root.iter("*"), found, strict=True))


def start_tag(data: bytes, place: Place, name: str, value: str) -> bytes:
    """Return the start tag of an element with another value of an attribute, which is a plain word."""
    tag = data[place.start : place.opened]
    word = value.encode("ascii", "ignore")
    own = re.compile(rb"""(\s%s\s*=\s*)(?:"[^"]*"|'[^']*')""" % name.encode())
    if own.search(tag):
        return own.sub(lambda found: found[1] + b'"' + word + b'"', tag, count=1)
    close = 2 if tag.endswith(b"/>") else 1
    return tag[:-close].rstrip() + b' %s="%s"' % (name.encode(), word) + tag[-close:]


def written(element: Element) -> bytes:
    """Return the source of an element without the declarations of namespaces, which stand around it."""
    text = etree.tostring(element, encoding="unicode", with_tail=False)
    opened = text.index(">") + 1
    return (NAMESPACE.sub("", text[:opened]) + text[opened:]).encode()
