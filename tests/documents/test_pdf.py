"""PDF: its text arrives as a plain text; what has no text is refused. The files are written by hand or with pypdf."""

import io

import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from service.documents.errors import BrokenDocument, DocumentError, UnsafeDocument, UnsupportedDocument
from service.documents.format import translated_name
from service.documents.formats import pdf
from tests.support.documents import through

WRAPPED = ["The first line of a paragraph is so long that it goes", "on in the next line with a hyphen-", "ated word."]


def with_text(*pages: list[str], password: str = "", picture: bool = False) -> bytes:
    """Return a PDF with lines on its pages."""
    writer = PdfWriter()
    font = DictionaryObject({NameObject(f"/{key}"): NameObject(f"/{value}") for key, value in FONT.items()})
    for lines in pages:
        page = writer.add_blank_page(600, 800)
        content = DecodedStreamObject()
        shown = " ".join(f"({line}) Tj 0 -14 Td" for line in lines)
        content.set_data(f"BT /F1 12 Tf 50 700 Td {shown} ET".encode())
        page[NameObject("/Contents")] = writer._add_object(content)
        resources = {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        if picture:
            image = DecodedStreamObject()
            image[NameObject("/Subtype")] = NameObject("/Image")
            objects = DictionaryObject({NameObject("/I"): writer._add_object(image)})
            resources[NameObject("/XObject")] = objects
        page[NameObject("/Resources")] = DictionaryObject(resources)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


FONT = {"Type": "Font", "Subtype": "Type1", "BaseFont": "Helvetica"}


def test_the_text_of_the_pages_is_translated() -> None:
    written = through("a.pdf", with_text(["Heading", *WRAPPED], [], ["Second page."])).decode()
    assert " ".join(written.split()) == " ".join(["Heading", *WRAPPED, "Second page."]).upper().replace(
        "HYPHEN- ", "HYPHEN"
    )
    assert "\n\nSECOND PAGE." in written
    assert translated_name("report.pdf", "fr") == "report.fr.txt"


HOSTILE: tuple[tuple[bytes, type[DocumentError], str], ...] = (
    (b"%PDF-1.7\n" + b"1 0 obj\n" * 9_000, BrokenDocument, "damaged"),
    (b"%PDF-1.7\ntrailer <</Root 1 0 R>>\nstartxref\n9\n%%EOF", BrokenDocument, "damaged"),
    (b"PK\x03\x04", BrokenDocument, "not a PDF"),
    (b"", BrokenDocument, "not a PDF"),
    (b"%PDF-1.7", BrokenDocument, "damaged"),
    (b"%PDF-1.7\n" + b"[" * 200_000, BrokenDocument, "damaged"),
    (b"%PDF-1.7\n" + b"<<" * 100_000 + b"\nstartxref\n9\n%%EOF", BrokenDocument, "damaged"),
)


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_hostile_file_is_refused_in_one_sentence(number: int) -> None:
    data, error, words = HOSTILE[number]
    with pytest.raises(error, match=words) as raised:
        through("a.pdf", data)
    assert raised.value.message.endswith(".")


def test_files_without_readable_text_are_refused_by_name() -> None:
    with pytest.raises(UnsafeDocument, match="encrypted"):
        through("a.pdf", with_text(["Words"], password="secret"))
    with pytest.raises(UnsupportedDocument, match="Page 1 of the PDF is a picture"):
        through("a.pdf", with_text([], picture=True))
    with pytest.raises(UnsupportedDocument, match="no text"):
        through("a.pdf", with_text([]))
    half = with_text(["Words"])
    with pytest.raises(DocumentError):
        through("a.pdf", half[: len(half) // 3])


def test_a_file_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "WAIT_SECONDS", 0)
    with pytest.raises(DocumentError, match="too much time"):
        through("a.pdf", with_text(["Words"]))
