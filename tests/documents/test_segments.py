"""What is translated of each kind of document, and how it is written: a row for each thing that a user noticed."""

import json
from typing import Any

import pytest
from docx import Document
from docx.oxml import parse_xml
from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference
from openpyxl.worksheet.datavalidation import DataValidation
from pptx import Presentation

from tests.support.documents import ODF, ODT_TEXT, packed, saved, segments, through, unpacked

XLIFF = (
    '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" source-language="en" '
    'target-language="fr" datatype="plaintext"><body><trans-unit id="1"><source>One. Two.</source>%s</trans-unit>'
    "</body></file></xliff>"
)
SENTENCES = '<mrk mtype="seg" mid="1">%s</mrk> <mrk mtype="seg" mid="2">%s</mrk>'
SEGMENTED = f"<seg-source>{SENTENCES % ('One.', 'Two.')}</seg-source>"
TARGET = f'<target state="needs-review-translation">{SENTENCES % ("ONE.", "TWO.")}</target>'

CUES = "".join(f"{number}\n00:00:0{number},000 --> 00:00:0{number},900\n%s\n\n" for number in (1, 2, 3))


def android(value: str) -> str:
    return f'<resources><string name="a">{value}</string></resources>'


def message(key: str, value: str) -> str:
    return json.dumps({key: value})


ROWS: list[tuple[str, str, list[str], str]] = [
    ("a.xlf", XLIFF % SEGMENTED, ["<b 0>One.</b> <b 1>Two.</b>"], XLIFF % (SEGMENTED + TARGET)),
    ("a.xml", android('"  Keep  me "'), ["  Keep  me "], android('"  KEEP  ME "')),
    ("a.xml", android("<![CDATA[Read <b>it</b>.]]>"), ["Read <b 0>it</b>."], android("<![CDATA[READ <b>IT</b>.]]>")),
    (
        "a.html",
        '<p><input type=submit value="Send it"><input value="Ann"></p><textarea>Dear A &amp; B,\n\ngo.</textarea>',
        ["Dear A &amp; B,", "go.", "Send it"],
        '<p><input type=submit value="SEND IT"><input value="Ann"></p><textarea>DEAR A &amp; B,\n\nGO.</textarea>',
    ),
    (
        "a.html",
        "<noscript>Switch <b>it</b> on.</noscript>",
        ["Switch <b>it</b> on."],
        "<noscript>SWITCH <b>IT</b> ON.</noscript>",
    ),
    (
        "a.md",
        """A ![cat](c.png 'A "red" one') is [old](d "Dog").\n""",
        ["A <wbr 0> is <b 1>old</b>.", "cat", 'A "red" one', "Dog"],
        """A ![CAT](c.png "A \\"RED\\" ONE") IS [OLD](d "DOG").\n""",
    ),
    ("a.md", "A ![red *cat*](c.png) is\n", ["A <wbr 0> is", "red cat"], "A ![RED CAT](c.png) IS\n"),
    (
        "a.md",
        "Word\n: Its meaning\n: Another\n",
        ["Word", "Its meaning", "Another"],
        "WORD\n: ITS MEANING\n: ANOTHER\n",
    ),
    ("a.md", ":::tip\nDrink water.\n:::\n", ["Drink water."], ":::tip\nDRINK WATER.\n:::\n"),
    (
        "a.md",
        '!!! note "Read this"\n    The *text*.\n\n    - An item\n\nAfter\n',
        ["Read this", "The <b 0>text</b>.", "An item", "After"],
        '!!! note "READ THIS"\n    THE *TEXT*.\n\n    - AN ITEM\n\nAFTER\n',
    ),
    ("a.md", "```\n:::tip\nWord\n: x\n```\n", [], "```\n:::tip\nWord\n: x\n```\n"),
    (
        "a.txt",
        "Name:      Ann\nTwo  words  here.\n",
        ["Name:", "Ann", "Two  words  here."],
        "NAME:      ANN\nTWO  WORDS  HERE.\n",
    ),
    ("a.txt", "Red\twine \t 12\n", ["Red", "wine"], "RED\tWINE \t 12\n"),
    (
        "a.srt",
        CUES % ("I have been looking for you", "<i>all day long,</i>", "because it is late."),
        ["I have been looking for you all day long, because it is late."],
        CUES % ("I HAVE BEEN LOOKING FOR YOU", "<i>ALL DAY LONG,</i>", "BECAUSE IT IS LATE."),
    ),
    (
        "a.srt",
        CUES % ("Yes.", "- He is", "Who is it?"),
        ["Yes.", "- He is", "Who is it?"],
        CUES % ("YES.", "- HE IS", "WHO IS IT?"),
    ),
    *(
        ("a.json", message(key, value), [], message(key, value))
        for key, value in (
            ("icon", "fa-user"),
            ("k", "nav.home.title"),
            ("className", "btn btn-primary"),
            ("inputType", "text"),
            ("lang", "en"),
            ("k", "user_name"),
            ("k", "images/cat.png"),
            ("version", "v1.2.3"),
            ("enum", "ACTIVE"),
            ("k", "firstName"),
        )
    ),
    *(
        ("a.json", message(key, value), [value], message(key, value.upper()))
        for key, value in (
            ("k", "and/or"),
            ("k", "e-mail"),
            ("k", "open"),
            ("type", "Type"),
            ("type", "type"),
            ("grid", "open"),
            ("style", "in bold"),
            ("k", "Read it. Now"),
        )
    ),
]


@pytest.mark.parametrize(("name", "text", "expected", "written"), ROWS)
def test_what_is_translated_and_how_it_is_written(name: str, text: str, expected: list[str], written: str) -> None:
    assert segments(name, text.encode()) == expected
    assert through(name, text.encode()).decode() == written


def test_a_column_begins_where_it_began_although_the_words_before_it_are_longer() -> None:
    longer = {"Red": "Rouge foncé", "wine": "vin", "cheap": "pas cher"}
    written = through("a.txt", b"Red       wine      cheap\n", lambda text: longer[text]).decode()
    assert written == "Rouge foncé  vin    pas cher\n"


def test_a_translation_that_is_too_short_for_its_cues_is_in_the_first_one() -> None:
    cues = CUES % ("I have been looking", "for you", "all day long.")
    assert through("a.srt", cues.encode(), lambda _: "Je cherche").decode().split("\n")[2:5] == ["Je cherche", "", "2"]


def test_captions_without_any_stop_are_no_endless_sentence() -> None:
    line = "and so it goes on and on until somebody stops it"
    assert len(segments("a.srt", (CUES.replace("%s", line) * 4).encode())) == 2


def with_picture(description: str) -> bytes:
    document = Document()
    name = "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"
    run: Any = document.add_paragraph("Look: ").add_run()
    run._r.append(parse_xml(f'<wp:docPr xmlns:wp="{name}" id="1" name="Picture 1" descr="{description}"/>'))
    return saved(document)


def with_shape(description: str) -> bytes:
    presentation = Presentation()
    shape = presentation.slides.add_slide(presentation.slide_layouts[6]).shapes.add_textbox(0, 0, 9, 9)
    shape._element.nvSpPr.cNvPr.set("descr", description)
    return saved(presentation)


def with_frame(description: str) -> bytes:
    frame = f'<text:p>Look</text:p><svg:desc xmlns:svg="{ODF}:svg-compatible:1.0">{description}</svg:desc>'
    return packed({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": ODT_TEXT % frame})


@pytest.mark.parametrize(
    ("name", "make", "part"),
    [
        ("a.docx", with_picture, "word/document.xml"),
        ("a.pptx", with_shape, "ppt/slides/slide1.xml"),
        ("a.odt", with_frame, "content.xml"),
    ],
)
def test_the_texts_of_pictures_are_translated_unless_they_are_left_alone(name: str, make: Any, part: str) -> None:
    assert b"A RED CAT" in unpacked(through(name, make("A red cat")))[part]
    assert b"A red cat" in unpacked(through(name, make("A red cat"), metadata=False))[part]


def test_a_name_of_a_file_is_no_text_of_a_picture() -> None:
    assert segments("a.docx", with_picture("logo.png")) == ["Look: <wbr 0>"]


def orders() -> bytes:
    book = Workbook()
    sheet: Any = book.active
    for row in (["State", "Note"], ["open", "Soon"], ["paid", "late"], ['=COUNTIF(A2:A3,"open")', "Whole"]):
        sheet.append(row)
    listed = DataValidation(type="list", formula1='"paid,late"')
    listed.add("A2:B9")
    sheet.add_data_validation(listed)
    chart: Any = BarChart()
    chart.title = "How many"
    chart.add_data(Reference(sheet, min_col=1, min_row=1, max_row=3), titles_from_data=True)
    sheet.add_chart(chart, "D1")
    return saved(book)


def test_cells_that_a_formula_compares_or_a_list_allows_stay_and_titles_of_charts_do_not() -> None:
    assert segments("a.xlsx", orders()) == ["State", "Note", "Soon", "Whole", "How many"]
    charts = unpacked(through("a.xlsx", orders()))["xl/charts/chart1.xml"]
    assert b"HOW MANY" in charts
