"""Spreadsheets and presentations of OpenDocument, made and read back with odfpy."""

import io
import re
from typing import Any

import pytest
from odf.draw import Frame, Page, TextBox
from odf.opendocument import OpenDocumentPresentation, OpenDocumentSpreadsheet, load
from odf.style import MasterPage, PageLayout
from odf.table import Table, TableCell, TableRow
from odf.text import P

from service.documents.errors import BrokenDocument
from tests.support.documents import ODF, SMALL, packed, refusal, saved, through, unpacked


def texts(data: bytes) -> list[str]:
    return [str(each) for each in load(io.BytesIO(data)).getElementsByType(P)]


def cell(text: str, **attributes: Any) -> TableCell:
    made = TableCell(**attributes)
    made.addElement(P(text=text))
    return made


def test_cells_with_texts_are_translated_and_results_of_formulas_are_not() -> None:
    document = OpenDocumentSpreadsheet()
    table, row = Table(name="Sheet"), TableRow()
    row.addElement(cell("Some words", valuetype="string", stringvalue="Some words"))
    row.addElement(cell("3 pieces", valuetype="float", value=3))
    row.addElement(cell("A result", valuetype="string", formula="of:=CONCAT([.A1])"))
    table.addElement(row)
    document.spreadsheet.addElement(table)
    written = through("a.ods", saved(document))
    assert texts(written) == ["SOME WORDS", "3 pieces", "A result"]
    cells = load(io.BytesIO(written)).getElementsByType(TableCell)
    assert [each.getAttribute("stringvalue") for each in cells] == [None, None, None]
    with pytest.raises(BrokenDocument, match="presentation"):
        through("a.odp", saved(document))


def test_slides_are_translated() -> None:
    document = OpenDocumentPresentation()
    layout = PageLayout(name="L")
    document.automaticstyles.addElement(layout)
    master = MasterPage(name="M", pagelayoutname=layout)
    document.masterstyles.addElement(master)
    page, frame, box = Page(masterpagename=master), Frame(width="10cm", height="5cm"), TextBox()
    box.addElement(P(text="A slide"))
    frame.addElement(box)
    page.addElement(frame)
    document.presentation.addElement(page)
    assert texts(through("a.odp", saved(document))) == ["A SLIDE"]


NAMES = " ".join(
    f'xmlns:{name}="{ODF}:{urn}:1.0"'
    for name, urn in (
        ("office", "office"),
        ("text", "text"),
        ("table", "table"),
        ("draw", "drawing"),
        ("script", "script"),
    )
)
MACRO = '<script:event-listener xlink:href="vnd.sun.star.script:a.py$b?language=Python&amp;location=share"/>'
CELL = '<table:table><table:table-row><table:table-cell table:number-columns-repeated="%d">%s</table:table-cell>'
LINKED = '<%s xlink:href="http://evil.example/x"/>'


def content(body: str, prolog: str = "") -> dict[str, bytes | None]:
    root = f'<office:document-content {NAMES} xmlns:xlink="http://www.w3.org/1999/xlink">'
    return {"content.xml": f"{prolog}{root}<text:p>Words</text:p>{body}</office:document-content>".encode()}


HOSTILE: dict[str, tuple[dict[str, bytes | None], str]] = {
    "entities": (content("<text:p>&b;</text:p>", '<!DOCTYPE o [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'), "entities"),
    "document type from elsewhere": (content("", '<!DOCTYPE o SYSTEM "http://evil.example/x">'), "document type"),
    "elements in elements": (content("<text:span>" * 5_000 + "</text:span>" * 5_000), "deep|well-formed"),
    "macros of Python": ({"Scripts/python/a.py": b"x"}, "macros"),
    "a macro of the program": (content(f"<office:event-listeners>{MACRO}</office:event-listeners>"), "scripts"),
    "an object from elsewhere": (content(LINKED % "draw:object"), "elsewhere"),
    "a table from elsewhere": (content(LINKED % "table:table-source"), ""),
    "data of another program": (content('<office:dde-source office:dde-application="cmd"/>'), ""),
    "a million cells": (content(CELL % (1_048_576, "<text:p>Words</text:p>") + "</table:table-row></table:table>"), ""),
    "a million blanks": (content('<text:p>a<text:s text:c="99999999"/>b</text:p>'), ""),
    "a signature": ({"META-INF/documentsignatures.xml": b"<x/>"}, "signed"),
    "no content": ({"content.xml": None}, "is not an OpenDocument"),
    "another encoding": ({"content.xml": b'<?xml version="1.0" encoding="UTF-8"?><x>caf\xe9</x>'}, "XML"),
}


@pytest.mark.parametrize(("name", "kind"), [("a.ods", "spreadsheet"), ("a.odp", "presentation")])
@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_is_refused_in_one_sentence_or_is_harmless(case: str, name: str, kind: str) -> None:
    files, words = HOSTILE[case]
    data = packed({"mimetype": f"application/vnd.oasis.opendocument.{kind}", **content(""), **files})
    refused = refusal(name, data)
    if words:
        assert refused is not None
        assert re.search(words, refused.message)
    else:
        assert b"WORDS" in unpacked(through(name, data, limits=SMALL))["content.xml"]
