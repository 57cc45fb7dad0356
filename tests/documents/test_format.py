"""The formats by name, and what a server without their libraries does."""

import subprocess
import sys

import pytest

from service.documents.errors import DocumentTooLarge, UnsupportedDocument
from service.documents.format import (
    FORMATS,
    ReadOptions,
    extension_of,
    format_named,
    format_of,
    known_extensions,
    supported_extensions,
)
from tests.support.paths import ROOT


def test_every_extension_belongs_to_one_format() -> None:
    extensions = [extension for each in FORMATS for extension in each.extensions]
    assert len(extensions) == len(set(extensions))
    assert set(extensions) == set(supported_extensions())
    for extension in extensions:
        assert extension in format_of(f"Name.With.Dots{extension.upper()}").extensions


@pytest.mark.parametrize("name", ["", "docx", "a.", ".docx", "../../x.exe", "a.docm", "a.doc", "a.txt\x00.exe"])
def test_other_files_are_refused_with_what_is_accepted(name: str) -> None:
    with pytest.raises(UnsupportedDocument, match="not supported"):
        format_of(name)


def test_paths_of_both_kinds_have_extensions() -> None:
    assert extension_of("C:\\folder.x\\file.DOCX") == extension_of("/folder.x/file.docx") == ".docx"
    assert {".docm", ".rtf", ".docx"} <= known_extensions()


def test_a_server_starts_without_the_libraries_of_formats() -> None:
    program = (
        "import sys\n"
        "missing = ('lxml', 'polib', 'markdown_it', 'pypdf', 'yaml')\n"
        "sys.modules.update(dict.fromkeys(missing))\n"  # None: they cannot be imported
        "import service.api.app, service.cli.main, service.server.main\n"
        "from service.documents.format import ReadOptions, format_of\n"
        "print(format_of('a.txt').read(b'Go.', ReadOptions('fr')).segments)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "['Go.']"), done.stderr


@pytest.mark.parametrize(("bold_words", "is_read"), [(8_000, True), (10_001, False)])
def test_a_paragraph_has_a_limit_of_tags(bold_words: int, is_read: bool) -> None:
    page = f"<p>{'<b>a</b> ' * bold_words}</p>".encode()
    if is_read:
        assert len(format_named("html").read(page, ReadOptions("fr")).segments) == 1
    else:
        with pytest.raises(DocumentTooLarge, match="more than 20000 tags in one paragraph"):
            format_named("html").read(page, ReadOptions("fr"))
