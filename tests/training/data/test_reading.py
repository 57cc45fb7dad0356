"""Local files and mirrors: the pairs that are read, and the errors for unreadable files."""

import gzip
from pathlib import Path

import pytest

from training.data.corpora import CORPORA, find_corpus
from training.data.errors import CorpusError
from training.data.reading import read_corpus, read_pairs


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.tsv.gz"])
def test_a_tsv_is_read(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, "\ufeffGo.\tVa !\r\nHi.\tSalut !\tignored\n\n")
    assert list(read_pairs(path)) == [("Go.", "Va !"), ("Hi.", "Salut !")]


def test_two_files_are_read_line_by_line(tmp_path: Path) -> None:
    source = written(tmp_path / "text.en", "Go.\nnext line: \u2028 stays one line\n\n")
    target = written(tmp_path / "text.fr.gz", "Va !\nune\n\n")
    assert list(read_pairs(source, target)) == [("Go.", "Va !"), ("next line: \u2028 stays one line", "une")]


GO = b"Go.\tVa !\n"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.tsv", GO + b"no tab\n", r"a\.tsv, line 2: no tab between source and target"),
        ("a.tsv", GO + "café\tx\n".encode("latin-1"), r"a\.tsv, line 2: not UTF-8"),
        ("a.tsv", b"", "holds no sentence pair"),
        ("a.tsv", b"\n\n", "holds no sentence pair"),
        ("a.tsv.gz", gzip.compress(GO.decode().encode("utf-16"), mtime=0), "line 1: not UTF-8"),
        ("a.tsv.gz", GO, "damaged or not compressed"),
        ("a.tsv.gz", gzip.compress(GO * 1000, mtime=0)[:-20], "damaged"),
        ("a.tsv", None, r"no file at .*a\.tsv"),
        ("", None, "is a folder"),
    ],
)
def test_broken_files_are_named(tmp_path: Path, name: str, content: bytes | None, expected: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CorpusError, match=expected):
        list(read_pairs(path))


@pytest.mark.parametrize(("source", "target"), [("a\nb\n", "x\n"), ("a\n", "x\ny\n")])
def test_unequal_line_counts_are_named(tmp_path: Path, source: str, target: str) -> None:
    paths = written(tmp_path / "t.en", source), written(tmp_path / "t.fr", target)
    with pytest.raises(CorpusError, match=r"unequal numbers of lines.* ends before line 2"):
        list(read_pairs(*paths))


def test_a_mirror_is_read_in_either_direction(tmp_path: Path) -> None:
    written(tmp_path / "en-fr" / "tatoeba.tsv.gz", "Go.\tVa !\n")
    written(tmp_path / "multi30k" / "raw" / "train.en.gz", "A dog.\n")
    written(tmp_path / "multi30k" / "raw" / "train.de.gz", "Ein Hund.\n")
    assert list(read_corpus("tatoeba", "en", "fr", tmp_path, tmp_path)) == [("Go.", "Va !")]
    assert list(read_corpus("tatoeba", "fr", "en", tmp_path, tmp_path)) == [("Va !", "Go.")]
    assert list(read_corpus("multi30k", "en", "de", tmp_path, tmp_path)) == [("A dog.", "Ein Hund.")]


def test_unknown_names_pairs_and_mirrors_say_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"no corpus is called 'tatoebe'; known are .*tatoeba"):
        read_corpus("tatoebe", "en", "fr", tmp_path, tmp_path)
    with pytest.raises(CorpusError, match="has no pair en-es; it has en-fr, en-de"):
        read_corpus("tatoeba", "en", "es", tmp_path, tmp_path)
    with pytest.raises(CorpusError, match="is not a folder"):
        read_corpus("tatoeba", "en", "fr", tmp_path / "none", tmp_path)
    with pytest.raises(CorpusError, match=r"not published as sentence pairs.*--mirror"):
        read_corpus("ca_laws", "en", "fr", None, tmp_path)


def test_every_corpus_says_whom_to_credit_and_where_it_is() -> None:
    for name in CORPORA:
        corpus = find_corpus(name)
        assert corpus.licence, name
        assert corpus.credit, name
        assert all(file.address.startswith("https://") for files in corpus.downloads.values() for file in files), name
