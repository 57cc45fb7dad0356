"""Text to learn from others: which sentences, and which of their translations."""

from pathlib import Path

import pytest

from tests.training.commands import call
from training.data.distillation import Distilled, TeacherError, choose, distil, most_confident

ROOT = Path(__file__).parents[3]
TEACHERS = [ROOT / "models/bahdanau-en-fr", ROOT / "models/gallery/gallery-transformer-small"]  # vocabularies differ
SENTENCES = ["The dog sees the cow.", "A young woman often sings.", "My brother finds the key."]


def test_the_translation_with_the_best_mean_is_chosen_and_the_first_of_equals() -> None:
    translations = [["a", "b", "c"], ["A", "B", "C"]]
    scores = [[[-1.0, -3.0, -1.0], [-2.0, -1.0, -1.0]], [[-1.5, -1.0, -1.0], [-1.0, -2.0, -1.0]]]
    chosen = choose(["x", "y", "z"], translations, scores)
    assert chosen == [Distilled("x", "A", -1.25), Distilled("y", "B", -1.5), Distilled("z", "c", -1.0)]


def test_the_surest_are_kept_in_their_order_and_nothing_empty() -> None:
    pairs = [Distilled("a", "1", -0.5), Distilled("", "", 0.0), Distilled("b", "2", -2.0), Distilled("c", "3", -0.1)]
    assert [pair.source for pair in most_confident(pairs, 0.67)] == ["a", "c"]
    assert [pair.source for pair in most_confident(pairs, 1.0)] == ["a", "b", "c"]


def test_two_architectures_teach_together(tmp_path: Path) -> None:
    sentences, output = tmp_path / "new.en", tmp_path / "distilled.tsv"
    sentences.write_text("\n".join(SENTENCES) + "\n")
    alone = [{pair.target for pair in distil(sentences, [teacher])} for teacher in TEACHERS]
    teachers = [option for teacher in TEACHERS for option in ("--teacher", teacher)]
    call("distil", sentences, *teachers, "--output", output, "--keep", 1)
    pairs = [line.split("\t") for line in output.read_text().splitlines()]
    assert [source for source, _ in pairs] == SENTENCES
    assert {target for _, target in pairs} <= alone[0] | alone[1]
    assert "vache" in pairs[0][1].lower()


def test_a_teacher_that_is_not_there_is_named(tmp_path: Path) -> None:
    sentences = tmp_path / "new.en"
    sentences.write_text("a dog .\n")
    with pytest.raises(TeacherError, match="nobody"):
        distil(sentences, [tmp_path / "nobody"])


def test_sources_of_one_corpus_that_another_lacks(tmp_path: Path) -> None:
    there, here, output = tmp_path / "en-de.tsv", tmp_path / "en-fr.tsv", tmp_path / "new.en"
    there.write_text("".join(f"{text}\tDeutsch\n" for text in ("I lost.", "Tom's home.", "He won.", "he won", "...")))
    here.write_text("i lost!\tJ'ai perdu !\n")
    call("unseen", there, "--seen", here, "--output", output)
    assert output.read_text() == "Tom's home.\nHe won.\n"
