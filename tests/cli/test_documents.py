"""`translucent translate FILE`: where the translation goes, and what is refused before a model is loaded."""

import re
from pathlib import Path

import pytest

from service.cli.documents import DocumentOptions, are_documents, output_of, run
from service.cli.find_model import ModelQuery
from service.cli.open_models import BulkOptions
from service.documents.errors import UnsupportedDocument
from service.documents.format import Limits
from service.engine import InvalidInput, InvalidOption
from tests.support.paths import MODELS


def translate(*names: object, **values: object) -> None:
    options = BulkOptions(ModelQuery("bahdanau-en-fr"), MODELS, tuple(map(str, names)), **values)  # type: ignore[arg-type]
    run(options, DocumentOptions(Limits()))


def test_files_are_documents_and_anything_else_is_text(tmp_path: Path) -> None:
    file, picture = tmp_path / "a.txt", tmp_path / "a.png"
    for each in (file, picture):
        each.write_text("Go.\n")
    assert are_documents([str(file)])
    texts = ["e.g.", "and/or", "3.30", "U.S.", "Open my report.docx.", "He/she left.", "bob@example.com", "..."]
    assert not are_documents(texts)
    assert not are_documents([])
    assert not are_documents(["It is a long text. " * 20, "and/or " * 50, ""])
    with pytest.raises(InvalidOption, match="not both"):
        are_documents([str(file), "I lost."])
    with pytest.raises(UnsupportedDocument):
        are_documents([str(picture)])


@pytest.mark.parametrize(
    "name", ["report.docx", "a.tar.gz", "a.xyz", "./a", "../a.docx", "~/a.txt", "tests/a", "./a b.docx"]
)
def test_no_spelling_of_a_missing_file_is_translated(name: str) -> None:
    with pytest.raises(InvalidOption, match="There is no file"):
        are_documents([name])


def test_a_translation_lies_beside_its_document_and_overwrites_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.b.txt"
    assert output_of(file, None, "fr") == tmp_path / "a.b.fr.txt"
    assert output_of(file, tmp_path, "fr") == tmp_path / "a.b.fr.txt"
    assert output_of(file, tmp_path / "x.txt", "fr") == tmp_path / "x.txt"
    (tmp_path / "a.b.fr.txt").touch()
    with pytest.raises(InvalidInput, match="exists"):
        output_of(file, None, "fr")
    with pytest.raises(InvalidInput, match="twice"):
        output_of(file, file, "fr")


def test_documents_are_translated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.md").write_text("# I lost.\n\n`lost`\n")
    (tmp_path / "b.txt").write_text("Go.\n")
    translate(tmp_path / "a.md", tmp_path / "b.txt")
    heading, _, code = (tmp_path / "a.fr.md").read_text().splitlines()
    assert (heading.startswith("# "), "lost" in heading, code) == (True, False, "`lost`")
    assert capsys.readouterr().out.split() == [str(tmp_path / "a.fr.md"), str(tmp_path / "b.fr.txt")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder with three documents, one of them broken, one that is hidden, and a picture."""
    for name, content in (
        ("docs/sub/a.md", b"# I lost my keys.\n"),
        ("docs/t.csv", b"name,text\nx,Go.\n"),
        ("docs/bad.txt", b"\xff\x01"),
        ("docs/.git/b.txt", b"Go."),
        ("docs/p.png", b"x"),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "docs"


def test_a_folder_is_translated_beside_it_and_what_fails_does_not_stop_the_rest(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidInput, match="1 of 3 documents were not translated"):
        translate(folder)
    target = folder.with_name("docs.fr")
    assert sorted(str(path.relative_to(target)) for path in target.rglob("*.*")) == ["sub/a.md", "t.csv"]
    assert re.match(r"# (?!I lost)\w", (target / "sub" / "a.md").read_text())
    assert (target / "t.csv").read_text().startswith("name,text\n")
    said = capsys.readouterr().err
    assert "1 files are no documents and are left out (1 .png)" in said
    assert "first row of" in said
    assert "bad.txt: " in said
    with pytest.raises(InvalidInput, match=r"docs\.fr exists"):
        translate(folder)


def test_a_folder_without_documents_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="has no document"):
        translate(tmp_path)
    (tmp_path / "a.txt").touch()
    with pytest.raises(InvalidOption, match="one folder, or documents"):
        translate(tmp_path / "a.txt", tmp_path)


def test_words_and_characters_are_counted_without_a_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = BulkOptions(ModelQuery(None, None, "fr"), folder / "no-models", (str(folder),))
    with pytest.raises(InvalidInput, match="1 of 3 documents cannot be read"):
        run(options, DocumentOptions(Limits(), dry_run=True))
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["words", "characters"],
        ["4", "15", str(folder / "sub" / "a.md")],
        ["2", "4", str(folder / "t.csv")],
        ["6", "19", "total"],
    ]


@pytest.mark.parametrize(
    ("names", "given", "error", "message"),
    [
        (["a.txt"], {"quality": Path("q")}, InvalidOption, "files of lines"),
        (["a.txt"], {"signals": Path("s")}, InvalidOption, "files of lines"),
        (["a.txt"], {"min_quality": 0.0}, InvalidOption, "files of lines"),
        (["a.txt"], {"scores": Path("s")}, InvalidOption, "--output"),
        (["c.docm"], {}, UnsupportedDocument, "macros"),
        (["a.txt", "b.txt"], {"output": Path("no-folder")}, InvalidOption, "folder"),
        (["a.txt"], {}, InvalidInput, r"a\.txt: .*UTF-8"),
    ],
)
def test_what_is_refused_says_why_and_leaves_nothing(
    tmp_path: Path, names: list[str], given: dict[str, object], error: type[Exception], message: str
) -> None:
    for name in names:
        (tmp_path / name).write_bytes(b"\xff\x01")
    with pytest.raises(error, match=message):
        translate(*(tmp_path / name for name in names), **given)
    assert sorted(each.name for each in tmp_path.iterdir()) == names
