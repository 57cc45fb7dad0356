"""The made-up grammar: the same sentences each time, in both languages, with what makes attention necessary."""

from pathlib import Path

import pytest

from training.data.made_up_grammar import LONGEST, made_up_pairs
from training.recipe import RecipeError, load_recipe

RECIPES = Path(__file__).parents[3] / "training" / "recipes"


def test_the_same_seed_gives_the_same_different_sentences() -> None:
    pairs = list(made_up_pairs("en", "fr", 500, 1))
    assert pairs == list(made_up_pairs("en", "fr", 500, 1))
    assert pairs != list(made_up_pairs("en", "fr", 500, 2))
    assert len({english for english, _ in pairs}) == 500
    assert max(len(english.split()) for english, _ in pairs) <= LONGEST
    assert min(len(english.split()) for english, _ in pairs) <= 4
    assert all(english[0].isupper() and french[0].isupper() for english, french in pairs)


def test_words_change_places_and_agree() -> None:
    pairs = dict(made_up_pairs("en", "fr", 4000, 1))
    texts = "\n".join(f"{english} | {french}" for english, french in pairs.items())
    for english, french in (("red house", "maison rouge"), ("green key", "clé verte"), ("green book", "livre vert")):
        assert english in texts
        assert french in texts
    assert "que un" not in texts
    often = [(english, french) for english, french in pairs.items() if english.startswith("She often sees ")]
    assert often
    assert all(french.startswith("Elle voit souvent ") for _, french in often)


def test_either_direction_and_no_other_language() -> None:
    (english, french), *_ = made_up_pairs("en", "fr", 1, 1)
    assert list(made_up_pairs("fr", "en", 1, 1)) == [(french, english)]
    with pytest.raises(ValueError, match="has en and fr, not en and de"):
        next(made_up_pairs("en", "de", 1, 1))


def test_a_recipe_says_how_many() -> None:
    with pytest.raises(RecipeError, match="made_up_grammar needs max_pairs"):
        load_recipe(RECIPES / "toy.yaml", ["corpora=[{name: grammar, made_up_grammar: true}]"])
