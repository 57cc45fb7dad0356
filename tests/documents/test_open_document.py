"""Spreadsheets and presentations of OpenDocument, made and read back with odfpy."""

import io
from typing import Any

import pytest
from odf.draw import Frame, Page, TextBox
from odf.opendocument import OpenDocumentPresentation, OpenDocumentSpreadsheet, load
from odf.style import MasterPage, PageLayout
from odf.table import Table, TableCell, TableRow
from odf.text import P

from service.documents.errors import BrokenDocument
from tests.support.documents import saved, through


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
