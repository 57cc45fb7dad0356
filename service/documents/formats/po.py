"""Gettext catalogues (po, pot): empty translations are filled and marked `fuzzy`; others stay as they are.

Placeholders stay, and markup inside a text follows its words. Each line of a text is a segment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import polib

from service.documents.encodings import Encoding, decode
from service.documents.errors import BrokenDocument
from service.documents.format import ReadOptions, base, check_lines, check_target, limited
from service.documents.formats.po_lines import PoLines
from service.documents.messages import Line, Notation, Part, joined, parts_of

CHARSET = re.compile(rb'"Content-Type:[^"]*charset=([\w.:-]{1,40})', re.IGNORECASE)
PLURALS = re.compile(r"nplurals\s*=\s*(\d)")
MOST_PLURALS = 6
# The rules of gettext's manual, for a catalogue that has none.
RULES = {
    **dict.fromkeys(("de", "en", "es", "it", "nl", "pt"), "nplurals=2; plural=(n != 1);"),
    "fr": "nplurals=2; plural=(n > 1);",
}


def read(data: bytes, options: ReadOptions) -> PoDocument:
    """Return a catalogue in the encoding that it names, otherwise UTF-8; raise DocumentError."""
    match = CHARSET.search(data)
    named = match[1].decode("ascii") if match and match[1].upper() != b"CHARSET" else None
    text, encoding = decode(data, named)
    if "msgid" not in text or "\n" not in text:  # without a line end, polib would take the text for a path
        raise BrokenDocument("The document is not a catalogue of gettext: it has no msgid.")
    check_lines(text)
    try:
        catalogue = polib.pofile(text, check_for_duplicates=False)
    except (OSError, ValueError, IndexError, KeyError) as error:
        line = re.search(r"line (\d+)", str(error))
        where = f" in line {line[1]}" if line else ""
        raise BrokenDocument(f"The catalogue has a syntax error{where}; msgfmt --check shows it.") from None
    return PoDocument(catalogue, text, encoding, options, is_named=bool(named))


class PoDocument:
    """The entries of a catalogue that have no translation."""

    def __init__(
        self, catalogue: polib.POFile, text: str, encoding: Encoding, options: ReadOptions, *, is_named: bool = True
    ) -> None:
        self._catalogue = catalogue
        self._is_named = is_named  # whether it names its encoding
        self._text = text
        self._encoding = encoding
        self._target = options.target
        check_target(catalogue.metadata.get("Language"), options.target)
        self._entries = [entry for entry in catalogue if not entry.obsolete]
        self._open = [entry for entry in self._entries if _is_empty(entry)]
        if len(PoLines(text).messages) != len(self._entries):
            raise BrokenDocument(
                "The catalogue has a message that is not on a line of its own; rewrite it with msgcat."
            )
        self._forms: list[list[list[Part]]] = []
        self.segments: Sequence[str] = [*limited(self._read(), options.limits)]

    def _read(self) -> Iterator[str]:
        """Collect the forms of the open entries, and yield their fragments."""
        for entry in self._open:
            self._forms.append([parts_of(text, Notation()) for text in _sources(entry)])
            yield from (part.fragment for form in self._forms[-1] for part in form if isinstance(part, Line))

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the catalogue; if nothing was open, with the same bytes."""
        if not self._open:
            return self._encoding.encode(self._text)
        waiting = iter(translations)
        lines = PoLines(self._text)
        if not self._is_named:
            lines.set_header("Content-Type", "text/plain; charset=UTF-8")
        if self._target and not self._catalogue.metadata.get("Language"):
            lines.set_header("Language", self._target.replace("-", "_"))
        plurals = self._plurals(lines)
        numbers = {id(entry): number for number, entry in enumerate(self._entries)}
        for entry, given in zip(self._open, self._forms, strict=True):
            forms = [joined(parts, waiting) for parts in given]
            if entry.msgid_plural:
                entry.msgstr_plural = {number: forms[min(number, len(forms) - 1)] for number in range(plurals)}
            else:
                entry.msgstr = forms[0]
            lines.fill(numbers[id(entry)], entry)
        return self._encoding.encode(lines.text())

    def _plurals(self, lines: PoLines) -> int:
        """Return the number of plural forms; a catalogue without a rule gets that of the language."""
        match = PLURALS.search(self._catalogue.metadata.get("Plural-Forms", ""))
        if match is None and base(self._target) in RULES:
            if any(entry.msgid_plural for entry in self._open):
                lines.set_header("Plural-Forms", RULES[base(self._target)])
            return 2
        return max(1, min(int(match[1]), MOST_PLURALS)) if match else 2


def _is_empty(entry: polib.POEntry) -> bool:
    if entry.msgid_plural:
        return not any(entry.msgstr_plural.values())
    return not entry.msgstr and bool(entry.msgid)


def _sources(entry: polib.POEntry) -> list[str]:
    return [entry.msgid, entry.msgid_plural] if entry.msgid_plural else [entry.msgid]
