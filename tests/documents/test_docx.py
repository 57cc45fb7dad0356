"""Word documents, made and read back with python-docx."""

import io
from typing import Any

from docx import Document
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph

from tests.support.documents import same, saved, segments, through, unpacked


def report() -> Any:
    """Return a document with everything that a report usually has."""
    document = Document()
    document.add_heading("Annual report", 1)
    paragraph = document.add_paragraph("We have ")
    paragraph.add_run("never").bold = True
    paragraph.add_run(" lost a ")
    paragraph.add_run("customer").italic = True
    paragraph.add_run(".\tSee below.\nThank you.")
    document.add_paragraph("First item", style="List Bullet")
    table = document.add_table(2, 2)
    for number, cell in enumerate(table._cells):
        cell.text = f"Cell {number}"
    document.sections[0].header.paragraphs[0].text = "Our company"
    document.sections[0].footer.paragraphs[0].text = "Confidential"
    return document


def looks(data: bytes) -> list[Any]:
    """Return what can be seen: style, text and format of every run, in order."""
    document = Document(io.BytesIO(data))
    section = document.sections[0]
    cells = [cell for table in document.tables for cell in table._cells]
    paragraphs = [
        *document.paragraphs,
        *(paragraph for cell in cells for paragraph in cell.paragraphs),
        *section.header.paragraphs,
        *section.footer.paragraphs,
    ]
    return [(paragraph.style.name, shown(paragraph)) for paragraph in paragraphs]


def shown(paragraph: Paragraph) -> list[Any]:
    """Return the runs of a paragraph, neighbours with one format together."""
    found: list[Any] = []
    for run in paragraph.runs:
        look = run.bold, run.italic, run.underline, run.font.size, run.font.name
        if found and found[-1][1] == look:
            found[-1] = (found[-1][0] + run.text, look)
        elif run.text:
            found.append((run.text, look))
    return found


def test_words_are_translated_and_formats_and_other_files_stay() -> None:
    data = saved(report())
    assert through("a.docx", data, same) == data
    written = through("a.docx", data)
    before, after = looks(data), looks(written)
    assert [style for style, _ in after] == [style for style, _ in before]
    for (_, old), (_, new) in zip(before, after, strict=True):
        assert [(text.upper(), look) for text, look in old] == new
    old_files, new_files = unpacked(data), unpacked(written)
    assert list(old_files) == list(new_files)
    changed = {name for name in old_files if old_files[name] != new_files[name]}
    assert changed <= {"word/document.xml", "word/header1.xml", "word/footer1.xml"}


def element_of(tag: str, content: Any = "", **attributes: str) -> Any:
    element = OxmlElement(tag)
    for name, value in attributes.items():
        element.set(qn(f"w:{name}"), value)
    if isinstance(content, str):
        element.text = content
    else:
        element.append(content)
    return element


def test_insertions_are_translated_and_deletions_stay() -> None:
    document = Document()
    paragraph = document.add_paragraph("The ")
    for tag, text_tag, text in (("w:ins", "w:t", "new "), ("w:del", "w:delText", "old ")):
        run = element_of("w:r", element_of(text_tag, text))
        paragraph._p.append(element_of(tag, run, id=text, author="A"))
    paragraph.add_run("plan")
    data = saved(document)
    assert segments("a.docx", data) == ["The <b 0>new </b><wbr 1>plan"]
    written = Document(io.BytesIO(through("a.docx", data))).paragraphs[0]._p
    assert [element.text for element in written.iter(qn("w:t"))] == ["THE ", "NEW ", "PLAN"]
    assert [element.text for element in written.iter(qn("w:delText"))] == ["old "]
    assert [child.tag for child in written] == [qn("w:r"), qn("w:ins"), qn("w:del"), qn("w:r")]


def mark(paragraph: Any, kind: str) -> None:
    paragraph.add_run()._r.append(element_of("w:fldChar", fldCharType=kind))


def field(paragraph: Any, instruction: str, result: str) -> None:
    mark(paragraph, "begin")
    paragraph.add_run()._r.append(element_of("w:instrText", instruction))
    mark(paragraph, "separate")
    paragraph.add_run(result)
    mark(paragraph, "end")


def test_text_between_two_fields_of_other_paragraphs_is_translated() -> None:
    document = Document()
    paragraph = document.add_paragraph()
    mark(paragraph, "end")
    paragraph.add_run("in between")
    mark(paragraph, "begin")
    assert segments("a.docx", saved(document)) == ["in between"]


def test_fields_stay_whole_and_the_text_of_links_is_translated() -> None:
    document = Document()
    paragraph = document.add_paragraph("Page ")
    field(paragraph, " PAGE ", "seven")
    paragraph.add_run(" of ")
    field(paragraph, ' HYPERLINK "https://example.org" ', "our site")
    written = through("a.docx", saved(document))
    new = Document(io.BytesIO(written)).paragraphs[0]
    assert new.text == "PAGE seven OF OUR SITE"
    kinds = [mark.get(qn("w:fldCharType")) for mark in new._p.iter(qn("w:fldChar"))]
    assert kinds == ["begin", "separate", "end"] * 2


def test_code_is_not_translated() -> None:
    document = Document()
    document.styles.add_style("Source Code", 1)
    document.styles.add_style("Inline Code", 2)
    document.add_paragraph("print(value)", style="Source Code")
    paragraph = document.add_paragraph("Call ")
    paragraph.add_run("print", style="Inline Code")
    paragraph.add_run(" now")
    texts = [each.text for each in Document(io.BytesIO(through("a.docx", saved(document)))).paragraphs]
    assert texts == ["print(value)", "CALL print NOW"]


def test_a_bookmark_begins_before_it_ends_whatever_the_order_of_words() -> None:
    document = Document()
    paragraph = document.add_paragraph("The ")
    for tag, text in (("w:bookmarkStart", "red house"), ("w:bookmarkEnd", " is old")):
        paragraph._p.append(element_of(tag, id="7"))
        paragraph.add_run(text)
    written = through("a.docx", saved(document), lambda _: "vieille <wbr 1>est la maison <wbr 0>rouge")
    tags = [child.tag for child in Document(io.BytesIO(written)).paragraphs[0]._p if "bookmark" in str(child.tag)]
    assert tags == [qn("w:bookmarkStart"), qn("w:bookmarkEnd")]
