"""The domain report: test sets of a pair, figures that an export takes over, and what counts as a kept number."""

import gzip
import json
from pathlib import Path

import pytest

from tests.support.toy_runs import TOY
from tests.training.commands import call
from training.data.distillation import TeacherError, translated
from training.data.number_templates import TESTING, number_pairs
from training.data.prepare import prepare
from training.evaluation.domains import keeps_numbers, public_sets
from training.export.card_inputs import read_scores
from training.recipe import load_recipe
from training.runs.folder import RunFolder

BUNDLE = Path(__file__).parents[3] / "models" / "gallery" / "gallery-transformer-small"


@pytest.fixture
def tests(tmp_path: Path) -> Path:
    folder = tmp_path / "mirror" / "test"
    folder.mkdir(parents=True)
    with gzip.open(folder / "tatoeba.en-fr.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("The dog sees the cow.\tLe chien voit la vache.\nA man sleeps.\tUn monsieur dort.\n")
    return folder.parent


def test_test_sets_serve_both_directions(tests: Path) -> None:
    (forth,) = public_sets(tests, "en", "fr")
    (back,) = public_sets(tests, "fr", "en")
    assert (forth.name, back.name) == ("tatoeba.en-fr", "tatoeba.fr-en")
    assert list(forth.sources) == list(back.references)
    assert public_sets(tests, "en", "de") == []


def test_a_report_of_a_bundle_can_be_exported_with_it(tests: Path, tmp_path: Path) -> None:
    recipe = load_recipe(TOY, ["corpora=[{name: toy, path: toy.tsv, development: 3}]"])
    prepare(recipe, RunFolder(tmp_path / "run"), None, tmp_path)
    output = tmp_path / "scores.json"
    call("domains", BUNDLE, "--run", tmp_path / "run", "--tests", tests, "--output", output)
    scores = {(score.test_set, score.metric): score for score in read_scores(output)}
    assert scores["tatoeba.en-fr", "BLEU"].score > 20
    assert scores["tatoeba.en-fr", "chrF"].signature
    assert ("development/toy", "BLEU") in scores
    assert 0 <= scores["numbers.en-fr", "sentences with all numbers kept, %"].score <= 100
    assert scores["everyday.en-fr", "chrF"].signature
    assert 0 <= scores["first_phrases.en-fr", "phrases with an accepted translation, %"].score <= 100
    assert json.loads(output.read_text())


def test_lines_stay_lines_and_a_bad_bundle_is_named(tmp_path: Path) -> None:
    assert len(translated(BUNDLE, ["A dog.", "", "A man."])) == 3
    with pytest.raises(TeacherError, match="nowhere"):
        translated(tmp_path / "nowhere", ["A dog."])


@pytest.mark.parametrize(
    ("source", "reference", "hypothesis", "kept"),
    [
        ("Take 2 of 500 mg.", "Prends 2 de 500 mg.", "Prends 2 x 500 mg.", True),
        ("Take 2 of 500 mg.", "Prends 2 de 500 mg.", "Prends 2000 mg.", False),
        ("It costs $1,299.99.", "Ça coûte 1 299,99 $.", "Ça coûte 1 299,99 $.", True),
        ("At 3:30 pm.", "À 15 h 30.", "À 15 h 30.", True),
        ("At 3:30 pm.", "À 15 h 30.", "À 3 h 30.", True),
        ("At 3:30 pm.", "À 15 h 30.", "À 16 h 30.", False),
        ("In 1976.", "En 1976.", "En 1976 1976.", False),
        ("In 1976.", "En 1976.", "", False),
    ],
)
def test_each_number_arrives_exactly_once(source: str, reference: str, hypothesis: str, kept: bool) -> None:
    assert keeps_numbers(source, reference, hypothesis) is kept


def test_references_keep_their_own_numbers_and_are_fresh_sentences() -> None:
    pairs = list(number_pairs("en", "de", 500, seed=1, sentences=TESTING))
    assert all(keeps_numbers(source, reference, reference) for source, reference in pairs)
    assert not any(keeps_numbers(source, reference, "") for source, reference in pairs)
    trained = {source for source, _ in number_pairs("en", "de", 5000, seed=1)}
    assert not trained & {source for source, _ in pairs}
