"""XML by its characters: where each element stands in a file, so that a few change and everything else stays."""

import re
from dataclasses import dataclass
from xml.sax.saxutils import escape

from lxml import etree

Element = etree._Element

NO_TEXT = r"<!--[\s\S]*?(?:-->|\Z)|<\?[\s\S]*?(?:\?>|\Z)"  # a comment or a processing instruction
CDATA = r"<!\[CDATA\[(?P<characters>[\s\S]*?)(?:\]\]>|\Z)"
NO_MARKUP = re.compile(f"{NO_TEXT}|{CDATA}")
TAG = re.compile(
    rf"{NO_MARKUP.pattern}|<(?P<close>/)?(?P<name>[^\s/<>!?\"'][^\s/<>\"']*+)"
    r"""(?:[^"'<>/]++|"[^"<]*+"|'[^'<]*+'|/(?!>))*+(?P<empty>/)?>"""
)


@dataclass(slots=True)
class Range:
    """The range of an element: from the start to the end of its start tag, and of its end tag."""

    start: int
    opened: int
    closed: int
    end: int


def ranges_of(text: str, root: Element) -> dict[Element, Range]:
    """Return where each element of a file stands; `root` was read from it, and so it is well-formed."""
    ranges: list[Range] = []
    stack: list[Range] = []
    for tag in TAG.finditer(text):
        start, end = tag.span()
        if tag["close"]:
            element = stack.pop()
            element.closed, element.end = start, end
        elif tag["name"]:
            ranges.append(Range(start, end, end, end))
            stack += [] if tag["empty"] else [ranges[-1]]
    return dict(zip(root.iter("*"), ranges, strict=True))


def without_cdata(xml: str) -> str:
    """Return XML with references in place of sections of characters."""
    return NO_MARKUP.sub(lambda match: match[0] if match["characters"] is None else escape(match["characters"]), xml)


def with_attribute(tag: str, name: str, value: str) -> str:
    """Return a start tag with another value of an attribute, which is a plain word."""
    pattern = re.compile(rf"""(\s{name}\s*=\s*)(?:"[^"]*"|'[^']*')""")
    if pattern.search(tag):
        return pattern.sub(lambda match: f'{match[1]}"{value}"', tag, count=1)
    close = 2 if tag.endswith("/>") else 1
    return f'{tag[:-close].rstrip()} {name}="{value}"{tag[-close:]}'
