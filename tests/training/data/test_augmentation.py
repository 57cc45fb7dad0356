"""Variants of pairs: the effect of each way on both sides, and the share of each."""

from random import Random

import pytest

from training.data.augmentation import (
    Way,
    copying,
    joined,
    joins,
    lowered,
    mistyped,
    raised,
    renumbered,
    unfinished,
    variants,
)
from training.data.cleaning import Pair
from training.data.names import renamed

PAIRS = [
    ("Tom paid 30 dollars for it.", "Tom l'a payé 30 dollars."),
    ("I like hot coffee.", "J'aime le café brûlant."),
    ("Is she at home?", "Est-elle à la maison ?"),
]
PAID, COFFEE, QUESTION = PAIRS


def made(way: Way, pair: Pair, count: int = 50) -> list[Pair]:
    return [found for seed in range(count) if (found := way(pair, Random(seed))) is not None]


def test_case_and_final_marks_change_as_users_type_them() -> None:
    assert set(made(lowered, PAID)) == {(f"tom paid 30 dollars for it{end}", PAID[1]) for end in (".", " .")}
    assert raised(COFFEE, Random(1)) == ("I LIKE HOT COFFEE.", "J'AIME LE CAFÉ BRÛLANT.")
    assert unfinished(QUESTION, Random(1)) == ("Is she at home", "Est-elle à la maison")


def test_a_typo_is_in_the_source_and_small() -> None:
    for source, target in made(mistyped, COFFEE):
        assert target == COFFEE[1]
        assert abs(len(source) - len(COFFEE[0])) <= 2
    assert len({source for source, _ in made(mistyped, COFFEE)} - {COFFEE[0]}) > 10


def test_numbers_and_names_change_on_both_sides_alike() -> None:
    [(source, target)] = made(renumbered, PAID, 1)
    number = source.split()[2]
    assert number.isdigit()
    assert number != "30"
    assert f" {number} dollars" in target
    [(source, target)] = made(renamed, PAID, 1)
    assert source.split()[0] == target.split()[0] != "Tom"


@pytest.mark.parametrize(
    ("way", "pair"),
    [
        (unfinished, ("Go.", "Va !")),
        (mistyped, ("Go.", "Va !")),
        (renumbered, COFFEE),
        (renumbered, ("It is 3.50 at 10:30.", "C'est 3.50 à 10:30.")),
        (renamed, COFFEE),
        (renamed, ("McTom laughs.", "McTom rit.")),
        (renamed, ("Excuse me.", "Excusez-moi.")),
    ],
)
def test_what_does_not_suit_a_way_is_left_alone(way: Way, pair: Pair) -> None:
    assert made(way, pair) == []


def test_a_new_name_leaves_elision_and_the_german_genitive_right() -> None:
    assert all(source[0] in "AEIOU" for source, _ in made(renamed, ("Anna came.", "C'est d'Anna.")))
    for source, target in made(renamed, ("Nina's bag", "Ninas Tasche")):
        assert target.split()[0] == source.split()[0].replace("'", "")


def test_what_is_copied_is_the_same_on_both_sides() -> None:
    for source, target in made(copying, COFFEE, 100):
        assert source.replace(COFFEE[0], "") == target.replace(COFFEE[1], "")
        assert source != COFFEE[0]


def test_sentences_are_joined_in_the_same_order_on_both_sides() -> None:
    for seed in range(20):
        source, target = joined(PAIRS, COFFEE, Random(seed))
        assert source.startswith(f"{COFFEE[0]} ")
        assert target.startswith(COFFEE[1])
        assert all(pair[1] in target for pair in PAIRS if pair[0] in source)


def test_pairs_in_a_row_are_joined_until_they_are_too_long() -> None:
    pairs = [(f"a{i} b{i}", f"c{i} d{i} e{i}") for i in range(60)]
    found = list(joins(pairs, most=4, max_words=8, seed=1))
    for side in (0, 1):
        assert " ".join(pair[side] for pair in found) == " ".join(pair[side] for pair in pairs)
    assert {len(target.split()) for _, target in found} == {3, 6}  # a third pair would make nine words
    assert found == list(joins(pairs, most=4, max_words=8, seed=1))
    assert {len(source.split()) for source, _ in joins(pairs, 4, 80, 1)} == {2, 4, 6, 8}
    assert list(joins(pairs, most=1, max_words=80, seed=1)) == pairs


def test_the_same_seed_gives_the_same_variants_and_each_way_its_share() -> None:
    found = list(variants(PAIRS, 400, 7))
    assert found == list(variants(PAIRS, 400, 7))
    assert found != list(variants(PAIRS, 400, 8))
    capitals = sum(source.isupper() and len(source.split()) > 2 for source, _ in found)
    assert 22 < capitals < 100  # one way of nine, and more where others do not suit
    few = variants([("It is late.", "Il est tard.")] * 9 + [PAID], 330, 1)  # names and numbers suit one pair in ten
    assert sum("dollars" in source and "Tom" not in source for source, _ in few) >= 80
