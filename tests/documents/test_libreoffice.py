"""Files that LibreOffice writes, translated and opened by LibreOffice again: it shows the same words in the same fonts.

The originals are flat files of OpenDocument in `tests/data/documents`, from which LibreOffice makes every other format.
"""

import io
import re
import shutil
import subprocess
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from docx import Document
from odf.opendocument import load
from odf.text import H, P
from openpyxl import load_workbook
from pptx import Presentation
from pypdf import PdfReader

from tests.support.documents import through

SOURCES = Path(__file__).parents[1] / "data" / "documents"
OFFICE = shutil.which("soffice")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        OFFICE is None, reason="LibreOffice is not installed (Debian: libreoffice-writer, -calc, -impress)"
    ),
]
Convert = Callable[..., list[bytes]]
# What the pages of a translation by the fake engine have: words in capitals, and what stays as it is.
SHOWN = {
    "report": "WE HAVE NEVER LOST|SEE OUR PAGE.|PRICE OF THE|A SMALLER ITEM|COUNTRY|AS FAR AS|IN A BOX|print(value)",
    "sheet": "PRODUCT|A GREEN CHAIR|FISH & CHIPS|IN A CELL|15.5|ab",
    "slides": "OUR PLAN|THE FIRST STEP|A POINT IN A LIST|LEFT CELL|42",
}


@pytest.fixture(scope="module")
def convert(tmp_path_factory: pytest.TempPathFactory) -> Convert:
    """Return how LibreOffice converts files of one kind, given as name and content, all with one start of it."""
    profile = tmp_path_factory.mktemp("profile")

    def convert(extension: str, *files: tuple[str, bytes]) -> list[bytes]:
        folder = tmp_path_factory.mktemp("office")
        paths = [folder / f"{number}-{name}" for number, (name, _) in enumerate(files)]
        for path, (_, content) in zip(paths, files, strict=True):
            path.write_bytes(content)
        command = [str(OFFICE), f"-env:UserInstallation={profile.as_uri()}", "--headless", "--convert-to", extension]
        done = subprocess.run(
            [*command, "--outdir", folder / "new", *paths], check=True, capture_output=True, text=True, timeout=600
        )
        assert "Error" not in done.stdout + done.stderr
        return [(folder / "new" / path.with_suffix(f".{extension}").name).read_bytes() for path in paths]

    return convert


def outline(name: str, data: bytes) -> list[tuple[Any, ...]]:
    """Return what another library reads in a file: places, styles and texts in capitals."""
    file: Any = io.BytesIO(data)
    match name.partition(".")[2]:
        case "docx":
            return [(each.style and each.style.name, each.text.upper()) for each in Document(file).paragraphs]
        case "xlsx":
            cells = [cell for row in load_workbook(file).active for cell in row]
            return [(cell.coordinate, cell.style_id, str(cell.value).upper()) for cell in cells]
        case "pptx":
            shapes = [shape for slide in Presentation(file).slides for shape in slide.shapes]
            return [(shape.shape_type, shape.name, shape.has_text_frame and shape.text.upper()) for shape in shapes]
        case "html":
            return [(each,) for each in re.findall(rb"<[a-z]+", data)]
        case _:
            texts = [each for kind in (H, P) for each in load(file).getElementsByType(kind)]
            return [(each.getAttribute("stylename"), str(each).upper()) for each in texts]


def original(convert: Convert, name: str) -> bytes:
    kind, extension = name.split(".")
    [source] = SOURCES.glob(f"{kind}.*")
    return convert(extension, (source.name, source.read_bytes()))[0]


def shown(data: bytes) -> list[tuple[str, str]]:
    """Return what the pages of a PDF show: font, size, and the text in it without its spaces."""
    parts: list[tuple[str, str]] = []

    def add(text: str, _cm: Any, _tm: Any, font: Any, size: float) -> None:
        if word := "".join(text.split()):
            parts.append((f"{str(font['/BaseFont']).partition('+')[2]} {size:.1f}", word))

    for page in PdfReader(io.BytesIO(data)).pages:
        page.extract_text(visitor_text=add)
    return [(font, "".join(word for _, word in words)) for font, words in groupby(parts, lambda part: part[0])]


@pytest.mark.parametrize(
    "name",
    [*(f"report.{end}" for end in ("docx", "odt", "html")), "sheet.xlsx", "sheet.ods", "slides.pptx", "slides.odp"],
)
def test_libreoffice_shows_a_translation_as_it_shows_the_original(name: str, convert: Convert) -> None:
    data = original(convert, name)
    written = through(name, data)
    assert outline(name, written) == outline(name, data) != []
    old, new = map(shown, convert("pdf", (name, data), (name, written)))
    assert len(old) > 1
    assert [(font, text.upper()) for font, text in new] == [(font, text.upper()) for font, text in old]
    text = "".join(word for _, word in new)
    for words in SHOWN[name.partition(".")[0]].split("|"):
        assert words.replace(" ", "") in text


def test_the_text_of_a_pdf_by_libreoffice_is_translated(convert: Convert) -> None:
    written = through("a.pdf", original(convert, "report.pdf")).decode()
    for line in ("WE HAVE NEVER LOST A SINGLE CUSTOMER1, SEE OUR PAGE.", "• A SMALLER ITEM", "WORDS IN A BOX"):
        assert line in written.splitlines()
