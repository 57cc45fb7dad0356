"""Reads TermBase eXchange (TBX, ISO 30042), versions 2 and 3, without entities, network or document types."""

import re
from collections.abc import Iterator
from xml.parsers import expat

from service.engine import canonical
from service.glossaries.checks import InvalidGlossary

TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*")  # of a language
PIECE = 65_536  # bytes that are parsed at once: other threads wait meanwhile
CONCEPTS = frozenset({"termEntry", "conceptEntry"})
SECTIONS = frozenset({"langSet", "langSec"})  # of one language in a concept
LANGUAGE = "http://www.w3.org/XML/1998/namespace lang"


def tbx_concepts(data: bytes) -> Iterator[dict[str, list[str]]]:
    """Yield the terms of each concept by language; raise InvalidGlossary."""
    reader = _TermReader()
    for start in range(0, len(data) + 1, PIECE):
        yield from reader.read(data[start : start + PIECE], is_last=start + PIECE > len(data))


class _TermReader:
    """Collects the terms of the elements that a parser finds."""

    def __init__(self) -> None:
        self._concepts: list[dict[str, list[str]]] = []
        self._language: str | None = None
        self._term: list[str] | None = None  # the text so far of the term that is open
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.EntityDeclHandler = self._refuse

    def read(self, piece: bytes, *, is_last: bool) -> list[dict[str, list[str]]]:
        """Return the concepts that end in a piece of the file."""
        try:
            self._parser.Parse(piece, is_last)
        except expat.ExpatError as error:
            raise InvalidGlossary(f"The file is not well-formed XML: see line {error.lineno}.") from None
        complete = len(self._concepts) if is_last else len(self._concepts) - 1
        ready, self._concepts = self._concepts[: max(complete, 0)], self._concepts[max(complete, 0) :]
        return ready

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(" ")[2]
        if local in CONCEPTS:
            self._concepts.append({})
        elif local in SECTIONS:
            tag = attributes.get(LANGUAGE, "")
            self._language = canonical(tag) if TAG.fullmatch(tag) else None
        elif local == "term":
            self._term = []

    def _end(self, name: str) -> None:
        local = name.rpartition(" ")[2]
        if local in SECTIONS:
            self._language = None
        elif local == "term" and self._term is not None:
            term, self._term = " ".join("".join(self._term).split()), None
            if term and self._language and self._concepts:
                self._concepts[-1].setdefault(self._language, []).append(term)

    def _text(self, text: str) -> None:
        if self._term is not None:
            self._term.append(text)

    def _refuse(self, *_declaration: object) -> None:
        raise InvalidGlossary("The file declares entities, which is refused; remove them.")
