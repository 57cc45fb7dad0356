"""Bytes to text and back: UTF-8, UTF-16 with a byte order mark, or the encoding that a document names."""

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
    encoding = Encoding(_accepted(named)) if named else Encoding()
    for mark, codec in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            encoding = Encoding(codec, mark)
            break
    try:
        text = data[len(encoding.mark) :].decode(encoding.codec)
    except UnicodeDecodeError as error:
        raise DocumentEncoding(
            f"The document is not valid {encoding.codec.upper()}: see byte {error.start + len(encoding.mark)}. "
            "Save it as UTF-8."
        ) from None
    if "\0" in text:
        raise BrokenDocument("The document is not text: it has zero bytes.")
    return text, encoding


def _accepted(named: str) -> str:
    try:
        codec = codecs.lookup(named.strip()).name
    except (LookupError, ValueError):
        codec = ""
    if codec not in ACCEPTED:
        raise DocumentEncoding("The document names an encoding that is not accepted; save it as UTF-8.")
    return codec
