"""Variants of pairs: the effect of each way on both sides; a prepared run has them in addition to its vocabulary."""

import json
import random
from pathlib import Path

import pytest

from training.data.augmentation import (
    copying,
    joined,
    joins,
    lowered,
    mistyped,
    raised,
    renamed,
    renumbered,
    unfinished,
    variants,
)
from training.data.dataset import EncodedPairs
from training.data.prepare import prepare
from training.export.card_inputs import data_credit
from training.recipe import Recipe, load_recipe
from training.runs.folder import RunFolder

PAIRS = [
    ("Tom paid 30 dollars for it.", "Tom l'a payé 30 dollars."),
    ("I like hot coffee.", "J'aime le café brûlant."),
    ("Is she at home?", "Est-elle à la maison ?"),
]
TOY = Path(__file__).parents[3] / "training" / "recipes" / "toy.yaml"


def draw(seed: int = 1) -> random.Random:
    return random.Random(seed)


def test_case_changes_on_the_side_that_a_user_types() -> None:
    found = {lowered(PAIRS[0], draw(seed)) for seed in range(9)}
    assert found == {(f"tom paid 30 dollars for it{end}", PAIRS[0][1]) for end in (".", " .")}
    assert raised(PAIRS[1], draw()) == ("I LIKE HOT COFFEE.", "J'AIME LE CAFÉ BRÛLANT.")


def test_the_final_mark_goes_on_both_sides_or_on_none() -> None:
    assert unfinished(PAIRS[2], draw()) == ("Is she at home", "Est-elle à la maison")
    assert unfinished(("Go.", "Va !"), draw()) is None


def test_a_typo_is_in_the_source_and_small() -> None:
    for seed in range(50):
        found = mistyped(PAIRS[1], draw(seed))
        assert found is not None
        assert found[1] == PAIRS[1][1]
        assert abs(len(found[0]) - len(PAIRS[1][0])) <= 2
    assert mistyped(("Go.", "Va !"), draw()) is None


def test_numbers_and_names_change_on_both_sides_alike() -> None:
    numbered, named = renumbered(PAIRS[0], draw()), renamed(PAIRS[0], draw())
    assert numbered is not None
    number = numbered[0].split()[2]
    assert number.isdigit()
    assert number != "30"
    assert f" {number} dollars" in numbered[1]
    assert named is not None
    name = named[0].split()[0]
    assert name != "Tom"
    assert named[1].split()[0] == name
    assert renumbered(PAIRS[1], draw()) is None
    assert renamed(PAIRS[1], draw()) is None


def test_a_part_of_a_number_or_of_a_word_is_left_alone() -> None:
    assert renumbered(("It is 3.50 at 10:30.", "C'est 3.50 à 10:30."), draw()) is None
    assert renamed(("McTom laughs.", "McTom rit."), draw()) is None
    assert renamed(("Excuse me.", "Excusez-moi."), draw()) is None


def test_a_new_name_leaves_agreement_elision_and_the_german_genitive_right() -> None:
    female = renamed(("Anna came.", "C'est d'Anna."), draw(2))
    genitives = [renamed(("Nina's bag", "Ninas Tasche"), draw(seed)) for seed in range(20)]
    assert female is not None
    assert female[0][0] in "AEIOUÉ"
    for source, target in filter(None, genitives):
        assert target.split()[0] == source.split()[0].replace("'", "")


def test_a_kind_that_suits_few_pairs_has_its_share() -> None:
    pairs = [("It is late.", "Il est tard.")] * 9 + [PAIRS[0]]
    assert sum("dollars" in source and "Tom" not in source for source, _ in variants(pairs, 330, 1)) >= 80


def test_what_is_copied_is_the_same_on_both_sides() -> None:
    for seed in range(100):
        source, target = copying(PAIRS[1], draw(seed))
        assert source.replace(PAIRS[1][0], "") == target.replace(PAIRS[1][1], "")
        assert source != PAIRS[1][0]


def test_sentences_are_joined_in_the_same_order_on_both_sides() -> None:
    for seed in range(20):
        source, target = joined(PAIRS, PAIRS[1], draw(seed))
        there = [pair for pair in PAIRS if pair[0] in source]
        assert source.startswith(PAIRS[1][0])
        assert source.count(" ") > PAIRS[1][0].count(" ")
        assert all(pair[1] in target for pair in there)
        assert target.startswith(PAIRS[1][1])


def test_pairs_in_a_row_are_joined_until_they_are_too_long() -> None:
    pairs = [(f"a{i} b{i}", f"c{i} d{i} e{i}") for i in range(60)]
    found = list(joins(pairs, most=4, max_words=8, seed=1))
    assert " ".join(source for source, _ in found) == " ".join(source for source, _ in pairs)
    assert " ".join(target for _, target in found) == " ".join(target for _, target in pairs)
    assert {len(target.split()) for _, target in found} == {3, 6}  # a third pair would make nine words
    assert found == list(joins(pairs, most=4, max_words=8, seed=1))
    assert {len(source.split()) for source, _ in joins(pairs, 4, 80, 1)} == {2, 4, 6, 8}
    assert list(joins(pairs, most=1, max_words=80, seed=1)) == pairs


def test_prepare_joins_training_pairs_and_keeps_the_limit_of_all_corpora(tmp_path: Path) -> None:
    plain = load_recipe(TOY)
    corpus = {**plain.corpora[0].model_dump(), "join": 5}
    recipe = Recipe.model_validate({**plain.model_dump(), "corpora": [corpus], "cleaning": {"max_words": 9}})
    folder = RunFolder(tmp_path / "joined")
    prepare(recipe, folder, None, tmp_path)
    pairs, tokenizer = EncodedPairs.load(folder.corpus("toy")), folder.load_tokenizer()
    lengths = [len(tokenizer.decode(pairs.source[i].tolist()).split()) for i in range(len(pairs))]
    assert max(lengths) <= 9
    assert sum(length > 6 for length in lengths) > len(lengths) / 4
    with pytest.raises(ValueError, match="join is a key of the corpus with the text, here toy"):
        toy_with_variants(join=2)


def test_the_same_seed_gives_the_same_variants_and_each_way_its_share() -> None:
    made = list(variants(PAIRS, 400, 7))

    assert made == list(variants(PAIRS, 400, 7))
    assert made != list(variants(PAIRS, 400, 8))
    capitals = sum(source.isupper() and len(source.split()) > 2 for source, _ in made)
    assert 22 < capitals < 100  # one way of nine, and more where others do not suit


def toy_with_variants(**changes: object) -> Recipe:
    recipe = load_recipe(TOY).model_dump()
    typed = {"name": "typed", "variants_of": "toy", "max_pairs": 50, "weight": 0.5, **changes}
    recipe["corpora"] = [*recipe["corpora"], typed]
    return Recipe.model_validate(recipe)


def test_prepare_adds_variants_and_learns_no_vocabulary_from_them(tmp_path: Path) -> None:
    plain, varied = RunFolder(tmp_path / "plain"), RunFolder(tmp_path / "varied")
    prepare(load_recipe(TOY), plain, None, tmp_path)
    counts = prepare(toy_with_variants(), varied, None, tmp_path)

    assert varied.tokenizer.read_bytes() == plain.tokenizer.read_bytes()
    typed = counts["typed"]
    assert isinstance(typed, dict)
    assert typed["pairs"] == len(EncodedPairs.load(varied.corpus("typed"))) > 40  # longer than the limit are left out
    assert json.loads(varied.statistics.read_text())["typed"]["weight"] == 0.5


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"variants_of": "tatoeba"}, "variants_of must be one of toy, not tatoeba"),
        ({"variants_of": "typed"}, "variants_of must be one of toy, not typed"),
        ({"max_pairs": None}, "needs max_pairs"),
        ({"development": 10}, "neither path nor development"),
    ],
)
def test_what_variants_cannot_be_made_of_is_said(changes: dict[str, object], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        toy_with_variants(**changes)


def test_variants_are_credited_to_what_they_are_made_from() -> None:
    recipe = toy_with_variants()

    credit = data_credit(recipe, recipe.corpora[1], 50)

    assert (credit.name, credit.pairs, credit.licence) == ("typed", 50, "not stated")
    assert credit.credit == "made from toy: local file toy.tsv"
