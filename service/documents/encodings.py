"""Bytes to text and back: UTF-8, UTF-16, the encoding that a document names, or else Windows-1252."""

import codecs
from dataclasses import dataclass

from service.documents.errors import BrokenDocument, DocumentEncoding

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What documents name in practice. Other codecs of Python are no encodings of text, or are dangerous to decode.
ACCEPTED = frozenset(
    {
        *("ascii", "utf-8", "utf-16", "utf-16-le", "utf-16-be", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254"),
        *("cp1256", "koi8-r", "shift_jis", "euc_jp", "euc_kr", "gb2312", "gbk", "gb18030", "big5", "mac-roman"),
        *(f"iso8859-{part}" for part in range(1, 17)),
    }
)
SAMPLE = 4096  # bytes that tell UTF-16 from UTF-8
LEAST_UTF_16 = 16
CONTROLS = tuple(bytes([code]) for code in range(32) if code not in b"\t\n\f\r\x1a")  # in no text


@dataclass(frozen=True, slots=True)
class Encoding:
    """The encoding of a document."""

    codec: str = "utf-8"
    mark: bytes = b""

    def encode(self, text: str, errors: str = "strict") -> bytes:
        """Return text as bytes, with the byte order mark; characters that the codec lacks are handled by `errors`."""
        return self.mark + text.encode(self.codec, errors)


def decode(data: bytes, named: str | None = None) -> tuple[str, Encoding]:
    """Return the text of a document and its encoding; a byte order mark wins over the encoding that it names.

    Raise DocumentEncoding for bytes that are not in that encoding, and BrokenDocument for binary data.
    """
    encoding = Encoding(_accepted(named) if named else _without_mark(data))
    for mark, codec in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            encoding = Encoding(codec, mark)
            break
    try:
        text = data[len(encoding.mark) :].decode(encoding.codec)
    except UnicodeDecodeError as error:
        if not named and not encoding.mark and (old := _windows_text(data)) is not None:
            return old, Encoding()  # its translation is in UTF-8, which has every character
        raise DocumentEncoding(
            f"The document is not valid {encoding.codec.upper()}: see byte {error.start + len(encoding.mark)}. "
            "Save it as UTF-8."
        ) from None
    if "\0" in text:
        raise BrokenDocument("The document is not text: it has zero bytes.")
    return text, encoding


def name_of_encoding(data: bytes) -> str | None:
    """Return what a text that is no UTF-8 is read as, for people; None for UTF-8 and for what is no text."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or _without_mark(data) != "utf-8":
        return "UTF-16"
    try:
        data.decode()
    except UnicodeDecodeError:
        return None if _windows_text(data) is None else "Windows-1252"
    return None


def _without_mark(data: bytes) -> str:
    """Return UTF-16 for a text without a mark where nearly every second byte is zero, else UTF-8."""
    start = data[:SAMPLE]
    for codec, high in (("utf-16-le", start[1::2]), ("utf-16-be", start[::2])):
        if len(start) >= LEAST_UTF_16 and high.count(0) > 0.8 * len(high) and start.count(0) < 0.6 * len(start):
            return codec
    return "utf-8"


def _windows_text(data: bytes) -> str | None:
    """Return a text in Windows-1252, as old subtitles and tables are; None for damaged UTF-8 and for no text."""
    if any(map(data.__contains__, CONTROLS)):
        return None
    as_utf_8 = data.decode(errors="replace")
    broken = as_utf_8.count("\ufffd")
    if sum(1 for character in as_utf_8 if character > "\x7f") >= 2 * broken:
        return None
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return None


def _accepted(named: str) -> str:
    try:
        codec = codecs.lookup(named.strip()).name
    except (LookupError, ValueError):
        codec = ""
    if codec not in ACCEPTED:
        raise DocumentEncoding("The document names an encoding that is not accepted; save it as UTF-8.")
    return codec
