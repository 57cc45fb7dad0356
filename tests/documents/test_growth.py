"""Processor time and memory of a document grow with its size, whatever in it is repeated.

GROWTH=1 measures one in one of the files, which takes half an hour; by default one in a hundred.
"""

import os
import zlib
from collections.abc import Iterator

import pytest

from tests.support.document_costs import Cost, Meter
from tests.support.hostile_documents import Case, cases
from tests.support.valid_documents import valid_documents

SIZE = 80_000
TIMES, LINEAR = 4, 8  # a square would cost sixteen times as much as a quarter of the file
SECONDS, MEGABYTES = 0.15, 16.0  # that no file of this size has to explain
TRIES = 3
EVERY = int(os.environ.get("GROWTH", "100"))
FOUND = {  # by this test, in what the service was before
    ("a.docx", "word/document.xml b and br"),
    ("a.odt", "content.xml s and s"),
    ("a.docx", "word/document.xml fldChar and fldChar"),
    ("a.docx", "word/document.xml br and attributes of r"),
    ("a.docx", "word/document.xml br and attributes of b"),
    ("a.epub", "a.opf '<dc:language' in a comment"),
    ("a.html", "'<html' in a comment"),
    ("a.json", "'\\\\\"' in a text"),
    ("a.xlf", "'<![CDATA[' in a comment"),
    ("a.xlsx", "xl/worksheets/sheet1.xml '\\n' in a text"),
}


def chosen() -> Iterator[Case]:
    for name, data in valid_documents().items():
        if name != "a.pdf":  # it is read by a program
            yield from (
                case
                for case in cases(name, data)
                if (name, case.what) in FOUND or zlib.crc32(case.what.encode()) % EVERY == 0
            )


@pytest.fixture(scope="module")
def meter() -> Iterator[Meter]:
    with Meter() as meter:
        yield meter


def fits(whole: Cost, quarter: Cost) -> bool:
    return whole.seconds < max(SECONDS, LINEAR * quarter.seconds) and whole.megabytes < max(
        MEGABYTES, LINEAR * quarter.megabytes
    )


@pytest.mark.slow
@pytest.mark.parametrize("case", [pytest.param(each, id=f"{each.name} {each.what}") for each in chosen()])
def test_time_and_memory_grow_with_the_size(meter: Meter, case: Case) -> None:
    files = [case.of(size) for size in (SIZE, SIZE // TIMES)]
    for _ in range(TRIES):
        whole = meter.cost(case.name, files[0])
        assert whole.outcome in ("written", "refused")
        if whole.seconds < SECONDS and whole.megabytes < MEGABYTES:
            return
        quarter = meter.cost(case.name, files[1])
        if fits(whole, quarter):
            return
    raise AssertionError((whole, quarter))
