"""Files that LibreOffice writes, translated and opened by LibreOffice again: it shows the same words in the same fonts.

The originals are flat files of OpenDocument in `tests/data/documents`, from which LibreOffice makes every other format.
"""

import io
import shutil
import subprocess
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
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
# What is in capitals after the translation by the fake engine, and what must not be.
KINDS = {
    "report": (
        ["WE HAVE NEVER LOST", "OUR PAGE.", "PRICE OF THE", "A SMALLER ITEM", "COUNTRY", "AS FAR AS", "A BOX"],
        "",
    ),
    "sheet": (["PRODUCT", "A GREEN CHAIR", "FISH & CHIPS", "IN A CELL"], "ab"),
    "slides": (["OUR PLAN", "THE FIRST STEP", "A POINT IN A LIST", "LEFT CELL"], ""),
}
CODE = {"report.docx": "print(value)", "report.odt": "print(value)", "report.html": "print(value)"}


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
    old, new = map(shown, convert("pdf", (name, data), (name, through(name, data))))
    assert len(old) > 1
    assert [(font, text.upper()) for font, text in new] == [(font, text.upper()) for font, text in old]
    text = "".join(word for _, word in new)
    for words in KINDS[name.split(".")[0]][0]:
        assert words.replace(" ", "") in text
    assert CODE.get(name, "") in text
    assert KINDS[name.split(".")[0]][1] in text


def test_the_text_of_a_pdf_by_libreoffice_is_translated(convert: Convert) -> None:
    written = through("a.pdf", original(convert, "report.pdf")).decode()
    for line in ("WE HAVE NEVER LOST A SINGLE CUSTOMER1, SEE OUR PAGE.", "• A SMALLER ITEM", "WORDS IN A BOX"):
        assert line in written.splitlines()
