"""``vocabulary.same_as``: a run over other text with the vocabulary of a run or bundle that is there already."""

from pathlib import Path

import pytest

from training.data.dataset import EncodedPairs
from training.data.prepare import prepare
from training.recipe import Recipe, load_recipe
from training.runs.folder import RunFolder

ROOT = Path(__file__).parents[3]
TOY = ROOT / "training" / "recipes" / "toy.yaml"
BUNDLE = ROOT / "tests" / "data" / "bundles" / "multi30k-transformer-en-de"


def with_vocabulary_of(folder: Path) -> Recipe:
    recipe = load_recipe(TOY).model_dump()
    recipe["vocabulary"]["same_as"] = folder
    return Recipe.model_validate(recipe)


def test_text_of_one_s_own_is_encoded_with_the_vocabulary_of_a_bundle(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    prepare(with_vocabulary_of(BUNDLE), run, None, tmp_path)

    vocabulary = run.load_tokenizer()
    assert vocabulary.get_vocab() == RunFolder(BUNDLE).load_tokenizer().get_vocab()
    recipe = run.load_recipe()
    assert recipe.vocabulary.same_as == BUNDLE
    first = EncodedPairs.load(run.corpus("toy")).source[0].tolist()
    assert max(first) < vocabulary.get_vocab_size()
    assert vocabulary.decode(first).strip()


def test_a_folder_without_a_vocabulary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"same_as: .* is neither a run folder nor a bundle"):
        prepare(with_vocabulary_of(tmp_path / "nothing"), RunFolder(tmp_path / "run"), None, tmp_path)
