"""Tables: the chosen columns are translated; every other byte stays, also the first row, quotes and separators.

Python's csv module would write all cells anew, with other quotes than before; it only guesses the separator here.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from service.documents.encodings import decode
from service.documents.errors import BrokenDocument, DocumentError, DocumentTooLarge
from service.documents.format import ReadOptions
from service.documents.messages import MessagesDocument, Notation, Place, parts_of

SAMPLE = 10_000
MOST_CELLS = 300_000
SEPARATORS = ",;\t|"
QUOTED = re.compile(r'"(?:[^"]|"")*"')
FORMULA = re.compile(r"\s*=")
NOTHING = re.compile("(?!)")
LINES = Notation(tag=NOTHING, kept=NOTHING, divider=re.compile("\n"))


@dataclass(slots=True)
class Cell:
    """A cell: its value, and where it stands."""

    value: str
    start: int
    end: int
    quoted: bool
    row: int
    column: int


def read(data: bytes, options: ReadOptions) -> MessagesDocument:
    """Return a table; raise DocumentError, also for a column that it does not have."""
    text, encoding = decode(data)
    separator = separator_of(text)
    cells = scan(text, separator)
    columns = options.columns
    numbers = chosen([cell.value.strip() for cell in cells if cell.row == 0], columns)
    places = (
        Place(cell.start, cell.end, parts_of(cell.value, LINES), _writer(cell, separator))
        for cell in cells
        if (not columns or cell.column in numbers)
        and (options.header or cell.row > 0)
        and not FORMULA.match(cell.value)
    )
    return MessagesDocument(text, encoding, places, options.limits)


def _writer(cell: Cell, separator: str) -> Callable[[str], str]:
    """Return how a new value is written: in quotes if the old one was, or if it must be."""
    signs = {separator, "\n", "\r", *('"' if separator != "\t" else "")}

    def write(value: str) -> str:
        needs = cell.quoted or any(sign in value for sign in signs)
        return '"' + value.replace('"', '""') + '"' if needs else value

    return write


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
    after = ""
    while at < len(text) or after == separator:
        found = pattern.match(text, at)
        if found is None:
            raise BrokenDocument(f"The table has a cell with a wrong quote in row {row + 1}.")
        raw, after = found.groups()
        quoted = QUOTED.fullmatch(raw) is not None
        value = raw[1:-1].replace('""', '"') if quoted else raw
        cells.append(Cell(value, at, at + len(raw), quoted, row, column))
        at = found.end()
        column += 1
        if len(cells) > MOST_CELLS:
            raise DocumentTooLarge(f"The table has more than {MOST_CELLS} cells; split it into several.")
        if after != separator:
            row, column = row + 1, 0
        if not after:
            break
    return cells


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
