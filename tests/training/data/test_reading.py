"""Text files and mirrors: the pairs that are read, kept and held out, and the errors for unreadable files."""

import gzip
import random
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import Result

from tests.support.toy_runs import TOY, write_toy
from tests.training.commands import run
from training.data.cleaning import Pair, clean
from training.data.corpora import CORPORA, find_corpus
from training.data.errors import CorpusError
from training.data.reading import read_corpus, read_pairs
from training.data.split import held_out, sentence_hash, split, spread, subset
from training.recipe import CleaningConfig


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def test_one_tsv_or_two_files_are_read_line_by_line(tmp_path: Path) -> None:
    for name in ("pairs.tsv", "pairs.tsv.gz"):
        path = written(tmp_path / name, "\ufeffGo.\tVa !\r\nHi.\tSalut !\tignored\n\n")
        assert list(read_pairs(path)) == [("Go.", "Va !"), ("Hi.", "Salut !")]
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
    for corpus in map(find_corpus, CORPORA):
        assert corpus.licence
        assert corpus.credit
        assert all(file.address.startswith("https://") for files in corpus.downloads.values() for file in files)


SHORT, LOPSIDED, LONG = ("Go.", "Vas-y, maintenant !"), ("Yes.", "x" * 60), ("y" * 60, "x" * 70)


@pytest.mark.parametrize(
    ("pairs", "kept"),
    [
        ([("It’s  me.", "C’est\u00a0moi."), ("It's me.", "C'est moi.")], [("It's me.", "C'est moi.")]),
        ([("", "Va !"), ("Go.", " \u00a0"), ("\u200b", "x")], []),
        ([("a b c", "a b c"), ("a b c d", "a b"), ("a", "a b c d")], [("a b c", "a b c")]),
        ([SHORT, LOPSIDED, LONG], [SHORT, LONG]),
    ],
)
def test_pairs_are_normalised_and_good_ones_kept_once(pairs: list[Pair], kept: list[Pair]) -> None:
    assert list(clean(pairs, CleaningConfig(), max_words=3)) == kept


def prepared(folder: Path, text: str) -> Result:
    (folder / "pairs.tsv").write_text(text, "utf-8")
    recipe = write_toy(folder, corpora=[{"name": "toy", "path": "pairs.tsv", "development": 60}])
    return run("prepare", recipe, "--runs", folder / "runs")


def test_what_is_left_out_of_a_corpus_is_counted_and_printed(tmp_path: Path) -> None:
    lines = {
        "a " * 500 + "\tb": "too many words",
        "a\0b\tc": "with NUL",
        "x\t": "empty",
        "Yes.\t" + "x" * 90: "lopsided",
        "One.\tUn.\tsource\t7": "columns after the second",
        "One.\tUn.": "repeated",
        "w" * 3000 + "\t" + "v" * 3000: "too many subwords",
    }
    result = prepared(tmp_path, TOY.with_suffix(".tsv").read_text("utf-8") + "\n".join(lines) + "\n")
    for reason in lines.values():
        assert f"'{reason}': 1" in result.output, result.output


PAIRS = [(f"Sentence number {i // 3}.", f"Phrase {i}.") for i in range(90)]
"""Each English sentence three times, as Tatoeba has it."""


def test_no_held_out_sentence_is_trained_on() -> None:
    training, development = split(PAIRS, held_out(PAIRS, 10))
    assert len(development) == 10
    assert len(training) == 90 - 30
    assert not {source for source, _ in training} & {source for source, _ in development}
    pairs = [("Go.", "Va !"), ("go", "allez"), ("GO!", "Vas-y !")]  # one sentence, in other case and with other marks
    assert split(pairs, held_out(pairs, 1)) == ([], [("Go.", "Va !")])


def test_choices_are_stable() -> None:
    before = held_out(PAIRS, 10)
    assert held_out(random.Random(0).sample(PAIRS, len(PAIRS)), 10) == before
    assert len(held_out([*PAIRS, ("Something new.", "Du neuf.")], 10) & before) >= 9
    assert sentence_hash("Go.") == sentence_hash("go !") == 3811555861924027547  # on every machine
    assert subset(PAIRS, None) == subset(PAIRS, 1000) == PAIRS
    assert len(subset(PAIRS, 17)) == 17
    assert set(subset(PAIRS, 15)) <= set(subset(PAIRS, 30))


@pytest.mark.parametrize(
    ("sizes", "count", "expected"),
    [
        ([1500, 200, 50], 400, [343, 46, 11]),
        ([30, 20], 500, [30, 20]),
        ([9000, 1], 10, [10, 1]),
        ([600, 300], 9, [6, 3]),
    ],
)
def test_sentences_are_spread_over_each_corpus(sizes: list[int], count: int, expected: list[int]) -> None:
    corpora = [str(corpus) for corpus, size in enumerate(sizes) for _ in range(size)]
    chosen = spread(corpora, count)
    assert list(Counter(corpora[i] for i in chosen).values()) == expected
    assert chosen == sorted(set(chosen))
    assert {0, sizes[0] - 1, sizes[0]} <= set(chosen)


@pytest.mark.parametrize("text", ["Yes.\tOui.\n", "Yes.\tOui.\n" * 50])
def test_a_corpus_of_which_nothing_is_left_to_train_on_is_refused(tmp_path: Path, text: str) -> None:
    result = prepared(tmp_path, text)
    assert result.exit_code
    assert "none is left to train on" in str(result.exception)
