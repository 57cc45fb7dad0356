"""The intended use and the recipe in a model card."""

import json
from pathlib import Path

import pytest
import yaml

from tests.support.exported import recipe_of
from tests.support.tiny_networks import transformer
from training.export.card import readme, recipe_text
from training.recipe import parse_recipe

MODELS = Path(__file__).resolve().parents[3] / "models"
GALLERY = sorted(MODELS.glob("gallery/*/manifest.json"))


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.parent.name)
def test_a_model_of_the_gallery_says_that_it_is_for_teaching(path: Path) -> None:
    card = readme(json.loads(path.read_text("utf-8")))
    assert card == (path.parent / "README.md").read_text("utf-8")
    assert "must not translate text of your own" in card
    assert "everyday text" not in card


def test_a_model_of_real_text_says_what_it_translates() -> None:
    document = json.loads((MODELS / "bahdanau-en-fr/manifest.json").read_text("utf-8"))
    assert "This model translates sentences of everyday text from en to fr" in readme(document)


def test_a_card_names_files_without_the_folders_they_lay_in() -> None:
    recipe = recipe_of(transformer())
    own = recipe.corpora[0].model_copy(update={"name": "own", "path": Path("/home/somebody/own.tsv"), "licence": "CC0"})
    told = recipe_text(recipe.model_copy(update={"corpora": (own,), "start_from": Path("/home/somebody/models/old")}))
    assert "somebody" not in told
    assert "null" not in told
    again = parse_recipe(yaml.safe_load(told), "card")
    assert (again.corpora[0].path, again.corpora[0].licence) == (Path("own.tsv"), "CC0")
    assert again.start_from == Path("old")
    assert again.network == recipe.network
