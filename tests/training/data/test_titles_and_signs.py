"""Pairs made for what text has few of: titles and lists, parts in brackets and quotation marks, names of people."""

import re
from collections.abc import Collection, Sequence
from random import Random

import pytest

from training.data.cleaning import Pair
from training.data.names import people_renamed, person
from training.data.titles import labels, titles
from training.data.words import words_of
from training.data.wrapping import linked_part, wrapped

EN_FR, EN_DE = ("en", "fr"), ("en", "de")
SHORT = [("the dog", "le chien"), ("a house", "une maison"), ("to save", "enregistrer"), ("late", "tard")]
Links = Collection[tuple[int, int]]


def word_for_word(sources: list[str], targets: list[str]) -> Sequence[Links]:
    """Link the first word to the first, the second to the second and so on."""
    return [[(i, i) for i in range(min(len(s.split()), len(t.split())))] for s, t in zip(sources, targets, strict=True)]


@pytest.mark.parametrize(
    ("pair", "languages", "expected"),
    [
        (("the dog", "le chien"), EN_FR, ("dog", "chien")),
        (("the tree", "l'arbre"), EN_FR, ("tree", "arbre")),
        (("to save", "enregistrer"), EN_FR, ("save", "enregistrer")),
        (("Add to cart…", "Ajouter au panier…"), EN_FR, ("Add to cart", "Ajouter au panier")),
        (("the dog", "der Hund"), EN_DE, ("dog", "Hund")),
        (("a nice evening", "ein schöner Abend"), EN_DE, ("nice evening", "schöner Abend")),
        (("the old man", "der alte Mann"), EN_DE, None),  # "alter Mann"
        (("the luck", "luck"), EN_DE, None),
        (("The dog barks.", "Der Hund bellt."), EN_DE, None),
        (("Un año", "A year"), ("es", "en"), None),  # no articles are known, and the English side alone loses one
    ],
)
def test_a_label_has_no_article_and_is_no_sentence(pair: Pair, languages: Pair, expected: Pair | None) -> None:
    assert labels([pair], languages) == ([] if expected is None else [expected])


def test_titles_have_their_parts_and_signs_on_both_sides() -> None:
    found = list(titles(SHORT, EN_FR, 1500, 3))
    assert found == list(titles(SHORT, EN_FR, 1500, 3))
    assert {("Dog", "Chien"), ("HOUSE", "MAISON"), ("save", "enregistrer"), ('"Late"', "« Tard »")} <= set(found)
    french = {"dog": "chien", "house": "maison", "save": "enregistrer", "late": "tard"}
    for source, target in found:
        parts = [re.findall(r"\w+", side.lower()) for side in (source, target)]
        assert [french.get(word, word) for word in parts[0]] == parts[1]
        for sign in "()[]/|;*#-":
            assert source.count(sign) == target.count(sign)
    assert any("/" in source for source, _ in found)
    assert any(re.fullmatch(r"\w+: .+; \w+: .+", source) and " ; " in target for source, target in found)


def test_no_short_pair_gives_no_title() -> None:
    assert list(titles([("The dog barks.", "Le chien aboie.")], EN_FR, 5, 1)) == []


def test_a_part_is_wrapped_with_its_translation() -> None:
    pairs = [("big brown dogs bark loudly", "grands chiens bruns aboient fort")] * 300

    def align(sources: list[str], targets: list[str]) -> Sequence[Links]:
        return [{(0, 0), (1, 2), (2, 1), (3, 3), (4, 4)} for _ in zip(sources, targets, strict=True)]

    found = set(wrapped(pairs, EN_FR, 300, 1, align))
    assert ("big (brown) dogs bark loudly", "grands chiens (bruns) aboient fort") in found
    assert ('big "brown dogs" bark loudly', "grands « chiens bruns » aboient fort") in found
    assert not any("(big brown)" in source for source, _ in found)  # its translation is no part of the French


def test_a_label_behind_a_part_is_translated_too() -> None:
    pairs = [("dogs bark loudly", "chiens aboient fort"), *SHORT] * 300
    found = set(wrapped(pairs, EN_FR, 300, 1, word_for_word))
    assert ("dogs/late bark loudly", "chiens/tard aboient fort") in found


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("an, on, in", "un, on, en"),  # small words
        ("water", "l'eau"),  # the whole text
        ("some water, please", "l'eau, merci"),  # the links do not fit
    ],
)
def test_a_text_without_a_clear_part_is_left_out(source: str, target: str) -> None:
    sides = words_of(source), words_of(target)
    links = {(0, 1), (1, 0), (3, 0), (3, 3), (0, 3)}
    assert all(linked_part(sides, links, Random(seed)) is None for seed in range(40))


def test_a_person_is_exchanged_for_one_of_the_same_kind() -> None:
    pairs = [
        ("Emily laughs.", "Emily lacht."),
        ("Dear Mr Paul,", "Sehr geehrter Herr Paul,"),
        ("It rains.", "Es regnet."),
    ]
    found = list(people_renamed(pairs, 60, 2))
    assert len(found) == 60
    assert found == list(people_renamed(pairs, 60, 2))
    names = {source.split()[0] for source, _ in found if source.endswith("laughs.")}
    assert len(names) > 10
    assert not names & {"Michael", "Thomas", "Peter"}
    assert all(
        source.removesuffix(" laughs.") == target.removesuffix(" lacht.")
        for source, target in found
        if "laugh" in source
    )
    assert not any("Mr Michael" in source or "Mr Emma" in source for source, _ in found)
    assert list(people_renamed(pairs[2:], 5, 1)) == []


def test_a_drawn_person_has_a_first_name() -> None:
    drawn = {person(Random(seed)) for seed in range(50)}
    assert {len(name.split()) for name in drawn} == {1, 2}
