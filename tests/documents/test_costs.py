"""What a document costs grows with its size: files that once took the square or more of their bytes.

`test_growth.py` makes most of such files from a valid one; these have two things in them that it does not put together.
"""

import gc
import time
from collections.abc import Callable

import pytest

from service.documents.errors import DocumentError, DocumentTooLarge
from tests.support.documents import ODT_TEXT, packed, same, through

TIMES = 4  # a square would cost sixteen times as much
GROWTH = 8
NEGLIGIBLE = 0.05  # seconds

XLIFF = (
    '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" source-language="en" '
    'datatype="plaintext"><body><trans-unit id="1">%s</trans-unit></body></file></xliff>'
)
XLIFF_2 = (
    '<xliff version="2.0" srcLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0"><file><unit><segment>%s</segment>'
    "</unit></file></xliff>"
)


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


def docx(paragraph: str) -> bytes:
    types = f'<Types xmlns="t"><Override PartName="/word/document.xml" ContentType="{WORD}"/></Types>'
    return packed({"[Content_Types].xml": types, "word/document.xml": f"<w:document {W}>{paragraph}</w:document>"})


def odt(paragraphs: str) -> bytes:
    return packed({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": ODT_TEXT % paragraphs})


def epub(page: str, extra: str = "") -> bytes:
    item = '<item href="a.xhtml" media-type="application/xhtml+xml"/>'
    container = '<container xmlns="c"><rootfile full-path="a.opf"/></container>'
    opf = f'<package xmlns="p">{extra}{item}</package>'
    files = {"mimetype": "application/epub+zip", "META-INF/container.xml": container, "a.opf": opf, "a.xhtml": page}
    return packed(files)


MARKED = '<w:r><w:t>Hello</w:t></w:r><w:bookmarkEnd w:id="1"/><w:r><w:br/></w:r>'

SPAN = '<text:span text:style-name="a">Hello</text:span>'
APART = f"{SPAN} <text:tab/>"

# The file for a number of repetitions, and a number.
COSTLY: dict[str, tuple[str, Callable[[int], str | bytes], int]] = {
    "quotes that a table may be made of": ("a.csv", lambda n: ',"a",\n' + '"' * n + "x", 50),
    "openings of codes in an instruction": (
        "a.xlf",
        lambda n: XLIFF % f"<source>Hello<?x {'<ph>' * n}?></source>",
        2_000,
    ),
    "blanks in a tag": ("a.xlf", lambda n: XLIFF_2 % f"<source>Hello</source><target{' ' * n}></target>", 10_000),
    "spans of one look": ("a.odt", lambda n: odt(f"<text:p>{SPAN * n}</text:p>"), 10_000),
    "spans that stay apart": ("a.odt", lambda n: odt(f"<text:p>{APART * n}</text:p>"), 2_000),
    "bookmarks between line breaks": (
        "a.docx",
        lambda n: docx(f"<w:p>{MARKED * n}</w:p>"),
        1_000,
    ),
}


def seconds(name: str, data: bytes) -> float:
    gc.disable()  # it would count what other tests have left
    began = time.thread_time()
    try:
        through(name, data)
    except DocumentError as error:
        assert error.message  # noqa: PT017 - refusal is as good as success
    finally:
        took = time.thread_time() - began
        gc.enable()
    return took


@pytest.mark.parametrize("case", COSTLY)
def test_the_cost_of_a_document_grows_with_its_size(case: str) -> None:
    name, make, number = COSTLY[case]
    made = [make(size) for size in (number, number * TIMES)]
    small, large = (data if isinstance(data, bytes) else data.encode() for data in made)
    seconds(name, small)  # imports and compiles
    assert seconds(name, large) < GROWTH * max(seconds(name, small), NEGLIGIBLE)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("a.html", lambda n: b"<p>a" * n),
        ("a.html", lambda n: b"<p>Hello" + b"<b>" * n),
        ("a.epub", lambda n: epub("<p>a" * n)),
        ("a.epub", lambda n: epub("<p>Hello" + "<b>" * n)),
    ],
)
def test_a_document_beyond_the_limits_costs_no_more_than_one_within_them(
    name: str, make: Callable[[int], bytes]
) -> None:
    within, beyond = make(15_000), make(600_000)
    assert seconds(name, beyond) < GROWTH * max(seconds(name, within), NEGLIGIBLE)
    with pytest.raises(DocumentTooLarge):
        through(name, beyond, same)


BOLD = "<w:b/>"
ATTRIBUTES = " ".join(f'w:a{number}="1"' for number in range(2_000))
BREAKS = "<w:t>Hello</w:t>" + "<w:br/>" * 2_000
NAMESPACES = " ".join(f'xmlns:a{number}="{number}"' for number in range(2_000))


@pytest.mark.parametrize(
    "paragraph",
    [
        f"<w:p><w:r><w:rPr>{BOLD * 2_000}</w:rPr>{BREAKS}</w:r></w:p>",
        f"<w:p><w:r><w:rPr><w:b {ATTRIBUTES}/></w:rPr>{BREAKS}</w:r></w:p>",
        f"<w:p><w:r {ATTRIBUTES}>{BREAKS}</w:r></w:p>",
        f"<w:p {NAMESPACES}><w:r>{BREAKS}</w:r></w:p>",
    ],
    ids=["properties", "attributes of properties", "attributes", "namespaces"],
)
def test_what_would_be_copied_for_each_part_of_a_run_is_limited(paragraph: str) -> None:
    with pytest.raises(DocumentError, match=r"too many elements|more than 1000 namespaces"):
        through("a.docx", docx(paragraph))
