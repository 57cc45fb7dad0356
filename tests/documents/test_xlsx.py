"""Spreadsheets of Office, made and read back with openpyxl."""

import io
from typing import Any
from xml.sax.saxutils import escape

import pytest
from openpyxl import Workbook, load_workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.comments import Comment
from openpyxl.worksheet.table import Table

from service.documents.format import ReadOptions, format_of
from tests.support.documents import SMALL, packed, refusal, saved, through, unpacked

S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
SHEET = "xl/worksheets/sheet1.xml"
TYPES, RELATIONS = "[Content_Types].xml", "xl/_rels/workbook.xml.rels"
STRINGS = "xl/sharedStrings.xml"


def workbook() -> bytes:
    book = Workbook()
    sheet: Any = book.active
    sheet.append(["Name", "Words", 3])
    sheet.append(["First", "Two\nlines & more", 4.5])
    sheet["C3"] = "=SUM(C1:C2)"
    sheet["C3"].comment = Comment("Check this", "Ann")
    sheet["D1"] = CellRichText("Some ", TextBlock(InlineFont(b=True), "bold"), " words")
    sheet["D2"] = " blanks "
    sheet.add_table(Table(displayName="T", ref="A1:B2"))
    return saved(book)


def with_shared(strings: str | bytes | None) -> dict[str, str | bytes | None]:
    """Return the files of a workbook that has shared strings as Excel writes them; openpyxl writes none."""
    inner = unpacked(workbook())
    kind, place = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml", f"/{STRINGS}"
    override = f'<Override PartName="{place}" ContentType="{kind}"/></Types>'
    inner[TYPES] = inner[TYPES].replace(b"</Types>", override.encode())
    schema = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings"
    relation = f'<Relationship Id="s1" Type="{schema}" Target="{place}"/></Relationships>'
    inner[RELATIONS] = inner[RELATIONS].replace(b"</Relationships>", relation.encode())
    return {**inner, STRINGS: strings}


def opened(data: bytes) -> Any:
    return load_workbook(io.BytesIO(data), rich_text=True).active


def test_texts_are_translated_and_formulas_numbers_and_names_of_columns_are_not() -> None:
    data = workbook()
    written = through("a.xlsx", data)
    sheet = opened(written)
    assert [sheet[place].value for place in ("A1", "B1", "C1", "C2")] == ["Name", "Words", 3, 4.5]
    assert [sheet[place].value for place in ("A2", "B2", "D2")] == ["FIRST", "TWO\nLINES & MORE", " BLANKS "]
    assert (sheet["C3"].value, sheet["C3"].comment.text.strip()) == ("=SUM(C1:C2)", "CHECK THIS")
    rich = sheet["D1"].value
    assert str(rich) == "SOME BOLD WORDS"
    assert [part.text for part in rich if isinstance(part, TextBlock) and part.font.b] == ["BOLD"]
    old, new = unpacked(data), unpacked(written)
    assert {name for name in old if old[name] != new[name]} == {SHEET, "xl/comments/comment1.xml"}
    assert through("a.xlsx", data, lambda fragment: fragment) == data


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ('&L&"Arial,Bold"Order list&RPage &P of &N', '&L&"Arial,Bold"ORDER LIST&RPAGE &P OF &N'),
        ("&C&12 2024 report &K00AA00new", "&C&12 2024 REPORT &K00AA00NEW"),
        ("Fish && chips, &D", "FISH && CHIPS, &D"),
        ("&C&A &P", "&C&A &P"),
    ],
)
def test_headers_of_sheets_are_translated_around_their_codes(header: str, expected: str) -> None:
    inner = unpacked(workbook())
    code = f"<headerFooter><oddHeader>{escape(header)}</oddHeader></headerFooter><legacyDrawing"
    inner[SHEET] = inner[SHEET].replace(b"<legacyDrawing", code.encode())
    found = unpacked(through("a.xlsx", packed(inner)))[SHEET].decode()
    assert f"<oddHeader>{escape(expected)}</oddHeader>" in found


def test_cells_that_stay_for_their_words_are_named() -> None:
    book = Workbook()
    sheet: Any = book.active
    for value in ("open", "a note", '=COUNTIF(A1:A2,"open")'):
        sheet.append([value])
    document = format_of("a.xlsx").read(saved(book), ReadOptions("fr"))
    assert (document.segments, getattr(document, "kept", None)) == (["a note"], ["open"])


def test_formatting_follows_its_words() -> None:
    written = through("a.xlsx", workbook(), lambda text: "Words <b 0>bold</b> some" if "bold" in text else text)
    rich = opened(written)["D1"].value
    assert [(str(part), isinstance(part, TextBlock)) for part in rich] == [
        ("Words ", False),
        ("bold", True),
        (" some", False),
    ]


def test_shared_strings() -> None:
    strings = "<si><t>Words</t></si><si><t>Shared  </t><phoneticPr/></si><si><r><t>Rich</t></r></si>"
    inner = with_shared(f"<sst {S}>{strings}</sst>")
    sheet = unpacked(workbook())[SHEET]
    cell = b'<row r="9"><c r="A9" t="s"><v>1</v></c><c r="B9" t="s"><v>0</v></c></row></sheetData>'
    inner[SHEET] = sheet.replace(b"</sheetData>", cell)
    written = through("a.xlsx", packed(inner))
    assert b"<si><t>Words</t></si><si><t xml:space" in unpacked(written)[STRINGS]
    assert (opened(written)["A9"].value, opened(written)["B9"].value) == ("SHARED  ", "Words")


LAUGHS = '<!DOCTYPE s [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'
RELATION = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target="file://server/x" '
    'TargetMode="External"/></Relationships>'
)
HOSTILE: tuple[dict[str, str | bytes | None], ...] = (
    {"xl/vbaProject.bin": b"x"},
    {STRINGS: f"{LAUGHS}<sst {S}><si><t>&b;</t></si></sst>"},
    {STRINGS: f'<!DOCTYPE s SYSTEM "file:///etc/passwd"><sst {S}/>'},
    {STRINGS: f"<sst {S}>" + "<si>" * 5000 + "</si>" * 5000 + "</sst>"},
    {STRINGS: f"<sst {S}>" + "<si><t>word</t></si>" * 600 + "</sst>"},
    {STRINGS: f"<sst {S}><si><t>" + "\n" * 2_000 + "x</t></si></sst>"},
    {STRINGS: f"<sst {S}><si><r/><r><t/></r><rPh><t>x</t></rPh><t>words</t></si><si/></sst>"},
    {"xl/externalLinks/_rels/externalLink1.xml.rels": RELATION % "externalLinkPath"},
    {"xl/worksheets/_rels/sheet1.xml.rels": RELATION % "oleObject"},
    {STRINGS: b"<sst"},
)


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_hostile_workbook_is_refused_in_one_sentence_or_is_harmless(number: int) -> None:
    data = packed({**with_shared(f"<sst {S}/>"), **HOSTILE[number]})
    assert refusal("a.xlsx", data) or opened(through("a.xlsx", data, limits=SMALL))
