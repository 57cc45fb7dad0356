"""A small valid file of each format, with what such files have."""

from __future__ import annotations

import functools
from xml.sax.saxutils import escape

from openpyxl import Workbook
from pptx import Presentation

from tests.support import localisation as texts
from tests.support.documents import ODF, ODT_TEXT, packed, pdf_with_text, saved

OPEN = "application/vnd.oasis.opendocument."
OFFICE = "http://schemas.openxmlformats.org"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
CUE = "00:00:01,000 --> 00:00:02,000"
MARKDOWN = """# Title *of* it

1. One `code` and [a link](https://example.org "Title")
2. Two **bold** words

| a | b |
|---|---|
| Cell | <b>Other</b> |

> A quoted line

```python
code
```
"""
PAGE = """<!DOCTYPE html><html lang="en"><head><title>Title &amp; more</title><script>var a = "<p>";</script></head>
<body><p title="A hint">I <b>lost</b> my <a href="x">keys</a>.<br>And <img alt="A dog" src="a.png"></p>
<!-- a comment --><pre>code</pre><ul><li>One<li>Two &lt;3</ul><table><tr><td>Cell</td></tr></table></body></html>
"""
BOOK = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": '<container xmlns="c"><rootfile full-path="a.opf"/></container>',
    "a.opf": '<package xmlns="p" xmlns:dc="d"><dc:title>A book</dc:title><dc:language>en</dc:language>'
    '<item href="a.xhtml" media-type="application/xhtml+xml"/></package>',
    "a.xhtml": "<html><body><h1>Chapter</h1><p>I <i>lost</i> my keys.</p></body></html>",
}


def open_document(kind: str, inner: str) -> bytes:
    """Return a file of OpenDocument."""
    if kind != "text":
        cell = f'<table:table-cell xmlns:table="{ODF}:table:1.0">{inner}</table:table-cell>'
        inner = f"<office:{kind}>{cell}</office:{kind}>"
    return packed({"mimetype": OPEN + kind, "content.xml": ODT_TEXT % inner})


def _word() -> bytes:
    runs = (
        '<w:r><w:rPr><w:b/><w:sz w:val="20"/></w:rPr><w:t>I lost</w:t><w:br/>'
        "<w:tab/><w:t>my</w:t></w:r>"
        '<w:r><w:t xml:space="preserve"> red </w:t></w:r><w:bookmarkStart w:id="1"/>'
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
        '<w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
        '<w:hyperlink w:anchor="a"><w:r><w:t>keys</w:t></w:r></w:hyperlink>'
    )
    cell = f'<w:p><w:pPr><w:pStyle w:val="a"/></w:pPr>{runs}</w:p>'
    return packed(
        {
            "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            f'<Override PartName="/word/document.xml" ContentType="{WORD}"/></Types>',
            "word/document.xml": f'<w:document xmlns:w="{OFFICE}/wordprocessingml/2006/main"><w:body>{cell}'
            f"<w:tbl><w:tr><w:tc>{cell}</w:tc></w:tr></w:tbl></w:body></w:document>",
        }
    )


def _slides() -> bytes:
    presentation = Presentation()
    presentation.slides.add_slide(presentation.slide_layouts[5]).shapes.title.text = "A title\nin two lines"
    return saved(presentation)


def _sheet() -> bytes:
    book = Workbook()
    for row in (["Some words", 3, "=A1"], ["Two\nlines", None, "I lost it."]):
        book.active.append(row)
    return saved(book)


@functools.cache
def valid_documents() -> dict[str, bytes]:
    """Return the files by their names."""
    spaces = '<text:s text:c="99"/>'
    inner = f'<text:p>I <text:span text:style-name="a">lost</text:span>{spaces}my<text:line-break/>keys.</text:p>'
    plain = {
        "a.txt": "# A title\n\nI lost my keys.\nWhere are\nthey?\n\n- One\n- Two\n",
        "a.md": MARKDOWN,
        "a.html": PAGE,
        "a.srt": f"1\n{CUE}\n<i>Hello</i> there\n- Go.\n\n2\n{CUE}\nYes.\n",
        "a.vtt": f"WEBVTT\n\nNOTE a\n\n{CUE.replace(',', '.')} align:start\n<v Ann>Hello <b>there</b>\n",
        "a.csv": 'id;text\n1;"Some ""words"""\n2;=A1\n3;"Two\nlines"\n',
        "a.tsv": "id\ttext\n1\tSome words\n",
        "a.po": texts.PO,
        "a.xlf": texts.XLIFF,
        "b.xlf": texts.XLIFF_2,
        "a.json": texts.JSON,
        "a.arb": texts.ARB,
        "a.properties": texts.PROPERTIES,
        "a.strings": texts.STRINGS,
        "a.xml": texts.ANDROID,
        "a.stringsdict": texts.STRINGSDICT,
        "a.ts": texts.QT,
        "a.yml": texts.RAILS,
    }
    return {
        **{name: text.encode() for name, text in plain.items()},
        "a.epub": packed(BOOK),
        "a.odt": open_document("text", inner),
        "a.ods": open_document("spreadsheet", inner),
        "a.odp": open_document("presentation", inner),
        "a.pdf": pdf_with_text(["I lost my keys.", escape("Where & are they?")], ["Go."]),
        "a.docx": _word(),
        "a.pptx": _slides(),
        "a.xlsx": _sheet(),
    }
