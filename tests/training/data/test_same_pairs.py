"""A corpus may lend its pairs to another, which cuts them into subwords in its own way."""

from pathlib import Path

import numpy as np
import pytest

from training.data.dataset import EncodedPairs
from training.data.prepare import prepare
from training.export.card_inputs import data_credit
from training.recipe import Recipe, load_recipe
from training.runs.folder import RunFolder

TOY = Path(__file__).parents[3] / "training" / "recipes" / "toy.yaml"


def toy_cut_again(**changes: object) -> Recipe:
    recipe = load_recipe(TOY).model_dump()
    again = {"name": "again", "same_pairs_as": "toy", "subword_dropout": 0.5, **changes}
    recipe["corpora"] = [*recipe["corpora"], again]
    return Recipe.model_validate(recipe)


def test_the_same_pairs_are_cut_in_another_way(tmp_path: Path) -> None:
    plain, folder = RunFolder(tmp_path / "plain"), RunFolder(tmp_path / "again")
    prepare(load_recipe(TOY), plain, None, tmp_path)
    prepare(toy_cut_again(), folder, None, tmp_path)

    own, again = (EncodedPairs.load(folder.corpus(name)) for name in ("toy", "again"))

    assert folder.tokenizer.read_bytes() == plain.tokenizer.read_bytes()
    assert len(again.source.offsets) == len(own.source.offsets)
    assert again.source.offsets[-1] > own.source.offsets[-1]
    np.testing.assert_array_equal(again.target[0], own.target[0])
    decode = folder.load_tokenizer().decode
    assert all(decode(again.source[i].tolist()) == decode(own.source[i].tolist()) for i in range(50))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"same_pairs_as": "tatoeba"}, "same_pairs_as must be one of toy, not tatoeba"),
        ({"max_pairs": 10}, "no path, max_pairs"),
        ({"development": 10}, "no path, max_pairs, development"),
    ],
)
def test_what_cannot_be_borrowed_is_said(changes: dict[str, object], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        toy_cut_again(**changes)


def test_borrowed_pairs_are_credited_to_their_origin() -> None:
    recipe = toy_cut_again()

    origin, borrowed = (data_credit(recipe, corpus, 50) for corpus in recipe.corpora)

    assert borrowed.licence == origin.licence
    assert origin.credit in borrowed.credit
