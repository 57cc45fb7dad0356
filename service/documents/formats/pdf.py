"""PDF: the text of its pages becomes a plain text; the layout is lost, because a PDF has no paragraphs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

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

PROGRAM = Path(__file__).with_name("pdf_text.py")
WAIT_SECONDS = 180
HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\n(?=[a-zà-ÿ])")
BULLET = re.compile("^[ \t]*[\uf000-\uf0ff][ \t]*", re.MULTILINE)  # in a font of symbols, which has numbers of its own
LIGATURES = str.maketrans({"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl"})
SLOW = "The PDF takes too much time or memory to read; split it into several."
TEXT = "The PDF has no text, but pictures of it; recognise the text (OCR) first."


def read(data: bytes, _options: ReadOptions) -> TextDocument:
    """Return the text of a file; raise DocumentError."""
    if b"%PDF-" not in data[:1024]:
        raise BrokenDocument("The document is not a PDF.")
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(PROGRAM)], input=data, capture_output=True, timeout=WAIT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise DocumentTooLarge(SLOW) from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise DocumentTooLarge(SLOW) from None
    if "error" in answer:
        raise _error(answer["error"], answer.get("page", 0))
    pages = [ILLEGAL.sub("", page).translate(LIGATURES) for page in answer["pages"]]
    pages = [BULLET.sub("• ", HYPHEN.sub("", page)).strip() for page in pages]
    text = "\n\n".join(page for page in pages if page)
    if not any(character.isalpha() for character in text):
        raise UnsupportedDocument(TEXT)
    return TextDocument(text.encode("utf-8", "replace").decode() + "\n", Encoding())


def _error(kind: str, page: int) -> DocumentError:
    match kind:
        case "encrypted":
            return UnsafeDocument("The PDF is encrypted; save it without a password and without restrictions.")
        case "scanned":
            return UnsupportedDocument(
                f"Page {page} of the PDF is a picture without text; recognise its text (OCR), or remove the page."
            )
        case "pages":
            return DocumentTooLarge(f"The PDF has {page} pages, which is more than 1000; split it into several.")
        case "broken":
            return BrokenDocument("The PDF is damaged: its pages cannot be read.")
        case _:
            return DocumentTooLarge(SLOW)
