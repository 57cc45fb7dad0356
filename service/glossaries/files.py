"""Reads the files of glossaries: tables of terms (TSV, CSV) and TermBase eXchange (TBX, ISO 30042).

`NAME.en-fr.tsv` has a source term and its translation in the first two columns, as DeepL's files do; further columns
are further accepted forms. `NAME.csv` or `NAME.tsv` has a first row of language tags, as Google's equivalent term sets
do, and serves every pair of its columns. `NAME.tbx` serves every pair of its languages.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path

from service.engine import canonical
from service.glossaries.checks import Entry, InvalidGlossary
from service.glossaries.tbx import TAG, tbx_concepts

MOST_BYTES = 20 * 2**20
ENDINGS = (".tsv", ".csv", ".tbx")
_FILE = re.compile(
    rf"(?P<name>[\w-]{{1,64}})(?:\.(?P<source>{TAG.pattern})-(?P<target>{TAG.pattern}))?\.(?:tsv|csv|tbx)"
)

Pair = tuple[str, str]
Entries = dict[Pair, list[Entry]]


def name_of(path: Path) -> str:
    """Return the name of the glossary in a file; raise InvalidGlossary if the file cannot be served by its name."""
    match = _FILE.fullmatch(path.name)
    if match is None:
        raise InvalidGlossary(
            "The file must be called NAME.tsv, NAME.csv or NAME.tbx, with a pair as in NAME.en-fr.tsv; a NAME has "
            "letters, digits, _ and -."
        )
    return match["name"]


def pair_of_name(path: Path) -> Pair | None:
    """Return the language pair in the name of a file, if there is one."""
    match = _FILE.fullmatch(path.name)
    return (canonical(match["source"]), canonical(match["target"])) if match and match["source"] else None


def names_languages(path: Path) -> bool:
    """Return whether a file itself says its languages: TBX does, and a table whose first row is language tags."""
    if path.suffix == ".tbx":
        return True
    with path.open("rb") as file:
        first = file.readline(1000).decode("utf-8-sig", "replace")
    cells = [cell.strip() for cell in first.split("," if path.suffix == ".csv" else "\t")]
    return len(cells) > 1 and all(map(TAG.fullmatch, cells)) and all(len(cell.partition("-")[0]) == 2 for cell in cells)


def read_entries(path: Path, pair: Pair | None) -> Entries:
    """Return the entries of a file by language pair; raise InvalidGlossary or OSError."""
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise InvalidGlossary(f"The file has more than {MOST_BYTES // 2**20} MiB.")
    if path.suffix == ".tbx":
        return _of_concepts(tbx_concepts(data), pair)
    rows = _rows(data, "\t" if path.suffix == ".tsv" else ",")
    if pair is not None:
        return {pair: [_entry(number, row) for number, row in rows]}
    return _of_concepts(_table_concepts(rows), None)


def _rows(data: bytes, delimiter: str) -> list[tuple[int, list[str]]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidGlossary("The file is not UTF-8.") from None
    file = io.StringIO(text, newline="")
    reader = csv.reader(file) if delimiter == "," else csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    try:
        return [(reader.line_num, row) for row in reader if any(map(str.strip, row))]
    except csv.Error as error:
        raise InvalidGlossary(f"Line {reader.line_num} is not a row of a table ({error}).") from None


def _entry(number: int, row: Sequence[str]) -> Entry:
    source, *targets = (cell.strip() for cell in row)
    if not source or not targets or not targets[0]:
        raise InvalidGlossary(f"Line {number} needs a source term and its translation, in two columns.")
    return source, tuple(target for target in targets if target)


Concept = Mapping[str, Sequence[str]]  # the terms of one concept, by language


def _table_concepts(rows: Sequence[tuple[int, list[str]]]) -> Iterator[Concept]:
    header = [cell.strip() for cell in rows[0][1]] if rows else []
    if len(header) < 2 or not all(map(TAG.fullmatch, header)):
        raise InvalidGlossary(
            "The first row must name the language of each column, such as en and fr; or name the pair in the name of "
            "the file, as in NAME.en-fr.csv."
        )
    languages = list(map(canonical, header))
    for number, row in rows[1:]:
        if len(row) > len(languages):
            raise InvalidGlossary(f"Line {number} has more columns than the first row has languages.")
        yield {language: [cell] for language, cell in zip(languages, row, strict=False) if cell.strip()}


def _of_concepts(concepts: Iterable[Concept], pair: Pair | None) -> Entries:
    """Return the entries of each pair; a source term gets the target terms of all its concepts as forms."""
    by_pair: dict[Pair, dict[str, dict[str, None]]] = {}
    for concept in concepts:
        for source, target in permutations(concept, 2):
            if pair in (None, (source, target)):
                terms_here = by_pair.setdefault((source, target), {})
                for term in concept[source]:
                    terms_here.setdefault(term, {}).update(dict.fromkeys(concept[target]))
    return {
        pair: [(term, tuple(forms)) for term, forms in by_term.items() if forms] for pair, by_term in by_pair.items()
    }
