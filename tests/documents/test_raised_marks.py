"""Marks of footnotes in superscript: no part of the word before them, in any kind of document."""

from typing import Any

import pytest
from docx import Document
from odf.opendocument import OpenDocumentText
from odf.style import Style, TextProperties
from odf.text import P, Span
from pptx import Presentation

from tests.support.documents import saved, segments, through, unpacked

PARTS = ("It is here", "1", ". ", "H", "2", "O and x", "n", " too.")
RAISED = {1: "super", 4: "sub", 6: "super"}


def word() -> bytes:
    document = Document()
    paragraph = document.add_paragraph()
    for number, text in enumerate(PARTS):
        font = paragraph.add_run(text).font
        if number in RAISED:
            setattr(font, f"{RAISED[number]}script", True)
    return saved(document)


def slides() -> bytes:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    paragraph = slide.shapes.add_textbox(0, 0, 9_000_000, 900_000).text_frame.paragraphs[0]
    for number, text in enumerate(PARTS):
        run = paragraph.add_run()
        run.text = text
        if number in RAISED:
            run._r.get_or_add_rPr().set("baseline", "30000" if RAISED[number] == "super" else "-25000")
    return saved(presentation)


def open_document() -> bytes:
    document = OpenDocumentText()
    paragraph: Any = P()
    for position in ("super", "sub"):
        style = Style(name=position, family="text")
        style.addElement(TextProperties(textposition=f"{position} 58%"))
        document.automaticstyles.addElement(style)
    for number, text in enumerate(PARTS):
        paragraph.addElement(Span(stylename=RAISED[number], text=text)) if number in RAISED else paragraph.addText(text)
    document.text.addElement(paragraph)
    return saved(document)


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.docx", word()), ("a.pptx", slides()), ("a.odt", open_document())],
    ids=["docx", "pptx", "odt"],
)
def test_a_raised_number_is_kept_beside_its_word(name: str, data: bytes) -> None:
    [segment] = segments(name, data)
    assert segment == "It is here<wbr 0>. H<b 1>2</b>O and x<b 2>n</b> too."
    written = unpacked(through(name, data))
    content = next(
        text
        for part, text in written.items()
        if part in ("word/document.xml", "content.xml") or "slides/slide1" in part
    )
    assert content.count(b">1<") == 1
