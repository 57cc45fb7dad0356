"""Corpora that a recipe makes of other corpora or of templates: what is prepared, credited and refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from training.data.dataset import EncodedPairs
from training.data.prepare import prepare
from training.export.card_inputs import data_credit
from training.recipe import Recipe, load_recipe
from training.runs.folder import RunFolder

TOY = Path(__file__).parents[3] / "training" / "recipes" / "toy.yaml"
NUMBERS = {"name": "numbers", "number_templates": True, "max_pairs": 50}
TYPED = {"name": "typed", "variants_of": "toy", "max_pairs": 50, "weight": 0.5}
AGAIN = {"name": "again", "same_pairs_as": "toy", "subword_dropout": 0.5}


def toy_and(*corpora: dict[str, Any]) -> Recipe:
    recipe = load_recipe(TOY).model_dump()
    return Recipe.model_validate(recipe | {"corpora": [*recipe["corpora"], *corpora]})


def test_made_pairs_are_prepared_and_the_vocabulary_is_learnt_from_no_pair_twice(tmp_path: Path) -> None:
    plain, folder = RunFolder(tmp_path / "plain"), RunFolder(tmp_path / "made")
    prepare(toy_and(NUMBERS), plain, None, tmp_path)
    prepare(toy_and(NUMBERS, TYPED, AGAIN), folder, None, tmp_path)
    assert folder.tokenizer.read_bytes() == plain.tokenizer.read_bytes()
    statistics = json.loads(folder.statistics.read_text())
    assert 40 <= statistics["numbers"]["pairs"] <= 50  # fewer when two are equal
    assert 40 < statistics["typed"]["pairs"] <= 50  # longer than the limit are left out
    assert statistics["typed"]["weight"] == 0.5
    assert len(EncodedPairs.load(folder.corpus("typed"))) == statistics["typed"]["pairs"]
    own, again = (EncodedPairs.load(folder.corpus(name)) for name in ("toy", "again"))
    assert len(again) == len(own)
    assert again.source.offsets[-1] > own.source.offsets[-1]
    np.testing.assert_array_equal(again.target.ids, own.target.ids)
    decode = folder.load_tokenizer().decode
    assert all(decode(again.source[i].tolist()) == decode(own.source[i].tolist()) for i in range(50))
    pairs = {tuple(line.split("\t")) for line in TOY.with_suffix(".tsv").read_text(encoding="utf-8").splitlines()}
    assert all((decode(own.source[i].tolist()), decode(own.target[i].tolist())) in pairs for i in range(50))


def test_training_pairs_are_joined_up_to_the_limit_of_all_corpora(tmp_path: Path) -> None:
    plain = load_recipe(TOY)
    corpus = {**plain.corpora[0].model_dump(), "join": 5}
    recipe = Recipe.model_validate({**plain.model_dump(), "corpora": [corpus], "cleaning": {"max_words": 9}})
    folder = RunFolder(tmp_path / "joined")
    prepare(recipe, folder, None, tmp_path)
    pairs, tokenizer = EncodedPairs.load(folder.corpus("toy")), folder.load_tokenizer()
    lengths = [len(tokenizer.decode(pairs.source[i].tolist()).split()) for i in range(len(pairs))]
    assert max(lengths) <= 9
    assert sum(length > 6 for length in lengths) > len(lengths) / 4


@pytest.mark.parametrize(
    ("corpus", "expected"),
    [
        (TYPED | {"variants_of": "tatoeba"}, "variants_of must be one of toy, not tatoeba"),
        (TYPED | {"variants_of": "typed"}, "variants_of must be one of toy, not typed"),
        (TYPED | {"max_pairs": None}, "needs max_pairs"),
        (TYPED | {"development": 10}, "neither path nor development"),
        (TYPED | {"join": 2}, "join is a key of the corpus with the text, here toy"),
        (AGAIN | {"same_pairs_as": "tatoeba"}, "same_pairs_as must be one of toy, not tatoeba"),
        (AGAIN | {"max_pairs": 10}, "no path, max_pairs"),
        (AGAIN | {"development": 10}, "no path, max_pairs, development"),
        (NUMBERS | {"max_pairs": None}, "number_templates needs max_pairs"),
        ({"name": "grammar", "made_up_grammar": True}, "made_up_grammar needs max_pairs"),
        ({"name": "tatoeba", "licence": "CC0"}, "named corpora have their own"),
    ],
)
def test_what_a_corpus_cannot_be_is_said(corpus: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        toy_and(corpus)


def test_the_card_credits_what_text_is_made_from() -> None:
    recipe = toy_and(NUMBERS, TYPED, AGAIN)
    own = recipe.corpora[0].model_copy(update={"licence": "CC0", "credit": "the toymakers"})
    stated, toy, numbers, typed, again = (data_credit(recipe, corpus, 50) for corpus in (own, *recipe.corpora))
    assert (stated.licence, stated.credit) == ("CC0", "the toymakers")
    assert (typed.name, typed.pairs, typed.licence) == ("typed", 50, "not stated")
    assert typed.credit == "made from toy: local file toy.tsv"
    assert again.licence == toy.licence
    assert toy.credit in again.credit
    assert "random numbers" in numbers.credit
    nouns = recipe.corpora[1].model_copy(update={"number_templates": False, "noun_templates": True})
    assert "random nouns" in data_credit(recipe, nouns, 50).credit
