"""PDF: the text of its pages becomes a plain text; the layout is lost, because a PDF has no paragraphs."""

from __future__ import annotations

import io
import logging
import re
from typing import Any

from pypdf import PdfReader, overwrite_configuration
from pypdf.errors import LimitReachedError

from service.documents.encodings import Encoding
from service.documents.errors import (
    BrokenDocument,
    DocumentError,
    DocumentTooLarge,
    UnsafeDocument,
    UnsupportedDocument,
)
from service.documents.format import ReadOptions
from service.documents.formats.text import TextDocument
from service.documents.fragments import ILLEGAL

UNPACKED_BYTES = 20_000_000  # of one stream; pypdf has it in memory several times
MOST_PAGES = 1000
MOST_CHARACTERS = 5_000_000
HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\n(?=[a-zà-ÿ])")
BULLET = re.compile("^[ \t]*[\uf000-\uf0ff][ \t]*", re.MULTILINE)  # in a font of symbols, which has numbers of its own
LIGATURES = str.maketrans({"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl"})
SLOW = "The PDF takes too much time or memory to read; split it into several."
TEXT = "The PDF has no text, but pictures of it; recognise the text (OCR) first."

overwrite_configuration(
    zlib_maximum_output_length=UNPACKED_BYTES,
    lzw_maximum_output_length=UNPACKED_BYTES,
    run_length_maximum_output_length=UNPACKED_BYTES,
    array_based_stream_maximum_output_length=UNPACKED_BYTES,
)
logging.getLogger("pypdf").disabled = True  # its warnings quote the file


def read(data: bytes, options: ReadOptions) -> TextDocument:
    """Return the text of a file; raise DocumentError."""
    if b"%PDF-" not in data[:1024]:
        raise BrokenDocument("The document is not a PDF.")
    try:
        pages = _pages(data)
    except DocumentError:
        raise
    except (MemoryError, LimitReachedError):
        raise DocumentTooLarge(SLOW) from None
    except Exception:  # the library raises anything for a file that is not right
        raise BrokenDocument("The PDF is damaged: its pages cannot be read.") from None
    pages = [ILLEGAL.sub("", page).translate(LIGATURES) for page in pages]
    pages = [BULLET.sub("• ", HYPHEN.sub("", page)).strip() for page in pages]
    text = "\n\n".join(page for page in pages if page)
    if not any(character.isalpha() for character in text):
        raise UnsupportedDocument(TEXT)
    return TextDocument(text.encode("utf-8", "replace").decode() + "\n", Encoding(), options)


def _pages(data: bytes) -> list[str]:
    """Return the text of each page; raise DocumentError, or anything for a damaged file."""
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted:
        raise UnsafeDocument("The PDF is encrypted; save it without a password and without restrictions.")
    count = len(reader.pages)
    if count > MOST_PAGES:
        raise DocumentTooLarge(f"The PDF has {count} pages, which is more than {MOST_PAGES}; split it into several.")
    pages: list[str] = []
    characters = 0
    for number, page in enumerate(reader.pages, 1):
        pages.append(page.extract_text())
        if not pages[-1].strip() and _has_picture(page):
            raise UnsupportedDocument(
                f"Page {number} of the PDF is a picture without text; recognise its text (OCR), or remove the page."
            )
        characters += len(pages[-1])
        if characters > MOST_CHARACTERS:
            raise DocumentTooLarge(SLOW)
    return pages


def _has_picture(page: Any) -> bool:
    resources = page.get("/Resources")
    objects = resources.get_object().get("/XObject") if resources else None
    entries = objects.get_object().values() if objects else ()
    return any(entry.get_object().get("/Subtype") in ("/Image", "/Form") for entry in entries)
