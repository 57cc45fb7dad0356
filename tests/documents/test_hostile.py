"""Hostile and broken files: each gets one clear error, quickly, and nothing of it is executed, fetched or unpacked."""

import io
import random
import re
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from docx import Document
from openpyxl import Workbook

from service.documents.errors import (
    BrokenDocument,
    DocumentEncoding,
    DocumentError,
    DocumentTooLarge,
    UnsafeDocument,
    UnsupportedDocument,
)
from service.documents.format import MIB
from tests.support.documents import ODT_TEXT, packed, refusal, saved, through, unpacked
from tests.support.growth import processor_seconds

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
SECONDS = 20.0  # of a processor
Files = dict[str, bytes | None]


def docx_files() -> dict[str, bytes]:
    document = Document()
    document.add_paragraph("Some words.")
    return unpacked(saved(document))


DOCX = docx_files()


def body(text: str, prolog: str = "") -> Files:
    return {"word/document.xml": f"{prolog}<w:document {W}><w:body>{text}</w:body></w:document>".encode()}


def relation(kind: str, target: str, of: str = "document") -> Files:
    schema = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    text = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{schema}/{kind}" Target="{target}" TargetMode="External"/></Relationships>'
    )
    return {f"word/_rels/{of}.xml.rels": text.encode()}


def encrypted(data: bytes) -> bytes:
    """Return a zip file whose entries claim to be encrypted."""
    raw = bytearray(data)
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        for found in re.finditer(header, data):
            raw[found.start() + flags] |= 1
    return bytes(raw)


def lying_sizes(data: bytes) -> bytes:
    """Return a zip file whose directory says that every file is one byte long."""
    raw = bytearray(data)
    for found in re.finditer(b"PK\x01\x02", data):
        raw[found.start() + 24 : found.start() + 28] = struct.pack("<I", 1)
    return bytes(raw)


def with_entry(entry: zipfile.ZipInfo | str, content: str) -> bytes:
    out = io.BytesIO(packed(DOCX))
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr(entry, content)
    return out.getvalue()


def link() -> bytes:
    info = zipfile.ZipInfo("word/media/x.png")
    info.create_system = 3
    info.external_attr = 0o120777 << 16
    return with_entry(info, "/etc/passwd")


def crowded(name: str, count: int = 400_000) -> bytes:
    """Return a document of so many small elements, spelled in several ways: otherwise it looks like a zip bomb."""
    tags = ("<{0}:p/>", "<{0}:p />", "<{0}:p></{0}:p>", "<{0}:p  />", "<{0}:p\n/>")
    chosen = random.Random(1).choices([tag.format("text" if name == "a.odt" else "w") for tag in tags], k=count)
    if name == "a.odt":
        return packed({**ODT, "content.xml": (ODT_TEXT % "".join(chosen)).encode()})
    if name == "a.docx":
        return packed({**DOCX, **body("".join(chosen))})
    strings = "".join(chosen).replace("w:p", "x:si").encode()
    namespace = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    with zipfile.ZipFile(io.BytesIO(workbook_bytes())) as archive:
        files: Files = {each: archive.read(each) for each in archive.namelist()}
    return packed({**files, "xl/sharedStrings.xml": b'<x:sst xmlns:x="' + namespace + b'">' + strings + b"</x:sst>"})


def workbook_bytes() -> bytes:
    book = Workbook()
    book.active.append(["Some words"])
    return saved(book)


LAUGHS = '<!DOCTYPE w [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
OUTSIDE = '<!DOCTYPE w [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
ODT: Files = {"mimetype": b"application/vnd.oasis.opendocument.text"}
EPUB: Files = {
    "mimetype": b"application/epub+zip",
    "META-INF/container.xml": b'<container xmlns="c"><rootfile full-path="a.opf"/></container>',
    "a.opf": b'<package xmlns="p"><item href="a.xhtml" media-type="application/xhtml+xml"/></package>',
    "a.xhtml": b"<html><p>Words.</p></html>",
}
DRM = b'<encryption xmlns="e"><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/></encryption>'
DEEP = "<w:p>" + "<w:smartTag>" * 5000 + "<w:r><w:t>x</w:t></w:r>" + "</w:smartTag>" * 5000 + "</w:p>"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000)
TYPES = "[Content_Types].xml"
MACROS: Files = {TYPES: DOCX[TYPES].replace(b"document.main+xml", b"document.macroEnabled.main+xml")}
LAUGHING_UTF_16 = ("\ufeff" + LAUGHS + "<x/>").encode("utf-16-le")
LAUGHING_PAGE = b'<!DOCTYPE html [<!ENTITY x "y">]><html><p>&x;</p></html>'
SECTION = ODT_TEXT % '<text:section-source xlink:href="http://evil.example/"/>'
ENCRYPTED_ODT: Files = {"content.xml": b"x", "META-INF/manifest.xml": b"<m:encryption-data/>"}
MANY: Files = {f"word/media/{number}": b"" for number in range(300)}
BOMBS: Files = {f"word/media/{number}.bin": bytes(3 * MIB) for number in range(5)}

# The content of a file, or what is changed in the files of an archive of its kind; None: such a file is not there.
HOSTILE: dict[str, tuple[str, bytes | Files | Callable[[], bytes], type[Exception], str]] = {
    "zip bomb": ("a.docx", {"word/media/a.bin": bytes(7 * MIB)}, UnsafeDocument, "bomb"),
    "many zip bombs": ("a.docx", BOMBS, DocumentTooLarge, "unpacked"),
    "zip bomb that lies about its size": (
        "a.docx",
        lambda: lying_sizes(packed({**DOCX, "word/media/a.bin": bytes(6 * MIB)})),
        DocumentError,
        "damaged|bomb",
    ),
    "too many files": ("a.docx", MANY, UnsafeDocument, "files packed"),
    "path that climbs": ("a.docx", {"../../etc/cron.d/x": b"x"}, UnsafeDocument, "leads out"),
    "absolute path": ("a.docx", {"/etc/x": b"x"}, UnsafeDocument, "leads out"),
    "path of Windows": ("a.docx", {"..\\..\\x": b"x"}, UnsafeDocument, "leads out"),
    "drive of Windows": ("a.odt", {"C:/x": b"x"}, UnsafeDocument, "leads out"),
    "link": ("a.docx", link, UnsafeDocument, "link"),
    "two files of one name": ("a.docx", lambda: with_entry("WORD/document.xml", "<x/>"), UnsafeDocument, "one name"),
    "password in the zip": ("a.docx", lambda: encrypted(packed(DOCX)), UnsafeDocument, "encrypted"),
    "old binary format": ("a.docx", OLE, UnsafeDocument, "old binary"),
    "macros by type": ("a.docx", MACROS, UnsafeDocument, "macros"),
    "macros by file": ("a.docx", {"word/vbaProject.bin": b"x"}, UnsafeDocument, "macros"),
    "macros by name": ("a.docm", b"PK", UnsupportedDocument, "macros"),
    "controls": ("a.docx", {"word/activeX/activeX1.xml": b"<x/>"}, UnsafeDocument, "controls"),
    "signed": ("a.docx", {"_xmlsignatures/sig1.xml": b"<x/>"}, UnsafeDocument, "signed"),
    "template from elsewhere": (
        "a.docx",
        relation("attachedTemplate", "http://evil.example/t.dotm", "settings"),
        UnsafeDocument,
        "template",
    ),
    "object from elsewhere": ("a.docx", relation("oleObject", "file://server/x"), UnsafeDocument, "elsewhere"),
    "entities": ("a.docx", body("<w:p><w:r><w:t>&b;</w:t></w:r></w:p>", LAUGHS), UnsafeDocument, "entities"),
    "external entity": ("a.docx", body("<w:p/>", OUTSIDE), UnsafeDocument, "entities"),
    "entities in UTF-16": ("a.docx", {"word/document.xml": LAUGHING_UTF_16}, UnsafeDocument, "entities"),
    "elements in elements": ("a.docx", body(DEEP), DocumentError, "deep|well-formed"),
    "more elements than memory": ("a.docx", lambda: crowded("a.docx"), DocumentTooLarge, "too many elements"),
    "XML that breaks off": ("a.docx", {"word/document.xml": b"<w:document"}, BrokenDocument, "XML"),
    "no content types": ("a.docx", {TYPES: None}, BrokenDocument, "content types"),
    "no zip": ("a.docx", b"PK\x03\x04 and nothing", BrokenDocument, "damaged"),
    "half a zip": ("a.docx", lambda: packed(DOCX)[:-200], BrokenDocument, "damaged"),
    "a docx that is called pptx": ("a.pptx", {}, BrokenDocument, "kind"),
    "a docx that is called odt": ("a.odt", lambda: packed(DOCX), BrokenDocument, "OpenDocument"),
    "macros in odt": ("a.odt", {"content.xml": b"<x/>", "Basic/x.xml": b"<x/>"}, UnsafeDocument, "macros"),
    "scripts in odt": ("a.odt", {"content.xml": (ODT_TEXT % "<office:script/>").encode()}, UnsafeDocument, "scripts"),
    "section from elsewhere in odt": ("a.odt", {"content.xml": SECTION.encode()}, UnsafeDocument, "elsewhere"),
    "encrypted odt": ("a.odt", ENCRYPTED_ODT, UnsafeDocument, "encrypted"),
    "entities in odt": ("a.odt", {"content.xml": (LAUGHS + "<x/>").encode()}, UnsafeDocument, "entities"),
    "protected book": ("a.epub", {"META-INF/encryption.xml": DRM}, UnsafeDocument, "protected"),
    "book without pages": ("a.epub", {"META-INF/container.xml": b"<c/>"}, BrokenDocument, "its pages"),
    "entities in a book": ("a.epub", {"a.xhtml": LAUGHING_PAGE}, UnsafeDocument, "entities"),
    "entities in xliff": ("a.xlf", (LAUGHS + "<xliff/>").encode(), UnsafeDocument, "document type"),
    "external document type in xliff": (
        "a.xlf",
        b'<!DOCTYPE xliff SYSTEM "http://evil.example/x.dtd"><xliff/>',
        UnsafeDocument,
        "document type",
    ),
    "no xliff": ("a.xlf", b"<html/>", BrokenDocument, "not XLIFF"),
    "broken catalogue": ("a.po", b'msgid "a"\nmsgstr "b" c\n', BrokenDocument, "syntax error"),
    "path in place of a catalogue": ("a.po", b"/etc/passwd", BrokenDocument, "no msgid"),
    "entities in a page": ("a.html", LAUGHING_PAGE, UnsafeDocument, "entities"),
    "codec that is none": ("a.html", b'<meta charset="zlib_codec"><p>x', DocumentEncoding, "not accepted"),
    "page without a tag": ("a.html", b"no page", BrokenDocument, "no tag"),
    "binary text": ("a.txt", bytes(range(256)), DocumentEncoding, "UTF-8"),
    "executable that is called txt": ("a.txt", b"MZ\0\0", BrokenDocument, "zero bytes"),
    "half a character of UTF-16": ("a.txt", b"\xff\xfea", DocumentEncoding, "UTF-16"),
    "damaged UTF-8": ("a.txt", "Été à l’orée".encode().replace(b"\xa0", b""), DocumentEncoding, "UTF-8"),
    "too many segments": ("a.txt", b"word\n" * 600, DocumentTooLarge, "paragraphs"),
    "too much text": ("a.txt", b"word " * 3000, DocumentTooLarge, "characters"),
}


def content_of(name: str, given: bytes | Files | Callable[[], bytes]) -> bytes:
    if not isinstance(given, dict):
        return given if isinstance(given, bytes) else given()
    return packed({**{"odt": ODT, "epub": EPUB}.get(name.rpartition(".")[2], DOCX), **given})


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_refused_with_one_clear_sentence(kind: str) -> None:
    name, given, error, words = HOSTILE[kind]
    data, refused = content_of(name, given), []
    assert processor_seconds(lambda: refused.append(refusal(name, data)), SECONDS) < SECONDS
    assert isinstance(refused[0], error)
    assert re.search(words, refused[0].message)
    assert refused[0].code


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.md", b"[" * 20_000),
        ("a.md", b"*a " * 3_000),
        ("a.md", b"> " * 2_000 + b"x"),
        ("a.html", b"<b>" * 20_000 + b"x"),
        ("a.html", b"<" * 50_000),
        ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\n" + b"<i>" * 3_000 + b"x\n"),
        ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\n" + b"<i>" * 900 + b"x" + b"</i>" * 900 + b"\n"),
        ("a.csv", b"," * 50_000),
        ("a.po", b'msgid "' + b"%" * 5_000 + b'a"\nmsgstr ""\n'),
        ("a.po", b'msgid "' + b"{" * 5_000 + b'a"\nmsgstr ""\n'),
        ("a.txt", b"a" * 9_000),
    ],
)
def test_text_that_is_made_to_be_slow_is_not(name: str, data: bytes) -> None:
    assert processor_seconds(lambda: refusal(name, data), SECONDS) < SECONDS


def test_a_link_to_a_page_elsewhere_is_no_attack() -> None:
    assert through("a.docx", content_of("a.docx", relation("hyperlink", "https://example.org")))


MEASURE = """
import sys
from pathlib import Path
import service.documents.formats.odt, service.documents.formats.xlsx
from service.documents.errors import DocumentError
from service.documents.format import ReadOptions, format_of

def kib(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1])

data = Path(sys.argv[1]).read_bytes()
idle = kib("VmRSS")
try:
    format_of(sys.argv[1]).read(data, ReadOptions("fr"))
except DocumentError:
    pass
print((kib("VmHWM") - idle) // 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.docx", "a.odt", "a.xlsx"])
def test_a_crowded_document_stays_below_a_hundred_megabytes(name: str, tmp_path: Path) -> None:
    for count in (250_000, 350_000, 2_000_000):  # two that are read, if barely, and one that is refused
        path = tmp_path / name
        path.write_bytes(crowded(name, count))
        program = [sys.executable, "-c", MEASURE, str(path)]
        used = int(subprocess.run(program, check=True, capture_output=True, text=True, timeout=300).stdout)
        assert used < 100, (count, used)
