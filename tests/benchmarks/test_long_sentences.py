"""The test set of BLEU by sentence length."""

from __future__ import annotations

from collections import Counter

from benchmarks.long_sentences import EACH, RECIPE, long_sentences, new_pairs
from training.data.made_up_grammar import made_up_pairs
from training.recipe import load_recipe


def test_every_length_has_as_many_sentences_and_none_is_trained_on() -> None:
    pairs = long_sentences(new_pairs())
    lengths = Counter((len(source.split()) - 1) // 10 for source, _ in pairs)
    assert lengths == dict.fromkeys(range(6), EACH)
    recipe = load_recipe(RECIPE)
    trained = {source for source, _ in made_up_pairs("en", "fr", recipe.corpora[0].max_pairs or 0, recipe.seed)}
    assert not trained.intersection(source for source, _ in pairs)
    assert pairs == long_sentences(new_pairs())
