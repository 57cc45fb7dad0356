"""`translucent translate FILE`: where the translation goes, and what is refused before a model is loaded."""

from pathlib import Path

import pytest

from service.cli.documents import DocumentOptions, are_documents, output_of, run
from service.cli.find_model import ModelQuery
from service.cli.open_models import BulkOptions
from service.documents.errors import UnsupportedDocument
from service.documents.format import Limits
from service.engine import InvalidInput, InvalidOption

MODELS = Path(__file__).parents[2] / "models"


def options(*names: str, **values: object) -> BulkOptions:
    return BulkOptions(ModelQuery("bahdanau-en-fr"), MODELS, names, **values)  # type: ignore[arg-type]


def test_files_are_documents_and_anything_else_is_text(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("Go.\n")
    assert are_documents([str(file)])
    assert not are_documents(["I lost.", "See you at 3.30"])
    assert not are_documents([])
    with pytest.raises(InvalidOption, match="not both"):
        are_documents([str(file), "I lost."])


@pytest.mark.parametrize("name", ["a.png", "a.tar.gz", "a.xyz", "./a", "../a.docx", "~/a.txt", "tests/a", "./a b.docx"])
def test_no_spelling_of_a_missing_file_is_translated(name: str) -> None:
    with pytest.raises(InvalidOption, match="There is no file"):
        are_documents([name])


def test_texts_with_stops_and_slashes_are_texts() -> None:
    texts = ["e.g.", "and/or", "3.30", "U.S.", "Open my report.docx.", "He/she left.", "bob@example.com", "..."]
    assert not are_documents(texts)


def test_a_missing_file_or_an_unknown_type_is_an_error_and_not_a_text(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match=r"There is no file report\.docx"):
        are_documents(["report.docx"])
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG")
    with pytest.raises(UnsupportedDocument):
        are_documents([str(picture)])


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
    (tmp_path / "a.md").write_text("# I lost.\n\n`code`\n")
    (tmp_path / "b.txt").write_text("Go.\n")
    names = [str(tmp_path / name) for name in ("a.md", "b.txt")]
    run(options(*names), DocumentOptions(Limits()))
    assert (tmp_path / "a.fr.md").read_text().startswith("# J'ai perdu.")
    assert "`code`" in (tmp_path / "a.fr.md").read_text()
    assert capsys.readouterr().out.split() == [str(tmp_path / "a.fr.md"), str(tmp_path / "b.fr.txt")]


@pytest.mark.parametrize("given", [{"quality": Path("q")}, {"signals": Path("s")}, {"min_quality": 0.0}])
def test_options_for_lines_are_refused_where_they_would_do_nothing(tmp_path: Path, given: dict[str, object]) -> None:
    file = tmp_path / "a.txt"
    file.write_text("Go.\n")
    with pytest.raises(InvalidOption, match="files of lines"):
        run(options(str(file), **given), DocumentOptions(Limits()))


def test_what_is_refused_says_why(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.docm"):
        (tmp_path / name).write_bytes(b"\xff\xff")
    first, second, macros = (str(tmp_path / name) for name in ("a.txt", "b.txt", "c.docm"))
    with pytest.raises(UnsupportedDocument, match="macros"):
        run(options(macros), DocumentOptions(Limits()))
    with pytest.raises(InvalidOption, match="folder"):
        run(options(first, second, output=tmp_path / "x"), DocumentOptions(Limits()))
    with pytest.raises(InvalidOption, match="--output"):
        run(options(first, scores=tmp_path / "x"), DocumentOptions(Limits()))
    with pytest.raises(InvalidInput, match=r"a\.txt: .*UTF-8"):
        run(options(first), DocumentOptions(Limits()))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.txt", "b.txt", "c.docm"]
