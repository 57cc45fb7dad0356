"""YAML of Rails: the texts under the language, which becomes the target language; the rest keeps its bytes.

The events of a parser say where each text stands. Nothing is constructed: tags, aliases and merges mean nothing here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from service.documents.errors import BrokenDocument, UnsafeDocument
from service.documents.format import ReadOptions
from service.documents.icu import message_parts
from service.documents.messages import Edit, MessagesDocument, Place, text_of

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
LANGUAGE = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z]{2,4})?")
SAFE = re.compile(r"[^\W\d_](?:[^\n:#,\[\]{}\"'&*!|>%@`\\-]|(?<=\w)[-'](?=\w))*(?<!\s)")  # needs no quotes
WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
NO_TEXT = re.compile(r":\w+|(?:%[-^0_#]?[A-Za-z]|[^\w%])+")  # a symbol; a form of dates
PROPERTIES = re.compile(r"\A(?:[&!]\S*+\s++)*+")  # anchor and tag
DEEPEST = 100
NO_LANGUAGE = "The document is not YAML of Rails: it has not one language, such as en:, at its top."


def read(data: bytes, options: ReadOptions) -> MessagesDocument:
    """Return the file of one language; raise DocumentError."""
    text, encoding = text_of(data, options.limits)
    keys: list[yaml.ScalarEvent] = []
    edits: list[Edit] = []
    try:
        document = MessagesDocument(text, encoding, _places(text, keys), options.limits, edits)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f": see line {mark.line + 1}" if mark else ""
        raise BrokenDocument(f"The document is not valid YAML{line}.") from None
    if not keys:
        raise BrokenDocument(NO_LANGUAGE)
    if options.target:
        quote = keys[0].style or ""
        edits.append((_index(keys[0].start_mark), _index(keys[0].end_mark), f"{quote}{options.target}{quote}"))
    return document


def _places(text: str, keys: list[yaml.ScalarEvent]) -> Iterator[Place]:
    """Yield the places of texts, and put the only key at the top into `keys`; raise BrokenDocument for another."""
    for event, depth, is_key in _scalars(text):
        if depth == 1 and is_key:
            if keys or not LANGUAGE.fullmatch(event.value):
                raise BrokenDocument(NO_LANGUAGE)
            keys.append(event)
        elif not is_key and _is_text(event):
            yield _place(text, event)


def _scalars(text: str) -> Iterator[tuple[yaml.ScalarEvent, int, bool]]:
    """Yield each scalar, how deep it is, and whether it is a key."""
    stack: list[bool | None] = []  # for each mapping, whether a key comes next; None for a list
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, yaml.ScalarEvent):
            yield event, len(stack), bool(stack and stack[-1])
        if isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
        if isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent) and not isinstance(
            event, yaml.CollectionStartEvent
        ):
            _next(stack)
        elif isinstance(event, yaml.CollectionStartEvent):
            stack.append(True if isinstance(event, yaml.MappingStartEvent) else None)
            if len(stack) > DEEPEST:
                raise UnsafeDocument(f"The document nests mappings more than {DEEPEST} deep.")


def _next(stack: list[bool | None]) -> None:
    if stack and stack[-1] is not None:
        stack[-1] = not stack[-1]


def _is_text(event: yaml.ScalarEvent) -> bool:
    if event.tag is not None or (not event.style and event.value.lower() in WORDS):
        return False
    return not NO_TEXT.fullmatch(event.value)


def _index(mark: Any) -> int:
    """Return the position of one of the two kinds of mark that a parser of text sets."""
    return int(mark.index)


def _place(text: str, event: yaml.ScalarEvent) -> Place:
    start, end = _index(event.start_mark), _index(event.end_mark)
    if properties := PROPERTIES.match(text[start:end]):
        start += properties.end()
    if event.style in ("|", ">"):
        end = start + len(text[start:end].rstrip())
    return Place(start, end, message_parts(event.value), _writer(text[start:end], event.style))


def _writer(raw: str, style: str | None) -> Callable[[str], str]:
    """Return how a new text is written, in the style of the old one where that can be."""

    def write(new: str) -> str:
        if style in ("|", ">") and (block := _block(raw, new)):
            return block
        if style == "'" and "\n" not in new:
            return "'" + new.replace("'", "''") + "'"
        if not style and SAFE.fullmatch(new) and new.lower() not in WORDS:
            return new
        return json.dumps(new, ensure_ascii=False)

    return write


def _block(raw: str, new: str) -> str:
    """Return a block of lines; an empty string for what this style cannot have."""
    head, _, body = raw.partition("\n")
    indent = re.match(r"\s*", body)[0].rpartition("\n")[2]  # type: ignore[index]
    lines = new.rstrip("\n").split("\n")
    if not indent or re.search(r"\d", head) or any(line[:1].isspace() for line in lines):
        return ""
    lines = [line for content in lines for line in ([content, ""] if head.startswith(">") else [content])]
    return "\n".join([head, *(indent + line if line else "" for line in lines)]).rstrip()
