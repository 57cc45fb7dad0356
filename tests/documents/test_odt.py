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

from tests.support.documents import rebuilt, segments, through


def saved(document: Any) -> bytes:
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def letter() -> bytes:
    document = OpenDocumentText()
    add_styles(document)
    text = document.text
    text.addElement(H(outlinelevel=1, text="Our plan"))
    text.addElement(paragraph())
    spaced = P(text="A")
    spaced.addElement(S(c=3))
    spaced.addText("gap")
    text.addElement(spaced)
    text.addElement(P(text="print(x)", stylename="Preformatted_20_Text"))
    text.addElement(table())
    box = TextBox()
    box.addElement(P(text="In a box"))
    frame = Frame(width="2cm", height="2cm", anchortype="paragraph")
    frame.addElement(box)
    holder = P(text="Before ")
    holder.addElement(frame)
    text.addElement(holder)
    add_header_and_footer(document)
    return saved(document)


def add_styles(document: Any) -> None:
    bold, italic = {"fontweight": "bold"}, {"fontstyle": "italic"}
    for name, values in (("T1", bold), ("T2", bold), ("T3", italic)):
        style = Style(name=name, family="text")
        style.addElement(TextProperties(**values))
        document.automaticstyles.addElement(style)
    document.styles.addElement(Style(name="Preformatted_20_Text", family="paragraph"))


def paragraph() -> Any:
    paragraph = P(text="We have ")
    paragraph.addElement(Span(stylename="T1", text="nev"))
    paragraph.addElement(Span(stylename="T2", text="er"))  # as LibreOffice writes words that were edited
    paragraph.addText(" lost a ")
    paragraph.addElement(A(href="https://example.org", text="customer"))
    note = Note(id="n1", noteclass="footnote")
    note.addElement(NoteCitation(text="1"))
    body = NoteBody()
    body.addElement(P(text="A footnote."))
    note.addElement(body)
    paragraph.addElement(note)
    paragraph.addText(".")
    paragraph.addElement(Tab())
    italic = Span(stylename="T3", text="one")
    italic.addElement(LineBreak())
    italic.addText("two")
    paragraph.addElement(italic)
    return paragraph


def table() -> Any:
    table = Table()
    table.addElement(TableColumn())
    row = TableRow()
    cell = TableCell()
    cell.addElement(P(text="In a cell"))
    row.addElement(cell)
    table.addElement(row)
    return table


def add_header_and_footer(document: Any) -> None:
    layout = PageLayout(name="L1")
    document.automaticstyles.addElement(layout)
    master = MasterPage(name="Standard", pagelayoutname=layout)
    for kind, words in ((Header(), "Our company"), (Footer(), "Confidential")):
        kind.addElement(P(text=words))
        master.addElement(kind)
    document.masterstyles.addElement(master)


def texts(data: bytes) -> list[str]:
    document = load(io.BytesIO(data))
    return [teletype.extractText(element) for kind in (H, P) for element in document.getElementsByType(kind)]


def test_a_text_without_translation_reads_the_same() -> None:
    data = letter()
    assert through("a.odt", data, lambda fragment: fragment) == data
    assert texts(through("a.odt", data, rebuilt)) == texts(data)


def test_paragraphs_notes_frames_and_headers_are_translated() -> None:
    data = letter()
    assert segments("a.odt", data) == [
        "Our plan",
        "We have <b 0>never</b> lost a <b 1>customer</b><wbr 2>.",
        *("one", "two", "A footnote.", "A   gap", "In a cell", "Before <wbr 0>", "In a box"),
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
    assert 'A <text:s text:c="2"/>GAP' in content
