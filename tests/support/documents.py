"""Helpers for tests of documents: formats without a server, and a visible translation."""

import io
import re
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from service.documents.errors import DocumentError
from service.documents.format import MIB, Limits, ReadOptions, check_segments, format_of

TAG = re.compile(r"(<[^>]*>|&\w+;)")
ODF = "urn:oasis:names:tc:opendocument:xmlns"
ODT_TEXT = (
    f'<office:document-content xmlns:office="{ODF}:office:1.0" xmlns:text="{ODF}:text:1.0" '
    'xmlns:xlink="http://www.w3.org/1999/xlink"><office:body>%s</office:body></office:document-content>'
)
FONT = {"Type": "Font", "Subtype": "Type1", "BaseFont": "Helvetica"}
SMALL = Limits(file_bytes=MIB, unpacked_bytes=8 * MIB, characters=10_000, segments=500, entries=200)
KEPT = re.compile(r'(<b \d+ translate="no">.*?</b>|<code\b.*?</code>)', re.DOTALL)


def packed(files: Mapping[str, str | bytes | None]) -> bytes:
    """Return a zip archive of files, without those that are None."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            if content is not None:
                archive.writestr(name, content)
    return out.getvalue()


def unpacked(data: bytes) -> dict[str, bytes]:
    """Return the files of a zip archive, in their order."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def saved(document: Any) -> bytes:
    """Return the file of a document of python-docx, python-pptx or odfpy."""
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def pdf_with_text(*pages: list[str], password: str = "", picture: bool = False) -> bytes:
    """Return a PDF with lines on its pages."""
    writer = PdfWriter()
    font = DictionaryObject({NameObject(f"/{key}"): NameObject(f"/{value}") for key, value in FONT.items()})
    escaped = str.maketrans({each: f"\\{each}" for each in "()\\"})
    for lines in pages:
        page = writer.add_blank_page(600, 800)
        content = DecodedStreamObject()
        shown = " ".join(f"({line.translate(escaped)}) Tj 0 -14 Td" for line in lines)
        content.set_data(f"BT /F1 12 Tf 50 700 Td {shown} ET".encode("latin-1", "replace"))
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


def same(fragment: str) -> str:
    """Return a fragment as it is."""
    return fragment


def upper(fragment: str) -> str:
    """Return a fragment with its text in capitals, and tags and kept text as they are."""
    parts = KEPT.split(fragment)
    return "".join(
        part if number % 2 else "".join(each if TAG.fullmatch(each) else each.upper() for each in TAG.split(part))
        for number, part in enumerate(parts)
    )


def through(
    name: str,
    data: bytes,
    translate: Callable[[str], str] = upper,
    *,
    target: str = "fr",
    columns: tuple[str, ...] = (),
    limits: Limits | None = None,
    **own: bool,
) -> bytes:
    """Return a document after its way through its format, segment by segment; `translate` takes fragments."""
    options = ReadOptions(target, limits or Limits(), columns, **own)
    document = format_of(name).read(data, options)
    check_segments(document.segments, options.limits)
    return document.write([translate(segment) for segment in document.segments])


def refusal(name: str, data: bytes, limits: Limits = SMALL) -> DocumentError | None:
    """Return why a document is refused, which is said in one sentence; None if it is read and written."""
    refused: DocumentError | None = None
    try:
        through(name, data, limits=limits)
    except DocumentError as error:
        refused = error
    assert refused is None or (refused.message.endswith(".") and len(refused.message) < 200), refused
    return refused


def segments(name: str, data: bytes, columns: tuple[str, ...] = ()) -> list[str]:
    """Return the fragments of a document."""
    return [*format_of(name).read(data, ReadOptions("fr", columns=columns)).segments]
