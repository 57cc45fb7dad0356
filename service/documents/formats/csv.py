"""Tables: the chosen columns are translated; every other byte stays, also the first row, quotes and separators.

Python's csv module would write all cells anew, with other quotes than before. Its Sniffer takes time that grows with
the fourth power of a few quotes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from service.documents.encodings import decode
from service.documents.errors import BrokenDocument, DocumentError, DocumentTooLarge
from service.documents.format import ReadOptions
from service.documents.messages import MessagesDocument, Notation, Place, parts_of

SAMPLE = 10_000
MOST_CELLS = 300_000
SEPARATORS = ",\t;|"  # the first ones are preferred
QUOTED = re.compile(r'"[^"]*+(?:""[^"]*+)*+"')
QUOTES = re.compile(rf"""(?<![^{SEPARATORS}\r\n])"[^"]*+(?:""[^"]*+)*+("(?=[{SEPARATORS}\r\n]|\Z))?""")
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
        and not cell.value.lstrip().startswith("=")
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
    """Return the separator of a table: the one that most of the first rows have equally often, outside of quotes."""
    unquoted = QUOTES.sub(lambda cell: "" if cell[1] else cell[0], text[:SAMPLE])
    rows = [row for row in re.split(r"[\r\n]", unquoted) if row]

    def regular_rows(separator: str) -> int:
        counts = Counter(row.count(separator) for row in rows)
        return max((times for count, times in counts.items() if count), default=0)

    return max(SEPARATORS, key=regular_rows)


def scan(text: str, separator: str) -> list[Cell]:
    """Return all cells; raise BrokenDocument for a quote that does not end."""
    bare = r"[^\t\r\n]*+" if separator == "\t" else ""  # tables with tabs often have quotes that mean nothing
    pattern = re.compile(
        rf'({QUOTED.pattern}|[^"{re.escape(separator)}\r\n][^{re.escape(separator)}\r\n]*+|{bare})'
        rf"({re.escape(separator)}|\r\n|\r|\n|\Z)"
    )
    cells: list[Cell] = []
    at = row = column = 0
    after = ""
    while at < len(text) or after == separator:
        match = pattern.match(text, at)
        if match is None:
            raise BrokenDocument(f"The table has a cell with a wrong quote in row {row + 1}.")
        raw, after = match.groups()
        quoted = QUOTED.fullmatch(raw) is not None
        value = raw[1:-1].replace('""', '"') if quoted else raw
        cells.append(Cell(value, at, at + len(raw), quoted, row, column))
        at = match.end()
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
    places = {str(number): number - 1 for number in range(1, len(header) + 1)}
    places |= {name.casefold(): number for number, name in reversed([*enumerate(header)])}
    if any(column.casefold() not in places for column in columns):
        raise DocumentError(
            f"The table has no column that columns names; it has {len(header)} columns. Give their names as in "
            "the first row, or numbers from 1."
        )
    return {places[column.casefold()] for column in columns}
