"""PDF: its text arrives as a plain text; what has no text is refused. The files are written by hand or with pypdf."""

import re
import zlib
from collections.abc import Callable

import pytest

from service.documents.errors import UnsafeDocument, UnsupportedDocument
from service.documents.format import Limits, translated_name
from tests.support.documents import pdf_with_text, refusal, through

WRAPPED = ["The first line of a paragraph is so long that it goes", "on in the next line with a hyphen-", "ated word."]


def test_the_text_of_the_pages_is_translated() -> None:
    written = through("a.pdf", pdf_with_text(["Heading", *WRAPPED], [], ["Second page."])).decode()
    assert " ".join(written.split()) == " ".join(["Heading", *WRAPPED, "Second page."]).upper().replace(
        "HYPHEN- ", "HYPHEN"
    )
    assert "\n\nSECOND PAGE." in written
    assert translated_name("report.pdf", "fr") == "report.fr.txt"


WORDS = b"BT /F1 12 Tf 50 700 Td (Words) Tj ET"
PAGE = "<</Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources <</Font <</F1 5 0 R>> %s>> %s>>"
FLATE = "/Filter /FlateDecode"


def raw(content: bytes = WORDS, *, filters: str = "", kids: str = "3 0 R", count: int = 1, **more: str) -> bytes:
    """Return a PDF of one page as it is written by hand."""
    objects = [
        f"<</Type /Catalog /Pages 2 0 R {more.get('catalog', '')}>>".encode(),
        f"<</Type /Pages /Kids [{kids}] /Count {count}>>".encode(),
        (PAGE % (more.get("resources", ""), more.get("page", ""))).encode(),
        b"<</Length %d %s>>\nstream\n%s\nendstream" % (len(content), filters.encode(), content),
        b"<</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>",
        more.get("last", "<<>>").encode(),
    ]
    body = b"%PDF-1.7\n"
    places = []
    for number, each in enumerate(objects, 1):
        places.append(b"%010d 00000 n \n" % len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"xref\n0 7\n0000000000 65535 f \n" + b"".join(places)
    trailer = f"trailer <</Size 7 /Root 1 0 R {more.get('trailer', '')}>>\nstartxref\n{len(body)}\n%%EOF\n"
    return body + table + trailer.encode()


def bomb() -> bytes:
    return zlib.compress(bytes(300_000_000), 9)


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "objects without an end": (lambda: b"%PDF-1.7\n" + b"1 0 obj\n" * 9_000, "damaged"),
    "no objects": (lambda: b"%PDF-1.7\ntrailer <</Root 1 0 R>>\nstartxref\n9\n%%EOF", "damaged"),
    "an archive": (lambda: b"PK\x03\x04", "not a PDF"),
    "nothing": (lambda: b"", "not a PDF"),
    "a head": (lambda: b"%PDF-1.7", "damaged"),
    "lists in lists": (lambda: b"%PDF-1.7\n" + b"[" * 200_000, "damaged"),
    "dictionaries in dictionaries": (lambda: b"%PDF-1.7\n" + b"<<" * 100_000 + b"\nstartxref\n9\n%%EOF", "damaged"),
    "a bomb": (lambda: raw(bomb(), filters=FLATE), "too much time or memory"),
    "a bomb in a bomb": (
        lambda: raw(zlib.compress(bomb(), 9), filters="/Filter [/FlateDecode /FlateDecode]"),
        "too much",
    ),
    "a tree of pages in itself": (lambda: raw(kids="2 0 R 3 0 R"), "damaged"),
    "a billion pages that are not there": (lambda: raw(count=10**9), ""),
    "a table that refers to itself": (lambda: raw(trailer="/Prev 9"), ""),
    "a form in itself": (
        lambda: raw(WORDS + b" /X Do", resources="/XObject <</X 6 0 R>>", last="<</Subtype /Form /Resources 6 0 R>>"),
        "",
    ),
    "a script": (lambda: raw(catalog="/OpenAction <</S /JavaScript /JS (app.alert(1))>>"), ""),
    "a program": (lambda: raw(catalog="/OpenAction <</S /Launch /F (cmd.exe)>>"), ""),
    "a file from elsewhere": (lambda: raw(page="/AA <</O <</S /GoToR /F (\\\\evil.example\\x)>>>>"), ""),
    "operators without an end": (lambda: raw(b"q " * 500_000 + b"[" * 100_000), "."),
    "half a file": (lambda: raw()[:200], "damaged"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_is_refused_in_one_sentence_or_is_harmless(case: str) -> None:
    make, words = HOSTILE[case]
    refused = refusal("a.pdf", make(), Limits())
    if words:
        assert refused is not None
        assert re.search(words, refused.message)
    else:
        assert through("a.pdf", make()).strip() == b"WORDS"


def test_files_without_readable_text_are_refused_by_name() -> None:
    with pytest.raises(UnsafeDocument, match="encrypted"):
        through("a.pdf", pdf_with_text(["Words"], password="secret"))
    with pytest.raises(UnsupportedDocument, match="Page 1 of the PDF is a picture"):
        through("a.pdf", pdf_with_text([], picture=True))
    with pytest.raises(UnsupportedDocument, match="no text"):
        through("a.pdf", pdf_with_text([]))
