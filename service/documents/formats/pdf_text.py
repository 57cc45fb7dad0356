"""The program that reads the text of a PDF, in a process of its own: what hostile files cost ends with it.

It reads the file from standard input and writes JSON: `pages`, or `error` with the number of a page.
"""

import io
import json
import logging
import resource
import sys
from typing import Any

from pypdf import PdfReader, overwrite_configuration
from pypdf.errors import LimitReachedError

CPU_SECONDS = 60
MEMORY_BYTES = 1 << 30
UNPACKED_BYTES = 20_000_000  # of one stream; pypdf has it in memory several times
MOST_PAGES = 1000
MOST_CHARACTERS = 5_000_000


def text_of(data: bytes) -> dict[str, Any]:
    """Return the text of each page, or why there is none: encrypted, pages, characters, or scanned."""
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted:
        return {"error": "encrypted"}
    if len(reader.pages) > MOST_PAGES:
        return {"error": "pages", "page": len(reader.pages)}
    pages: list[str] = []
    characters = 0
    for number, page in enumerate(reader.pages, 1):
        pages.append(page.extract_text())
        if not pages[-1].strip() and _has_picture(page):
            return {"error": "scanned", "page": number}
        characters += len(pages[-1])
        if characters > MOST_CHARACTERS:
            return {"error": "characters"}
    return {"pages": pages}


def _has_picture(page: Any) -> bool:
    resources = page.get("/Resources")
    objects = resources.get_object().get("/XObject") if resources else None
    found = objects.get_object().values() if objects else ()
    return any(each.get_object().get("/Subtype") in ("/Image", "/Form") for each in found)


def main() -> None:
    """Answer within the limits of time and memory; a file that cannot be read is an error, whatever it raises."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    logging.disable()  # warnings of the library quote the file
    overwrite_configuration(
        zlib_maximum_output_length=UNPACKED_BYTES,
        lzw_maximum_output_length=UNPACKED_BYTES,
        run_length_maximum_output_length=UNPACKED_BYTES,
        array_based_stream_maximum_output_length=UNPACKED_BYTES,
    )
    try:
        answer = text_of(sys.stdin.buffer.read())
    except (MemoryError, LimitReachedError):
        answer = {"error": "limits"}
    except Exception:
        answer = {"error": "broken"}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
