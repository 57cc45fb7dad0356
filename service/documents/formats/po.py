"""Gettext catalogues (po, pot): empty translations are filled and marked `fuzzy`; others stay as they are.

Placeholders stay, and markup inside a text follows its words. Each line of a text is a segment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polib

from service.documents.encodings import Encoding, decode
from service.documents.errors import BrokenDocument, DocumentError
from service.documents.format import ReadOptions
from service.documents.fragments import MARKUP, PLACEHOLDER, Tags, from_markup, has_words, render

CHARSET = re.compile(rb'"Content-Type:[^"]*charset=([\w.:-]{1,40})', re.IGNORECASE)
PLURALS = re.compile(r"nplurals\s*=\s*(\d)")
MOST_PLURALS = 6
# The rules of gettext's manual, for a catalogue that has none.
RULES = {
    "de": "nplurals=2; plural=(n != 1);",
    "en": "nplurals=2; plural=(n != 1);",
    "es": "nplurals=2; plural=(n != 1);",
    "fr": "nplurals=2; plural=(n > 1);",
    "it": "nplurals=2; plural=(n != 1);",
    "nl": "nplurals=2; plural=(n != 1);",
    "pt": "nplurals=2; plural=(n != 1);",
}
FUZZY = "fuzzy"


def read(data: bytes, options: ReadOptions) -> PoDocument:
    """Return a catalogue in the encoding that it names, otherwise UTF-8; raise DocumentError."""
    found = CHARSET.search(data)
    named = found[1].decode("ascii") if found and found[1].upper() != b"CHARSET" else None
    text, encoding = decode(data, named)
    if "msgid" not in text or "\n" not in text:  # without a line end, polib would take the text for a path
        raise BrokenDocument("The document is not a catalogue of gettext: it has no msgid.")
    try:
        catalogue = polib.pofile(text, check_for_duplicates=False)
    except (OSError, ValueError, IndexError, KeyError) as error:
        line = re.search(r"line (\d+)", str(error))
        where = f" in line {line[1]}" if line else ""
        raise BrokenDocument(f"The catalogue has a syntax error{where}; msgfmt --check shows it.") from None
    return PoDocument(catalogue, text, encoding, options.target)


@dataclass(slots=True)
class Line:
    """One line of a text: a fragment and what its tags stand for, or a line without words."""

    text: str
    fragment: str = ""
    tags: Sequence[Tags] = ()
    translated: bool = False


class PoDocument:
    """The entries of a catalogue that have no translation."""

    def __init__(self, catalogue: polib.POFile, text: str, encoding: Encoding, target: str) -> None:
        self._catalogue = catalogue
        self._text = text
        self._encoding = encoding
        self._target = target
        own = catalogue.metadata.get("Language", "")
        if own and target and base(own) != base(target):
            raise DocumentError(f"The catalogue says that its language is {own[:20]}, and not {target}.")
        self._open = [entry for entry in catalogue if not entry.obsolete and _is_empty(entry)]
        self._forms = {id(entry): [_lines(text) for text in _sources(entry)] for entry in self._open}
        self.segments: Sequence[str] = [line.fragment for line in self._lines()]

    def _lines(self) -> Iterator[Line]:
        for entry in self._open:
            for lines in self._forms[id(entry)]:
                yield from (line for line in lines if line.translated)

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the catalogue; if nothing was open, with the same bytes."""
        if not self._open:
            return self._encoding.encode(self._text)
        done = {id(line): new for line, new in zip(self._lines(), translations, strict=True)}
        plurals = self._plurals()
        for entry in self._open:
            forms = [
                "\n".join(render(done[id(line)], line.tags) if line.translated else line.text for line in lines)
                for lines in self._forms[id(entry)]
            ]
            if entry.msgid_plural:
                entry.msgstr_plural = {number: forms[min(number, len(forms) - 1)] for number in range(plurals)}
            else:
                entry.msgstr = forms[0]
            if FUZZY not in entry.flags:
                entry.flags.append(FUZZY)
        if self._target and not self._catalogue.metadata.get("Language"):
            self._catalogue.metadata["Language"] = self._target.replace("-", "_")
        return self._encoding.encode(str(self._catalogue).rstrip("\n") + "\n")

    def _plurals(self) -> int:
        """Return the number of plural forms; a catalogue without a rule gets that of the language."""
        rule = self._catalogue.metadata.get("Plural-Forms", "")
        found = PLURALS.search(rule)
        if found is None and base(self._target) in RULES:
            if any(entry.msgid_plural for entry in self._open):
                self._catalogue.metadata["Plural-Forms"] = RULES[base(self._target)]
            return 2
        return max(1, min(int(found[1]), MOST_PLURALS)) if found else 2


def base(language: str) -> str:
    """Return the language of a tag or a locale, without its region."""
    return re.split(r"[-_.@]", language)[0].lower()


def _is_empty(entry: polib.POEntry) -> bool:
    if entry.msgid_plural:
        return not any(entry.msgstr_plural.values())
    return not entry.msgstr and bool(entry.msgid)


def _sources(entry: polib.POEntry) -> list[str]:
    return [entry.msgid, entry.msgid_plural] if entry.msgid_plural else [entry.msgid]


def _lines(text: str) -> list[Line]:
    return [_line(line) for line in text.split("\n")]


def _line(text: str) -> Line:
    """Return a line with its markup as spans and its placeholders as kept text."""
    fragment, tags = from_markup(text, MARKUP, kept=PLACEHOLDER)
    return Line(text, fragment, tags, has_words(fragment))
