"""Tables: the chosen columns are translated; every other byte stays, also the first row, quotes and separators.

Python's csv module would write all cells anew, with other quotes than before; it only guesses the separator here.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from service.documents.encodings import Encoding, decode
from service.documents.errors import BrokenDocument, DocumentError, DocumentTooLarge
from service.documents.format import ReadOptions
from service.documents.fragments import has_words, plain
from service.markup.document import escape

SAMPLE = 10_000
MOST_CELLS = 300_000
SEPARATORS = ",;\t|"
QUOTED = re.compile(r'"(?:[^"]|"")*"')
FORMULA = re.compile(r"\s*=")


@dataclass(slots=True)
class Cell:
    """A cell: its value, and the bytes around it."""

    value: str
    raw: str
    quoted: bool
    after: str  # a separator or a line end
    row: int
    column: int


def read(data: bytes, options: ReadOptions) -> TableDocument:
    """Return a table; raise DocumentError, also for a column that it does not have."""
    text, encoding = decode(data)
    separator = separator_of(text)
    cells = [*scan(text, separator)]
    return TableDocument(cells, encoding, separator, options)


def separator_of(text: str) -> str:
    """Return the separator of a table: comma, semicolon, tab or vertical bar."""
    try:
        return csv.Sniffer().sniff(text[:SAMPLE], SEPARATORS).delimiter
    except csv.Error:
        first = text.partition("\n")[0]
        return max(SEPARATORS, key=first.count)


def scan(text: str, separator: str) -> list[Cell]:
    """Return all cells; raise BrokenDocument for a quote that does not end."""
    bare = r"[^\t\r\n]*" if separator == "\t" else ""  # tables with tabs often have quotes that mean nothing
    pattern = re.compile(
        rf'("(?:[^"]|"")*"|[^"{re.escape(separator)}\r\n][^{re.escape(separator)}\r\n]*|{bare})'
        rf"({re.escape(separator)}|\r\n|\r|\n|\Z)"
    )
    cells: list[Cell] = []
    at = row = column = 0
    while at < len(text) or (cells and cells[-1].after == separator):
        found = pattern.match(text, at)
        if found is None:
            raise BrokenDocument(f"The table has a cell with a wrong quote in row {row + 1}.")
        raw, after = found.groups()
        quoted = QUOTED.fullmatch(raw) is not None
        value = raw[1:-1].replace('""', '"') if quoted else raw
        cells.append(Cell(value, raw, quoted, after, row, column))
        at = found.end()
        column += 1
        if len(cells) > MOST_CELLS:
            raise DocumentTooLarge(f"The table has more than {MOST_CELLS} cells; split it into several.")
        if after != separator:
            row, column = row + 1, 0
        if not after:
            break
    return cells


class TableDocument:
    """The cells of a table, and those among them that are translated."""

    def __init__(self, cells: list[Cell], encoding: Encoding, separator: str, options: ReadOptions) -> None:
        self._cells = cells
        self._encoding = encoding
        self._separator = separator
        header = [cell.value.strip() for cell in cells if cell.row == 0]
        numbers, columns = chosen(header, options.columns), options.columns
        self._translated = [
            cell
            for cell in cells
            if (not columns or cell.column in numbers)
            and (options.header or cell.row > 0)
            and not FORMULA.match(cell.value)
            and has_words(escape(cell.value))
        ]
        self._lines = [cell.value.split("\n") for cell in self._translated]
        self.segments: Sequence[str] = [escape(line) for lines in self._lines for line in lines]

    def write(self, translations: Sequence[str]) -> bytes:
        """Return the table; a translated cell is quoted if it was, or if it must be."""
        waiting = iter(translations)
        for cell, lines in zip(self._translated, self._lines, strict=True):
            value = "\n".join(plain(next(waiting)) for _ in lines)
            if value != cell.value:
                signs = {self._separator, "\n", "\r", *('"' if self._separator != "\t" else "")}
                needs = cell.quoted or any(sign in value for sign in signs)
                cell.raw = '"' + value.replace('"', '""') + '"' if needs else value
        return self._encoding.encode("".join(cell.raw + cell.after for cell in self._cells))


def chosen(header: Sequence[str], columns: Sequence[str]) -> set[int]:
    """Return the numbers of the chosen columns from 0."""
    names = [name.casefold() for name in header]
    numbers: set[int] = set()
    for column in columns:
        if column.casefold() in names:
            numbers.add(names.index(column.casefold()))
        elif column.isdecimal() and 1 <= int(column) <= len(header):
            numbers.add(int(column) - 1)
        else:
            raise DocumentError(
                f"The table has no column that columns names; it has {len(header)} columns. Give their names as in "
                "the first row, or numbers from 1."
            )
    return numbers
