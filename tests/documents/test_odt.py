"""OpenDocument texts, made and read back with odfpy."""

import io
import zipfile
from typing import Any

from odf import teletype
from odf.draw import Frame, TextBox
from odf.opendocument import OpenDocumentText, load
from odf.style import Footer, Header, MasterPage, PageLayout, Style, TextProperties
from odf.table import Table, TableCell, TableColumn, TableRow
from odf.text import A, H, LineBreak, Note, NoteBody, NoteCitation, P, S, Span, Tab

from tests.support.documents import same, saved, segments, through


def made(element: Any, *content: Any) -> Any:
    for each in content:
        if isinstance(each, str):
            element.addText(each)
        else:
            element.addElement(each)
    return element


def paragraph() -> Any:
    return made(
        P(text="We have "),
        *(Span(stylename="T1", text="nev"), Span(stylename="T2", text="er")),  # as LibreOffice writes edited words
        *(" lost a ", A(href="https://example.org", text="customer")),
        made(Note(id="n1", noteclass="footnote"), NoteCitation(text="1"), made(NoteBody(), P(text="A footnote."))),
        *(".", Tab(), made(Span(stylename="T3", text="one"), LineBreak(), "two")),
    )


def letter() -> bytes:
    document = OpenDocumentText()
    bold, italic = {"fontweight": "bold"}, {"fontstyle": "italic"}
    for name, values in (("T1", bold), ("T2", bold), ("T3", italic)):
        document.automaticstyles.addElement(made(Style(name=name, family="text"), TextProperties(**values)))
    document.styles.addElement(Style(name="Preformatted_20_Text", family="paragraph"))
    box = made(TextBox(), P(text="In a box"))
    made(
        document.text,
        H(outlinelevel=1, text="Our plan"),
        paragraph(),
        made(P(text="A"), S(c=3), "gap"),
        P(text="print(x)", stylename="Preformatted_20_Text"),
        made(Table(), TableColumn(), made(TableRow(), made(TableCell(), P(text="In a cell")))),
        made(P(text="Before "), made(Frame(width="2cm", height="2cm", anchortype="paragraph"), box)),
    )
    layout = PageLayout(name="L1")
    document.automaticstyles.addElement(layout)
    margins = [made(Header(), P(text="Our company")), made(Footer(), P(text="Confidential"))]
    document.masterstyles.addElement(made(MasterPage(name="Standard", pagelayoutname=layout), *margins))
    return saved(document)


def texts(data: bytes) -> list[str]:
    document = load(io.BytesIO(data))
    return [teletype.extractText(element) for kind in (H, P) for element in document.getElementsByType(kind)]


def test_paragraphs_notes_frames_and_headers_are_translated() -> None:
    data = letter()
    assert through("a.odt", data, same) == data
    assert segments("a.odt", data) == [
        "Our plan",
        "We have <b 0>never</b> lost a <b 1>customer</b><wbr 2>.",
        *("one", "two", "A footnote.", "A", "gap", "In a cell", "Before <wbr 0>", "In a box"),
        *("Our company", "Confidential"),
    ]
    written = through("a.odt", data)
    assert texts(written) == [text if text == "print(x)" else text.upper() for text in texts(data)]
    with zipfile.ZipFile(io.BytesIO(written)) as archive:
        content = archive.read("content.xml").decode()
        assert archive.infolist()[0].filename == "mimetype"
        assert archive.infolist()[0].compress_type == zipfile.ZIP_STORED
    assert '<text:span text:style-name="T1">NEVER</text:span> LOST A <text:a ' in content
    assert '<text:span text:style-name="T3">ONE<text:line-break/>TWO</text:span>' in content
    assert 'A<text:s text:c="3"/>GAP' in content
